"""What is wrong is refused with a whole message, and the device works afterwards."""

import re

import numpy as np
import pytest

from hipgraph_cb import open_device
from hipgraph_cb.code_object.verify import verify
from hipgraph_cb.errors import HipGraphError, InvalidArgumentError, OutOfRangeError

COUNT = 1024
SEGMENT_BYTES = {"gfx942": 0x6644, "gfx1100": 0x6784, "gfx1201": 0x6784}
"""By processor, the first segment of `k_cl`, as llvm-readelf-19 says."""
FAULTING_LOADS = {
    "gfx942": ("global_load_dword v4, v[0:1], off", "0x58", "wave 3, lane 40"),
    "gfx1100": ("global_load_b32 v2, v[2:3], off", "0x70", "wave 7, lane 8"),
    "gfx1201": ("global_load_b32 v2, v[2:3], off", "0x6c", "wave 7, lane 8"),
}
"""By processor, the load of x in `saxpy` as llvm-objdump-19 says, and where element 1000 is in a workgroup of 256."""
PACKET = re.compile(r"^queue \d+, packet \d+: ", re.M)
NAMES = {"hip": "HipBuffer", "hsa": "HsaBuffer"}


@pytest.fixture
def saxpy(device, corpus):
    return device.load(corpus("clang/k_cl", device))["saxpy"]


@pytest.fixture(autouse=True)
def works_afterwards(device, corpus):
    """After every refusal a plain dispatch still gives the right answer."""
    yield
    x, y = device.from_host(np.arange(COUNT, dtype=np.float32)), device.from_host(np.ones(COUNT, np.float32))
    with device.command_buffer() as cb:
        cb.dispatch(device.load(corpus("clang/k_cl", device))["saxpy"], 4, 256, args=[y, x, 2.0, COUNT])
    cb.replay()
    assert np.array_equal(y.to_host(np.float32), 2 * np.arange(COUNT, dtype=np.float32) + 1)


SIGNATURE = """signature of saxpy:
  arg0: float* (pointer, 8 bytes at offset 0)
  arg1: float* (pointer, 8 bytes at offset 8)
  arg2: float (value, 4 bytes at offset 16)
  arg3: uint (value, 4 bytes at offset 20)"""


def refused(device, record, kind=InvalidArgumentError):
    with pytest.raises(kind) as raised, device.command_buffer(label="step") as cb:
        record(cb)
    return str(raised.value)


def test_a_missing_argument_prints_the_signature(device, saxpy):
    y = device.allocate(4 * COUNT)
    message = refused(device, lambda cb: cb.dispatch(saxpy, 4, 256, args=[y, y, 2.0], label="first"))
    assert message == (
        "saxpy: too few arguments\n"
        "  where: command 0 'first' in 'step'\n"
        f"  found: 3 arguments ({NAMES[device.backend]}, {NAMES[device.backend]}, 2.0)\n"
        "  allowed: 4 arguments\n"
        f"  next: pass one value for each parameter, in this order\n{SIGNATURE}"
    )


def test_a_surplus_argument_prints_the_signature(device, saxpy):
    y = device.allocate(4 * COUNT)
    message = refused(device, lambda cb: cb.dispatch(saxpy, 4, 256, args=[y, y, 2.0, COUNT, 5]))
    assert message == (
        "saxpy: too many arguments\n"
        "  where: command 0 in 'step'\n"
        f"  found: 5 arguments ({NAMES[device.backend]}, {NAMES[device.backend]}, 2.0, {COUNT}, 5)\n"
        "  allowed: 4 arguments\n"
        f"  next: pass one value for each parameter, in this order\n{SIGNATURE}"
    )


def test_an_argument_of_the_wrong_size_prints_both_sizes(device, saxpy):
    y = device.allocate(4 * COUNT)
    name = NAMES[device.backend]
    message = refused(device, lambda cb: cb.dispatch(saxpy, 4, 256, args=[y, y, np.zeros(2, np.float32), COUNT]))
    assert message == (
        "saxpy: argument 2 (arg2: float) does not fit\n"
        "  where: command 0 in 'step'\n"
        f"  found: ndarray of 8 bytes (given: {name}, {name}, ndarray, {COUNT})\n"
        "  allowed: exactly 4 bytes\n"
        f"  next: pass a value of the parameter's type\n{SIGNATURE}"
    )


def test_a_block_of_1024_on_a_kernel_compiled_for_256_names_the_attribute_to_change(device, saxpy):
    y = device.allocate(4 * COUNT)
    message = refused(device, lambda cb: cb.dispatch(saxpy, 1, 1024, args=[y, y, 2.0, COUNT]), OutOfRangeError)
    assert message == (
        "the workgroup is larger than kernel `saxpy` was compiled for\n"
        "  where: command 0 in 'step'\n"
        "  found: 1024 x 1 x 1 = 1024 work-items\n"
        "  allowed: 256 work-items (max_flat_workgroup_size in its metadata)\n"
        "  next: launch smaller workgroups, or compile with __attribute__((amdgpu_flat_work_group_size(1, 1024))), "
        "in HIP __launch_bounds__(1024)"
    )


def test_a_truncated_code_object_is_refused_with_its_offset(device, corpus):
    data = corpus("clang/k_cl", device).read_bytes()
    with pytest.raises(OutOfRangeError) as raised:
        device.load(data[:9000])
    assert str(raised.value) == (
        "segment 1 is past the end of the file\n"
        "  where: file offset 0\n"
        f"  found: {SEGMENT_BYTES[device.target.processor]} bytes at offset 0\n"
        "  allowed: a range inside the file's 9000 bytes\n"
        "  next: the file is truncated; build or copy it again"
    )


def replay_and_wait(device, cb):
    with pytest.raises(HipGraphError) as raised:
        cb.replay()
        device.synchronize()
    return raised.value


def without_addresses(error: HipGraphError) -> str:
    return re.sub(r"0x7[0-9a-f]{11}", "ADDRESS", str(error))


def test_a_load_outside_any_allocation_names_instruction_lane_and_distance(device, saxpy):
    x, y = device.allocate(4 * 1000, label="x"), device.allocate(4 * COUNT, label="y")
    with device.command_buffer() as cb:
        cb.dispatch(saxpy, 4, 256, args=[y, x, 2.0, COUNT])
    error = replay_and_wait(device, cb)
    head, place, report = re.sub("#[0-9]+", "#N", without_addresses(error)).split("\n", 2)
    waiting = "waiting for the device's own stream, last enqueued: a program without a label"
    assert (head, place) == {
        "hip": ("hipStreamQuery returned 700 (hipErrorIllegalAddress)", f"  where: command 0, {waiting}"),
        "hsa": (
            "the error callback of the queue returned 43 (HSA_STATUS_ERROR_MEMORY_FAULT)",
            f"  where: command 0, {waiting}",
        ),
    }[device.backend]
    load, offset, lane = FAULTING_LOADS[device.target.processor]
    assert PACKET.sub("", report).replace("HSA memory", "device memory") == (
        "kernel saxpy: memory access fault: 0 bytes past the end of `device memory #N`, 4000 bytes\n"
        "  kernel: saxpy\n"
        f"  instruction: {load}\n"
        f"  pc: ADDRESS (entry +{offset})\n"
        f"  workgroup: (3, 0, 0), {lane}\n"
        "  address: ADDRESS\n"
        "  in this device's buffers: 0 bytes past the end of `x`, 4000 bytes"
    )


def test_an_opcode_that_does_not_exist_is_named_with_its_address(device, corpus):
    path = corpus("clang/k_cl", device)
    data = bytearray(path.read_bytes())
    code_object = verify(bytes(data)).code_object
    start = code_object.file_offset(code_object.symbols["saxpy"].value, 4, "saxpy")
    data[start : start + 4] = b"\xff\xff\xff\xff"
    broken = device.load(bytes(data))["saxpy"]
    y = device.allocate(4 * COUNT)
    with device.command_buffer() as cb:
        cb.dispatch(broken, 4, 256, args=[y, y, 2.0, COUNT])
    error = replay_and_wait(device, cb)
    assert (error.code, error.name) == {
        "hip": (719, "hipErrorLaunchFailure"),
        "hsa": (42, "HSA_STATUS_ERROR_ILLEGAL_INSTRUCTION"),
    }[device.backend]
    assert PACKET.sub("", without_addresses(error)).endswith(
        "kernel saxpy: illegal instruction: 0xffffffff belongs to no instruction format of "
        f"{device.target.processor}\n"
        "  kernel: saxpy\n"
        "  instruction: .long 0xffffffff\n"
        "  pc: ADDRESS (entry +0x0)\n"
        "  workgroup: (0, 0, 0), wave 0"
    )


@pytest.mark.parametrize("make", ["allocate", "from_host", "load", "event", "stream", "command_buffer"])
def test_a_label_is_a_text(device, corpus, make):
    given = {"allocate": (4,), "from_host": (b"abc",), "load": (corpus("clang/k_cl", device),)}.get(make, ())
    with pytest.raises(InvalidArgumentError, match="label is not a text"):
        getattr(device, make)(*given, label=5)


@pytest.mark.parametrize("timeout", [-1, float("nan"), "soon", True])
def test_a_timeout_is_a_number_of_seconds(device, timeout):
    with device.stream() as stream:
        for owner in (device, stream):
            with pytest.raises(InvalidArgumentError, match="synchronize: bad timeout"):
                owner.synchronize(timeout=timeout)


def test_an_element_type_that_numpy_does_not_know_is_refused(device):
    with pytest.raises(InvalidArgumentError, match="numpy has no such element type"):
        device.from_host(b"1234").to_host("float33")


def test_more_bytes_than_64_bits_count_are_refused_before_the_runtime_sees_them(device):
    with pytest.raises(OutOfRangeError, match="allocate: size is out of range"):
        device.allocate(1 << 70)


def test_a_program_is_made_of_a_recording_and_a_mapping(device):
    with device.command_buffer() as cb:
        pass
    for given in (None, cb, cb.program):
        with pytest.raises(InvalidArgumentError, match="program: not a recording"):
            device.program(given)
    with pytest.raises(InvalidArgumentError, match="program: resources are not a mapping"):
        device.program(cb.recording, resources=[device.allocate(4)])


def test_the_same_gpu_opened_twice_is_two_devices(device):
    with open_device(device.backend, device=device.ordinal) as other:
        message = refused(device, lambda cb: cb.fill_buffer(other.allocate(4, label="theirs"), 0))
        stream = other.stream()
        with device.command_buffer() as cb:
            pass
        with pytest.raises(HipGraphError) as caught:
            cb.replay(stream=stream)
    name = f"{device.name} (device {device.ordinal})"
    assert f"  found: a buffer of {name}, opened another time\n" in message
    assert caught.value.found == caught.value.allowed.removesuffix(", opened where the program was made")


@pytest.mark.parametrize("stream", [-1, 1 << 64, "a stream", 2.0])
def test_what_is_no_address_of_a_stream_is_refused(device, stream):
    with device.command_buffer() as cb:
        cb.fill_buffer(device.allocate(4), 0)
    with pytest.raises(InvalidArgumentError, match="replay: not a stream"):
        cb.replay(stream=stream)

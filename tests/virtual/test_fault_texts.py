"""Every fault of a kernel reaches the user of `open_device` with kernel, instruction, place and nearest buffer.

The whole messages are compared; only numbers that differ from process to process are replaced by letters.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from support.child import run

from hipgraph_cb import open_device
from hipgraph_cb.errors import HipError, HsaError

FAULTS = Path(__file__).parents[1] / "fixtures" / "virtual" / "faults.gfx942.hsaco"


# what the runtimes return: HIP's hipError_t, HSA's hsa_status_t
ILLEGAL_ADDRESS = {"hip": "700 (hipErrorIllegalAddress)", "hsa": "43 (HSA_STATUS_ERROR_MEMORY_FAULT)"}
LAUNCH_FAILURE = {"hip": "719 (hipErrorLaunchFailure)", "hsa": "4118 (HSA_STATUS_ERROR_EXCEPTION)"}
ILLEGAL_INSTRUCTION = {"hip": "719 (hipErrorLaunchFailure)", "hsa": "42 (HSA_STATUS_ERROR_ILLEGAL_INSTRUCTION)"}
STOPPED = {"hip": "702 (hipErrorLaunchTimeOut)"}
HEADERS = {
    "hip": "hipStreamQuery returned {}\n  where: command 0 in 'step', {}",
    "hsa": "the error callback of the queue returned {}\n  where: command 0 in 'step', {}",
}
WHERE = "waiting for the device's own stream, last enqueued: program `step`"


@pytest.fixture(scope="module", params=["hip", "hsa"])
def device(request):
    with open_device(request.param) as device:
        yield device


@pytest.fixture(scope="module")
def kernels(device):
    return device.load(FAULTS)


@pytest.fixture
def check(device, kernels):
    """Record two workgroups of a kernel, replay, wait: the whole text of the error, and that the device works again."""

    def record_and_wait(name: str, args: list[object], code: dict[str, str], *lines: str) -> None:
        with device.command_buffer(label="step") as cb:
            cb.dispatch(kernels[name], 2, 64, args=args)
        cb.replay()
        with pytest.raises((HipError, HsaError)) as caught:
            device.synchronize()
        assert device.from_host(np.arange(3)).to_host(np.int64).tolist() == [0, 1, 2]
        assert neutral(str(caught.value)) == expected(device.backend, code, *lines)

    return record_and_wait


def neutral(text: str) -> str:
    """Without numbers that differ from process to process; HSA reports the packet too."""
    text = re.sub(r"(device|HSA) memory #\d+", "memory #N", re.sub(r"pc: 0x[0-9a-f]+", "pc: P", text))
    return re.sub(r"^queue \d+, packet \d+: ", "", text, flags=re.M)


def expected(backend: str, code: dict[str, str], *lines: str) -> str:
    return "\n".join([HEADERS[backend].format(code[backend], WHERE), *lines])


def test_a_store_past_the_end_of_a_buffer(device, check):
    y = device.allocate(4096, label="y")
    check(
        "store_at",
        [y, 4096 + 48 - 4 * 64],
        ILLEGAL_ADDRESS,
        "kernel store_at: memory access fault: 0 bytes past the end of `memory #N`, 4096 bytes",
        "  kernel: store_at",
        "  instruction: global_store_dword v0, v1, s[0:1]",
        "  pc: P (entry +0x2c)",
        "  workgroup: (0, 0, 0), wave 0, lane 52",
        f"  address: {y.address + 4096:#x}",
        "  in this device's buffers: 0 bytes past the end of `y`, 4096 bytes",
    )


def test_a_store_some_way_past_the_end_of_a_buffer(device, check):
    y = device.allocate(4096, label="y")
    check(
        "store_at",
        [y, 4096 + 48],
        ILLEGAL_ADDRESS,
        "kernel store_at: memory access fault: 48 bytes past the end of `memory #N`, 4096 bytes",
        "  kernel: store_at",
        "  instruction: global_store_dword v0, v1, s[0:1]",
        "  pc: P (entry +0x2c)",
        "  workgroup: (0, 0, 0), wave 0, lane 0",
        f"  address: {y.address + 4144:#x}",
        "  in this device's buffers: 48 bytes past the end of `y`, 4096 bytes",
    )


def test_a_load_after_free(device, check):
    y, old = device.allocate(4096, label="y"), device.allocate(512, label="old")
    address = old.address
    table = device.from_host(np.array([address], np.uint64))
    old.close()
    check(
        "through_pointer",
        [y, table],
        ILLEGAL_ADDRESS,
        "kernel through_pointer: memory access fault: 0 bytes into `memory #N`, 512 bytes, which was freed",
        "  kernel: through_pointer",
        "  instruction: global_load_dword v2, v[2:3], off",
        "  pc: P (entry +0x34)",
        "  workgroup: (0, 0, 0), wave 0, lane 0",
        f"  address: {address:#x}",
        "  in this device's buffers: 0 bytes into `old`, 512 bytes, which was closed",
    )


def test_a_misaligned_atomic(device, check):
    y = device.allocate(4096, label="y")
    check(
        "add_at",
        [y, 2],
        ILLEGAL_ADDRESS,
        "kernel add_at: memory access fault: an atomic of 4 bytes at an address that is not a multiple of 4",
        "  kernel: add_at",
        "  instruction: global_atomic_add v0, v1, s[4:5] sc1",
        "  pc: P (entry +0x5c)",
        "  workgroup: (1, 0, 0), wave 0, lane 6",
        f"  address: {y.address + 2:#x}",
        "  in this device's buffers: 2 bytes into `y`, 4096 bytes",
    )


def test_local_memory_out_of_range_is_not_a_fault(device, kernels):
    y = device.allocate(4096)
    with device.command_buffer(label="step") as cb:
        cb.dispatch(kernels["local_at"], 2, 64, args=[y, 1])
    cb.replay()
    assert y.to_host(np.uint32)[:63].tolist() == [62 - index for index in range(63)]


def test_local_memory_out_of_range_is_a_fault_where_the_settings_say_so():
    code = f"""
        from hipgraph_cb import VirtualSettings, open_device
        from hipgraph_cb.errors import HipError
        with open_device(virtual=VirtualSettings(lds_bounds="fault")) as device:
            with device.command_buffer(label="step") as cb:
                cb.dispatch(device.load({str(FAULTS)!r})["local_at"], 2, 64, args=[device.allocate(4096), 1])
            cb.replay()
            try:
                device.synchronize()
            except HipError as error:
                print(error)
    """
    finished = run(code, HIPGRAPH_CB_VIRTUAL="gfx942")
    assert neutral(finished.stdout.strip()) == expected(
        "hip",
        LAUNCH_FAILURE,
        "kernel local_at: launch failure: 4 bytes at LDS address 0x100, outside the workgroup's 256 bytes of LDS",
        "  kernel: local_at",
        "  instruction: ds_write_b32 v1, v2",
        "  pc: P (entry +0x30)",
        "  workgroup: (0, 0, 0), wave 0, lane 63",
        "  address: 0x100",
    )


def test_private_memory_out_of_range(device, check):
    check(
        "private_at",
        [device.allocate(4096), 1000],
        ILLEGAL_ADDRESS,
        "kernel private_at: memory access fault: 4 bytes at scratch address 0xfa0, outside the lane's 36 bytes",
        "  kernel: private_at",
        "  instruction: scratch_load_dword v2, v2, off sc0 sc1",
        "  pc: P (entry +0xa4)",
        "  workgroup: (0, 0, 0), wave 0, lane 0",
        "  address: 0xfa0",
    )


def test_bytes_that_are_not_an_instruction(device, check):
    check(
        "unknown",
        [device.allocate(4096)],
        ILLEGAL_INSTRUCTION,
        "kernel unknown: illegal instruction: gfx942 has no SOPC opcode 127 (in 0xbf7f0000)",
        "  kernel: unknown",
        "  instruction: .long 0xbf7f0000",
        "  pc: P (entry +0x14)",
        "  workgroup: (1, 0, 0), wave 0",
    )


def test_a_trap(device, check):
    check(
        "trap",
        [device.allocate(4096)],
        LAUNCH_FAILURE,
        "kernel trap: launch failure: the kernel executed s_trap",
        "  kernel: trap",
        "  instruction: s_trap 2",
        "  pc: P (entry +0x54)",
        "  workgroup: (1, 0, 0), wave 0, lane 1",
    )


def test_a_kernel_without_end_is_stopped():
    code = f"""
        import numpy as np
        from hipgraph_cb import open_device
        from hipgraph_cb.errors import HipError, HsaError
        with open_device() as device:
            y = device.from_host(np.zeros(4, np.uint32), label="y")
            with device.command_buffer(label="step") as cb:
                cb.dispatch(device.load({str(FAULTS)!r})["endless"], 2, 64, args=[y])
            cb.replay()
            try:
                device.synchronize()
            except HipError as error:
                print(error)
    """
    finished = run(code, HIPGRAPH_CB_VIRTUAL="gfx942", HIPGRAPH_CB_VIRTUAL_WATCHDOG="0.5")
    assert neutral(finished.stdout.strip()) == expected(
        "hip",
        STOPPED,
        "kernel endless: kernel stopped before its end: stopped by the watchdog after 0.5 s"
        " (HIPGRAPH_CB_VIRTUAL_WATCHDOG changes or lifts it)",
        "  kernel: endless",
        "  instruction: global_load_dword v1, v0, s[0:1] sc0 sc1",
        "  pc: P (entry +0xc)",
        "  workgroup: (0, 0, 0), wave 0",
    )

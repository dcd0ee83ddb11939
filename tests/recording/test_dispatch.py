"""Dispatches of real kernels: both ways to give arguments, the launch shape, and what each refuses."""

import struct

import numpy as np
import pytest
from support.fakes import FakeExecutable, FakeLimits, saxpy
from support.kernels import clang_kernels, triton_vadd

from hipgraph_cb.errors import HipGraphError, InvalidArgumentError, OutOfRangeError
from hipgraph_cb.recording.command_buffer import CommandBuffer
from hipgraph_cb.recording.commands import Range, SlotRange
from hipgraph_cb.recording.resources import Slot


@pytest.fixture
def kernels():
    return clang_kernels()


def only(cb):
    cb.end()
    (command,) = cb.recording
    return command


def refused(call):
    with pytest.raises(HipGraphError) as caught:
        call()
    return str(caught.value)


def test_arguments_lie_where_the_metadata_says(cb, x, y, kernels):
    cb.dispatch(kernels["saxpy"], 4, 256, args=[y, x.view(16, 64), 2.5, 7], label="first")
    command = only(cb)
    assert (command.export, command.workgroup_count, command.workgroup_size) == ("saxpy", (4, 1, 1), (256, 1, 1))
    assert command.label == "first"
    # float*, float*, float, uint: offsets 0, 8, 16, 20; `x` comes second and is the second resource.
    assert command.pointers == ((0, Range(0, 0, 4096)), (8, Range(1, 16, 64)))
    assert len(command.kernarg) == kernels["saxpy"].verified.kernarg_size
    assert command.kernarg[:24] == bytes(16) + struct.pack("<fI", 2.5, 7)
    assert not any(command.kernarg[24:])
    assert cb.recording.resources.executables[command.executable].verified is kernels.verified


def test_bindings_and_constants_give_the_same_command(x, y, kernels):
    recordings = []
    for arguments in (
        {"args": [y, x, np.float32(2.5), 7]},
        {"bindings": [y, x], "constants": [struct.unpack("<I", struct.pack("<f", 2.5))[0], 7]},
    ):
        with CommandBuffer() as cb:
            cb.dispatch(kernels["saxpy"], 4, 256, **arguments)
        recordings.append(cb.recording)
    assert recordings[0] == recordings[1]


def test_two_dispatches_of_one_kernel_keep_their_own_arguments(cb, x, y, kernels):
    cb.dispatch(kernels["saxpy"], 1, 64, args=[x, y, 1.0, 1])
    cb.dispatch(kernels["saxpy"], 1, 64, args=[y, x, 2.0, 2])
    cb.end()
    first, second = cb.recording
    assert first.kernarg[16:24] == struct.pack("<fI", 1.0, 1)
    assert second.kernarg[16:24] == struct.pack("<fI", 2.0, 2)
    assert [place.resource for _, place in first.pointers] == [place.resource for _, place in second.pointers][::-1]


def test_null_pointers_and_slots_stand_where_buffers_stand(cb, kernels):
    cb.dispatch(kernels["saxpy"], 1, 64, args=[None, Slot(2, 8, 16), 0.0, 0])
    assert only(cb).pointers == ((8, SlotRange(2, 8, 16)),)


def test_an_export_looked_up_again_is_the_same_executable(cb, x, y, kernels):
    for _ in range(3):
        cb.dispatch(kernels["saxpy"], 1, 64, args=[y, x, 1.0, 1])
    cb.end()
    assert len(cb.recording.resources.executables) == 1
    assert len({command.executable for command in cb.recording}) == 1


@pytest.mark.parametrize("value", [0x7F00_0000_0000, "y", 1.5, True])
def test_a_pointer_takes_device_memory_and_no_number(cb, x, kernels, value):
    with pytest.raises(InvalidArgumentError, match=r"argument 0 \(arg0: float\*\) does not fit"):
        cb.dispatch(kernels["saxpy"], 1, 64, args=[value, x, 1.0, 1])


def test_an_object_that_is_no_memory_is_refused_by_the_name_of_the_parameter(cb, x, kernels):
    assert refused(lambda: cb.dispatch(kernels["saxpy"], 1, 64, args=[x, [1, 2], 1.0, 1], label="go")) == (
        "a pointer argument is no device memory\n"
        "  where: command 0 'go' in 'step', argument arg1: float*\n"
        "  found: [1, 2] (list)\n"
        "  allowed: a Buffer, a BufferView or a Slot"
    )


def test_a_missing_argument_prints_the_signature_and_the_command(cb, x, kernels):
    message = refused(lambda: cb.dispatch(kernels["saxpy"], 1, 64, args=[x, x, 1.0], label="go"))
    assert message.startswith(
        "saxpy: too few arguments\n"
        "  where: command 0 'go' in 'step'\n"
        "  found: 3 arguments (FakeBuffer, FakeBuffer, 1.0)\n"
    )
    assert "  arg3: uint (value, 4 bytes at offset 20)" in message


def test_arguments_given_twice_are_refused(cb, x, kernels):
    assert refused(lambda: cb.dispatch(kernels["saxpy"], 1, 64, args=[x, x, 1.0, 1], constants=[1, 2])) == (
        "the arguments were given twice\n"
        "  where: command 0 in 'step'\n"
        "  found: args= and bindings= or constants=\n"
        "  allowed: args= in the kernel's own order, or bindings= and constants="
    )


def test_no_arguments_at_all_are_no_arguments(cb, kernels):
    with pytest.raises(InvalidArgumentError, match="saxpy: too few arguments"):
        cb.dispatch(kernels["saxpy"], 1, 64)


@pytest.mark.parametrize("export", [None, "saxpy", object()])
def test_what_is_no_kernel_is_refused(cb, export):
    with pytest.raises(InvalidArgumentError, match="export is no kernel"):
        cb.dispatch(export, 1, 64)


@pytest.mark.parametrize(
    ("given", "taken"),
    [(5, (5, 1, 1)), ((5,), (5, 1, 1)), ([5, 6], (5, 6, 1)), ((5, 6, 7), (5, 6, 7)), (np.uint32(5), (5, 1, 1))],
)
def test_a_count_is_an_int_or_up_to_three(cb, x, kernels, given, taken):
    cb.dispatch(kernels["saxpy"], given, 64, args=[x, x, 1.0, 1])
    assert only(cb).workgroup_count == taken


@pytest.mark.parametrize("given", [1.0, "1", True, None, (), (1, 1, 1, 1), (1, 2.0), (1, True)])
def test_a_count_of_another_type_is_refused_even_when_an_equal_int_was_taken_before(cb, x, kernels, given):
    cb.dispatch(kernels["saxpy"], 1, 64, args=[x, x, 1.0, 1])
    with pytest.raises(InvalidArgumentError, match=r"workgroup_count (in . )?(is not a whole number|has one to three)"):
        cb.dispatch(kernels["saxpy"], given, 64, args=[x, x, 1.0, 1])


@pytest.mark.parametrize("given", [-1, (1, -1), 1 << 32, (1, 1, 1 << 64)])
def test_a_count_outside_32_bits_is_refused(cb, x, kernels, given):
    with pytest.raises(OutOfRangeError, match="workgroup_count"):
        cb.dispatch(kernels["saxpy"], given, 64, args=[x, x, 1.0, 1])


@pytest.mark.parametrize("count", [0, (0, 5, 5), (5, 0, 5), (5, 5, 0)])
def test_a_dispatch_with_any_zero_count_records_nothing_and_holds_nothing(cb, x, kernels, count):
    cb.dispatch(kernels["saxpy"], count, 64, args=[x, x, 1.0, 1])
    cb.dispatch(kernels["saxpy"], count)
    cb.end()
    assert len(cb.recording) == 0
    assert not cb.recording.resources.bound


def test_a_zero_count_does_not_hide_what_is_no_kernel_or_no_number(cb, kernels):
    with pytest.raises(InvalidArgumentError):
        cb.dispatch(None, 0, 64)
    with pytest.raises(InvalidArgumentError):
        cb.dispatch(kernels["saxpy"], 0, "64")
    with pytest.raises(InvalidArgumentError):
        cb.dispatch(kernels["saxpy"], 0, 64, dynamic_lds=1.5)


def test_the_required_size_is_taken_when_none_is_given(cb, x, kernels):
    cb.dispatch(kernels["matmul_lds"], (2, 2), args=[x, x, x, 32, 32, 32])
    assert only(cb).workgroup_size == (16, 16, 1)


def test_another_size_than_the_required_one_is_refused(cb, x, kernels):
    assert refused(lambda: cb.dispatch(kernels["matmul_lds"], 1, (16, 8), args=[x, x, x, 1, 1, 1])) == (
        "kernel `matmul_lds` requires another workgroup size\n"
        "  where: command 0 in 'step'\n"
        "  found: 16 x 8 x 1 = 128 work-items\n"
        "  allowed: 16 x 16 x 1 = 256 work-items\n"
        "  next: leave workgroup_size out, or compile with reqd_work_group_size(16, 8, 1)"
    )


def test_a_missing_size_is_refused_where_none_is_required(cb, x, kernels):
    assert refused(lambda: cb.dispatch(kernels["saxpy"], 1, args=[x, x, 1.0, 1])) == (
        "workgroup_size is missing: kernel `saxpy` does not require one\n"
        "  where: command 0 in 'step'\n"
        "  allowed: 1 to 256 work-items in all\n"
        "  next: pass workgroup_size=, or compile with __attribute__((reqd_work_group_size(x, y, z)))"
    )


def test_a_block_of_1024_on_a_kernel_compiled_for_256_names_the_attribute_to_change(cb, x, kernels):
    assert refused(lambda: cb.dispatch(kernels["saxpy"], 1, 1024, args=[x, x, 1.0, 1])) == (
        "the workgroup is larger than kernel `saxpy` was compiled for\n"
        "  where: command 0 in 'step'\n"
        "  found: 1024 x 1 x 1 = 1024 work-items\n"
        "  allowed: 256 work-items (max_flat_workgroup_size in its metadata)\n"
        "  next: launch smaller workgroups, or compile with __attribute__((amdgpu_flat_work_group_size(1, 1024))), "
        "in HIP __launch_bounds__(1024)"
    )


def test_the_product_of_the_size_counts_and_not_each_dimension(cb, x, kernels):
    cb.dispatch(kernels["saxpy"], 1, (16, 16), args=[x, x, 1.0, 1])
    with pytest.raises(OutOfRangeError, match="larger than kernel `saxpy` was compiled for"):
        cb.dispatch(kernels["saxpy"], 1, (17, 16), args=[x, x, 1.0, 1])


@pytest.mark.parametrize("size", [0, (0, 1), (64, 0), (64, 1, 0)])
def test_a_workgroup_without_work_items_is_refused(cb, x, kernels, size):
    with pytest.raises(OutOfRangeError, match="a workgroup has no work-items"):
        cb.dispatch(kernels["saxpy"], 1, size, args=[x, x, 1.0, 1])


def test_the_device_may_allow_less_than_the_kernel(x):
    limits = FakeLimits(max_workgroup_size=(1024, 1024, 64), max_flat_workgroup_size=512)
    cb = CommandBuffer(limits=limits).begin()
    kernel = saxpy(max_flat_workgroup_size=1024)
    assert refused(lambda: cb.dispatch(kernel, 1, 1024, args=[x, x, 1.0, 1])) == (
        "the workgroup is too large for the device\n"
        "  where: command 0\n"
        "  found: 1024 x 1 x 1 = 1024 work-items\n"
        "  allowed: 512 work-items"
    )
    assert refused(lambda: cb.dispatch(kernel, 1, (1, 1, 65), args=[x, x, 1.0, 1])) == (
        "the workgroup is too large for the device in z\n"
        "  where: command 0\n"
        "  found: 1 x 1 x 65 = 65 work-items\n"
        "  allowed: 64 work-items in z"
    )


def test_a_grid_of_two_to_the_32_work_items_is_refused(cb, x, kernels):
    largest = (1 << 32) // 256 - 1
    cb.dispatch(kernels["saxpy"], largest, 256, args=[x, x, 1.0, 1])
    assert refused(lambda: cb.dispatch(kernels["saxpy"], (1, largest + 1), (1, 256), args=[x, x, 1.0, 1])) == (
        "the grid is too large in y\n"
        "  where: command 1 in 'step'\n"
        "  found: 16777216 workgroups of 256 = 4294967296 work-items\n"
        "  allowed: 4294967295 work-items, that is 16777215 such workgroups"
    )


@pytest.mark.parametrize(
    ("limit", "dynamic", "fits"), [(65536, 64512, True), (65536, 64513, False), (163840, 64513, True)]
)
def test_declared_and_dynamic_lds_must_fit_the_device_at_hand(x, kernels, limit, dynamic, fits):
    cb = CommandBuffer(limits=FakeLimits(max_lds=limit)).begin()

    def call():
        cb.dispatch(kernels["reduce_lds"], 1, args=[x, x, 1], dynamic_lds=dynamic)

    if fits:
        call()
        assert only(cb).dynamic_lds == dynamic
        return
    assert refused(call) == (
        "kernel `reduce_lds` needs more LDS than the device has\n"
        "  where: command 0\n"
        "  found: 1024 bytes declared + 64513 bytes dynamic_lds = 65537\n"
        "  allowed: 65536 bytes per workgroup"
    )


def test_a_shape_that_passed_does_not_let_a_larger_one_pass(cb, x, kernels):
    cb.dispatch(kernels["saxpy"], 1, 256, args=[x, x, 1.0, 1])
    for count, size, lds in ((1, 257, 0), (1 << 31, 256, 0), (1, 256, 1 << 17)):
        with pytest.raises(OutOfRangeError):
            cb.dispatch(kernels["saxpy"], count, size, args=[x, x, 1.0, 1], dynamic_lds=lds)
    cb.dispatch(kernels["saxpy"], 2, 128, args=[x, x, 1.0, 1])
    assert [command.workgroup_size[0] for command in cb.end() or cb.recording] == [256, 128]


def test_untyped_parameters_take_numbers_by_their_size(cb, x):
    vadd = triton_vadd()["vadd"]
    cb.dispatch(vadd, 4, 256, args=[x, x, x, 1000, None, None])
    command = only(cb)
    assert command.kernarg[24:28] == struct.pack("<I", 1000)
    assert [offset for offset, _ in command.pointers] == [0, 8, 16]


def test_a_failed_dispatch_keeps_no_executable(cb, x, kernels):
    with pytest.raises(HipGraphError):
        cb.dispatch(kernels["saxpy"], 1, 64, args=[x, object(), 1.0, 1])
    cb.fill_buffer(x, 0)
    cb.end()
    assert not cb.recording.resources.executables
    assert cb.recording[0].target.resource == 0


def test_two_executables_of_one_code_are_two_resources(cb, x):
    first, second = (FakeExecutable(clang_kernels().verified) for _ in range(2))
    for each in (first, second):
        cb.dispatch(each["saxpy"], 1, 64, args=[x, x, 1.0, 1])
    cb.end()
    assert len(cb.recording.resources.executables) == 2
    assert len({entry.content_hash for entry in cb.recording.resources.executables.values()}) == 1


@pytest.mark.parametrize("name", ["args", "bindings", "reads", "writes"])
@pytest.mark.parametrize("make", [lambda x: x, lambda x: {"out": x}, lambda x: (each for each in [x]), lambda x: "x"])
@pytest.mark.parametrize("verb", ["dispatch", "dispatch_indirect"])
def test_what_is_no_list_is_refused_as_that(cb, x, kernels, verb, name, make):
    count = 1 if verb == "dispatch" else x
    message = refused(lambda: getattr(cb, verb)(kernels["saxpy"], count, 64, **{name: make(x)}, label="odd"))
    lines = message.splitlines()
    assert lines[:2] == [f"{name} is not a list", "  where: command 0 'odd' in 'step'"]
    assert lines[3].startswith("  allowed: a list or a tuple of ")


def test_constants_are_an_array_or_another_list_of_words(cb, x, kernels):
    bits = struct.unpack("<I", struct.pack("<f", 2.5))[0]
    cb.dispatch(kernels["saxpy"], 1, 64, bindings=[x, x], constants=np.array([bits, 7], np.uint32))
    cb.dispatch(kernels["saxpy"], 1, 64, bindings=[x, x], constants=(2.5, 7))
    message = refused(lambda: cb.dispatch(kernels["saxpy"], 1, 64, bindings=[x, x], constants=7))
    assert "constants are not a list" in message
    cb.end()
    assert cb.recording[0] == cb.recording[1]


def test_a_float_constant_of_an_integer_parameter_is_refused(cb, x, kernels):
    message = refused(lambda: cb.dispatch(kernels["saxpy"], 1, 64, bindings=[x, x], constants=[2.5, 7.0]))
    assert "argument 3 (arg3: uint) does not fit" in message
    assert "found: the float 7.0" in message

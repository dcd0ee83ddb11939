"""Numbers in slots: arguments, workgroup counts, LDS and patterns that a replay gives."""

from pathlib import Path

import numpy as np
import pytest

from hipgraph_cb import Slot
from hipgraph_cb.errors import CheckFailedError, HipGraphError, InvalidArgumentError, NotFoundError, OutOfRangeError
from hipgraph_cb.opening import process_choice, virtual_runtime

FIXTURES = Path(__file__).parent.parent / "fixtures" / "conformance"
MODES = pytest.mark.parametrize("mode", ["graph", "stream"])


@pytest.fixture(scope="module")
def arguments(device):
    return device.load(FIXTURES / f"arguments.{device.target.processor}.hsaco")


@pytest.fixture(scope="module")
def shape(device):
    return device.load(FIXTURES / f"shapes.{device.target.processor}.hsaco")["shape"]


def words(*values):
    return np.array(values, np.uint32)


def scaled(device, kernels, options=(), **slots):
    """A dispatch with numbers in slots: out = x * scale + add."""
    x, out = device.from_host(words(1, 2, 3, 4)), device.from_host(words(0, 0, 0, 0))
    with device.command_buffer(label="step", binding_capacity=2, **dict(options)) as cb:
        scale, add = (Slot(index, type="u32", name=name) for index, name in enumerate(("scale", "add")))
        cb.dispatch(kernels["scale_and_offset"], 1, args=[x, out, scale, add], label="scaled")
    return cb, out


@MODES
@pytest.mark.parametrize("update", ["exec", "reinstantiate"])
def test_numbers_change_from_replay_to_replay(device, kernels, mode, update):
    cb, out = scaled(device, kernels, {"update": update})
    for scale, add in ((2, 10), (3, 10), (3, 0), (1 << 31, np.uint32(7))):
        cb.replay(bindings=[scale, add], mode=mode)
        assert np.array_equal(out.to_host(np.uint32), words(1, 2, 3, 4) * np.uint32(scale) + np.uint32(add))


@MODES
def test_a_mapping_gives_some_slots_and_the_others_stay(device, kernels, mode):
    cb, out = scaled(device, kernels)
    for bindings, expected in (
        ({"scale": 2, "add": 1}, [3, 5, 7, 9]),
        ({"add": 0}, [2, 4, 6, 8]),
        ({0: 5}, [5, 10, 15, 20]),
        (None, [5, 10, 15, 20]),
        ([1, 1], [2, 3, 4, 5]),
    ):
        out.write(bytes(16))
        cb.replay(bindings=bindings, mode=mode)
        assert out.to_host(np.uint32).tolist() == expected


@MODES
def test_arguments_of_one_to_eight_bytes_are_those_of_numpy(device, arguments, zeros, mode):
    types = (np.int8, np.float16, np.int16, np.int32, np.float64, np.int64)
    out = zeros(32)
    with device.command_buffer(binding_capacity=7) as cb:
        first, *rest = (Slot(index, type=kind) for index, kind in enumerate(types))
        cb.dispatch(arguments["scalars"], 1, 1, args=[first, Slot(6), *rest])
    for values in (
        (-7, 1.5, -300, 1 << 30, -2.25, -(1 << 40)),
        (127, -65504.0, 32767, -(1 << 31), 1e300, (1 << 63) - 1),
    ):
        cb.replay(bindings=[*values, out], mode=mode)
        expected = bytearray(32)
        for offset, kind, value in zip((0, 2, 4, 8, 16, 24), types, values, strict=True):
            content = kind(value).tobytes()
            expected[offset : offset + len(content)] = content
        assert out.to_host().tobytes() == bytes(expected)


@MODES
def test_a_constant_may_be_a_slot(device, kernels, zeros, mode):
    out = zeros(16)
    with device.command_buffer(binding_capacity=2) as cb:
        cb.dispatch(kernels["constants"], 1, bindings=[out], constants=[5, Slot(0, type="u32"), 7, Slot(1, type="i32")])
    cb.replay(bindings=[6, -1], mode=mode)
    assert out.to_host(np.int32).tolist() == [5, 6, 7, -1]


@MODES
@pytest.mark.parametrize("update", ["exec", "reinstantiate"])
def test_each_workgroup_count_and_the_lds_may_be_a_slot(device, shape, zeros, mode, update):
    """The kernel says which counts it was given, how many workgroups ran, and uses all of its LDS."""
    out = zeros(16)
    with device.command_buffer(binding_capacity=5, update=update) as cb:
        counts = [Slot(axis, type="u32", name=name) for axis, name in enumerate("xyz")]
        lds = Slot(3, type="u32", name="lds")
        cb.dispatch(shape, counts, args=[out, None, Slot(4, type="u32", name="words")], dynamic_lds=lds)
    for x, y, z, words_of_lds in ((2, 3, 4, 1), (5, 1, 1, 4096), (1, 1, 7, 16)):
        out.write(bytes(16))
        cb.replay(bindings={"x": x, "y": y, "z": z, "lds": 4 * words_of_lds, "words": words_of_lds}, mode=mode)
        assert out.to_host(np.uint32).tolist() == [x, y, z, x * y * z]


@MODES
@pytest.mark.parametrize("update", ["exec", "reinstantiate"])
def test_a_count_of_zero_launches_nothing_and_keeps_the_order(device, kernels, zeros, mode, update):
    ids, copied, last = zeros(16), zeros(16), zeros(16)
    with device.command_buffer(binding_capacity=1, update=update) as cb:
        cb.fill_buffer(ids, 9)
        cb.execution_barrier()
        cb.dispatch(kernels["workgroup_ids"], Slot(0, type="u32"), args=[ids])
        cb.execution_barrier()
        cb.copy_buffer(ids, copied)
        cb.execution_barrier()
        cb.copy_buffer(copied, last)
    for count, expected in ((0, [9] * 4), (2, [0, 1, 9, 9]), (0, [9] * 4), (0, [9] * 4), (4, [0, 1, 2, 3])):
        cb.replay(bindings=[count], mode=mode)
        assert last.to_host(np.uint32).tolist() == expected


def test_a_program_that_launches_nothing_at_all_replays(device, kernels, zeros):
    ids = zeros(16)
    with device.command_buffer(binding_capacity=1) as cb:
        cb.dispatch(kernels["workgroup_ids"], Slot(0, type="u32"), args=[ids])
    cb.replay(bindings=[0])
    assert ids.to_host(np.uint32).tolist() == [0] * 4
    assert len(cb.program.profile(1).commands) == 1


@MODES
@pytest.mark.parametrize("fill", ["memset", "kernel"])
@pytest.mark.parametrize("type", ["u8", "i16", "f32"])
def test_a_pattern_may_be_a_slot(device, zeros, mode, fill, type):
    buffer = zeros(24)
    with device.command_buffer(binding_capacity=2, fill=fill) as cb:
        cb.fill_buffer(Slot(0, 4, 16), Slot(1, type=type))
    numpy_type = {"u8": np.uint8, "i16": np.int16, "f32": np.float32}[type]
    for value in (3, 100, 0):
        cb.replay(bindings=[buffer, value], mode=mode)
        expected = np.zeros(24, np.uint8)
        expected[4:20] = np.full(16 // numpy_type().nbytes, value, numpy_type).view(np.uint8)
        assert np.array_equal(buffer.to_host(), expected)


@MODES
def test_counts_in_memory_and_numbers_in_slots_go_together(device, kernels, shape, zeros, mode):
    x, out, reported = device.from_host(words(1, 2, 3, 4)), zeros(16), zeros(16)
    counts = device.from_host(words(1, 1, 1))
    with device.command_buffer(binding_capacity=2) as cb:
        number = Slot(0, type="u32")
        cb.dispatch_indirect(kernels["scale_and_offset"], counts, args=[x, out, number, 1])
        cb.dispatch_indirect(shape, counts, args=[reported, None, 8], dynamic_lds=Slot(1, type="u32"))
    for scale, lds in ((2, 32), (3, 64)):
        cb.replay(bindings=[scale, lds], mode=mode)
        assert out.to_host(np.uint32).tolist() == [scale * value + 1 for value in (1, 2, 3, 4)]
    assert reported.to_host(np.uint32).tolist() == [1, 1, 1, 2]


@MODES
def test_a_nested_recording_gets_numbers_and_slots_of_the_outer_one(device, kernels, zeros, mode):
    x, first, second, third = device.from_host(words(1, 2, 3, 4)), zeros(16), zeros(16), zeros(16)
    with device.command_buffer(label="inner", binding_capacity=4) as inner:
        scale, add = Slot(1, type="u32", name="scale"), Slot(2, type="u32", name="add")
        cb_args = [x, Slot(0, name="out"), scale, add]
        inner.dispatch(kernels["scale_and_offset"], Slot(3, type="u32", name="count"), args=cb_args)
    with device.command_buffer(binding_capacity=2) as outer:
        outer.execute_commands(inner, bindings=[first, 2, 3, 1])
        number = Slot(0, type="u32", name="number")
        outer.execute_commands(inner, bindings={"out": second, "scale": number, "add": number, "count": 1})
        outer.execute_commands(inner, bindings={"out": third, "scale": 1, "add": 1, "count": Slot(1, type="u32")})
    for number, count, expected in ((10, 1, [2, 3, 4, 5]), (20, 0, [0] * 4)):
        third.write(bytes(16))
        outer.replay(bindings={"number": number, 1: count}, mode=mode)
        assert first.to_host(np.uint32).tolist() == [5, 7, 9, 11]
        assert second.to_host(np.uint32).tolist() == [number * value + number for value in (1, 2, 3, 4)]
        assert third.to_host(np.uint32).tolist() == expected


def test_replays_in_flight_keep_the_numbers_that_they_were_given(device, kernels, zeros):
    """Each replay adds its own number; twenty are enqueued without a wait."""
    total = zeros(16)
    with device.command_buffer(binding_capacity=1) as cb:
        cb.dispatch(kernels["scale_and_offset"], 1, args=[total, total, 1, Slot(0, type="u32")])
    for step in range(20):
        cb.replay(bindings=[step])
    assert total.to_host(np.uint32).tolist() == [sum(range(20))] * 4


def test_a_number_that_the_runtime_ignores_is_found(device, kernels):
    if device.backend != "hip" or not process_choice().is_virtual:
        pytest.skip("calls can be ignored in the virtual HIP library only")
    cb, _ = scaled(device, kernels)
    cb.replay(bindings=[1, 1])
    with virtual_runtime("hip").ignore("hipGraphExecKernelNodeSetParams"), pytest.raises(CheckFailedError) as caught:
        cb.replay(bindings=[3, 1], check="stream")
    assert caught.value.where == "command 0 'scaled' in 'step'"


REFUSED = [
    ({"scale": -1}, OutOfRangeError, "the number does not fit u32", "-1", "0 to 4294967295"),
    ({"scale": 1 << 32}, OutOfRangeError, "the number does not fit u32", "4294967296", "0 to 4294967295"),
    ({"scale": 1.0}, InvalidArgumentError, "not a number of type u32", "1.0 (float)", "an int or a NumPy integer"),
    ({"scale": True}, InvalidArgumentError, "not a number of type u32", "True (bool)", "an int or a NumPy integer"),
    ({"scale": "7"}, InvalidArgumentError, "not a number of type u32", "'7' (str)", "an int or a NumPy integer"),
    ({"scale": None}, InvalidArgumentError, "not a number of type u32", "None (NoneType)", "an int or a NumPy integer"),
]


@pytest.mark.parametrize(("given", "error", "what", "found", "allowed"), REFUSED)
def test_a_number_that_does_not_fit_is_refused_and_the_one_before_stays(
    device, kernels, given, error, what, found, allowed
):
    cb, out = scaled(device, kernels)
    cb.replay(bindings=[2, 1])
    with pytest.raises(error) as caught:
        cb.replay(bindings=given)
    where = "slot 0 `scale`, first used by command 0 'scaled' in 'step', as argument arg2: uint"
    assert str(caught.value) == f"{what}\n  where: {where}\n  found: {found}\n  allowed: {allowed}"
    out.write(bytes(16))
    cb.replay()
    assert out.to_host(np.uint32).tolist() == [3, 5, 7, 9]


def test_a_slot_that_is_missing_or_unknown_is_named(device, kernels):
    cb, _ = scaled(device, kernels)
    with pytest.raises(InvalidArgumentError) as caught:
        cb.replay(bindings={"scale": 1})
    assert str(caught.value) == (
        "nothing is bound to slot 1 `add`\n"
        "  where: slot 1 `add`, first used by command 0 'scaled' in 'step', as argument arg3: uint\n"
        "  allowed: a number of type u32\n"
        "  next: a replay gives every slot once; those after it may give some"
    )
    for key, found in (("step", "`step`"), (2, "2")):
        with pytest.raises(NotFoundError) as caught:
            cb.replay(bindings={"scale": 1, "add": 2, key: 3})
        assert str(caught.value) == (
            "no command uses this slot of the binding table\n"
            f"  found: {found}\n  allowed: slot 0 `scale`: u32, slot 1 `add`: u32"
        )
    with pytest.raises(InvalidArgumentError, match="a slot is bound twice"):
        cb.replay(bindings={"scale": 1, 0: 1, "add": 2})


def test_launch_shapes_are_checked_when_they_are_known(device, shape, zeros):
    with device.command_buffer(label="step", binding_capacity=2) as cb:
        count, lds = Slot(0, type="u64", name="count"), Slot(1, type="i32", name="lds")
        cb.dispatch(shape, (1, count), args=[zeros(16), None, 1], dynamic_lds=lds, label="shaped")
    most = device.limits.max_grid_size
    with pytest.raises(OutOfRangeError) as caught:
        cb.replay(bindings={"count": 1 << 40, "lds": 4})
    assert str(caught.value) == (
        "the grid is too large in y\n"
        "  where: slot 0 `count`, first used by command 0 'shaped' in 'step', as workgroup_count in y, "
        "command 0 'shaped' in 'step', workgroup_count in y\n"
        f"  found: {1 << 40} workgroups of 1 = {1 << 40} work-items\n"
        f"  allowed: {min(most, 2**32 - 1)} work-items, that is {min(most, 2**32 - 1)} such workgroups"
    )
    with pytest.raises(OutOfRangeError, match="kernel `shape` needs more LDS than the device has"):
        cb.replay(bindings={"count": 1, "lds": device.limits.max_lds + 1})
    with pytest.raises(OutOfRangeError, match="dynamic_lds is negative"):
        cb.replay(bindings={"count": 1, "lds": -4})


def test_a_nested_recording_refuses_numbers_that_do_not_fit(device, shape, zeros):
    with device.command_buffer(label="inner", binding_capacity=1) as inner:
        inner.dispatch(shape, 1, args=[zeros(16), None, 1], dynamic_lds=Slot(0, type="u32", name="lds"))
    with device.command_buffer(binding_capacity=1) as outer:
        for wrong in (-1, 1.5, None, Slot(0), Slot(0, type="f32"), zeros(4), device.limits.max_lds + 1):
            with pytest.raises(HipGraphError):
                outer.execute_commands(inner, bindings=[wrong])
        outer.execute_commands(inner, bindings=[4])
    assert len(outer.recording) == 1


@pytest.mark.parametrize("check", ["stream", lambda output: True])
def test_a_checked_replay_takes_numbers(device, kernels, check):
    cb, out = scaled(device, kernels)
    cb.replay(bindings={"scale": 2, "add": 1}, check=check)
    assert out.to_host(np.uint32).tolist() == [3, 5, 7, 9]
    cb.replay(bindings=[2, 0], check="stream")
    assert out.to_host(np.uint32).tolist() == [2, 4, 6, 8]

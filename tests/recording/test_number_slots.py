"""Slots for numbers, as they are recorded, saved, compared and drawn."""

import json

import numpy as np
import pytest
from support.fakes import FakeBuffer
from support.kernels import clang_kernels, verified

from hipgraph_cb import Recording
from hipgraph_cb.capture.diff import compare
from hipgraph_cb.errors import HipGraphError, InvalidArgumentError, OutOfRangeError
from hipgraph_cb.recording.checking import check_recording
from hipgraph_cb.recording.command_buffer import CommandBuffer
from hipgraph_cb.recording.commands import Dispatch, Fill, Range, SlotNumber, SlotRange
from hipgraph_cb.recording.number_types import NUMBER_TYPES, bits_of, type_name, value_of
from hipgraph_cb.recording.recording import with_commands
from hipgraph_cb.recording.resources import Slot

SAXPY = clang_kernels()["saxpy"]  # float *y, float *x, float a, uint n


def step(*, count=None, names=("scale", "length")):
    """A dispatch with a scale, a length, a count and LDS in slots, and a fill with a pattern in one."""
    x, y = FakeBuffer(4096, "x"), FakeBuffer(4096, "y")
    with CommandBuffer(label="step", binding_capacity=6) as cb:
        scale, length = Slot(0, type="f32", name=names[0]), Slot(1, type="u32", name=names[1])
        workgroups = Slot(2, type="u32", name="count") if count is None else count
        cb.dispatch(SAXPY, (1, workgroups), 64, args=[y, x, scale, length], dynamic_lds=Slot(3, type=np.uint16))
        cb.fill_buffer(Slot(4, 0, 64), Slot(5, type="u8", name="value"))
    return cb.recording


def test_a_command_says_which_of_its_numbers_are_in_slots():
    dispatch, fill = step()
    assert dispatch.workgroup_count == (1, SlotNumber(2, "u32"), 1)
    assert dispatch.dynamic_lds == SlotNumber(3, "u16")
    assert dispatch.numbers == ((16, SlotNumber(0, "f32")), (20, SlotNumber(1, "u32")))
    assert dispatch.kernarg[16:24] == bytes(8)
    assert fill == Fill(SlotRange(4, 0, 64), SlotNumber(5, "u8"))
    assert step() == step(names=("a", "b"))  # names do not count
    assert step() != step(count=4)


def test_a_recording_made_of_its_commands_is_the_same():
    recording = step()
    again = with_commands(recording, list(recording))
    assert again == recording
    assert list(again.table) == list(recording.table)
    check_recording(again)


def test_slots_say_what_they_are_for():
    uses = step().slots
    assert [(use.type, use.role) for use in uses] == [
        ("f32", "argument arg2: float"),
        ("u32", "argument arg3: uint"),
        ("u32", "workgroup_count in y"),
        ("u16", "dynamic_lds"),
        (None, ""),
        ("u8", "the pattern"),
    ]
    assert step().slot_names == {0: "scale", 1: "length", 2: "count", 5: "value"}


@pytest.mark.parametrize("type", NUMBER_TYPES)
def test_numbers_of_every_type_have_the_bits_that_numpy_gives_them(type):
    kind = np.dtype(NUMBER_TYPES[type].numpy_name).type
    info = np.iinfo(kind) if NUMBER_TYPES[type].kind != "float" else np.finfo(kind)
    for value in (info.min, info.max, 0, 1, kind(3)):
        number = value if isinstance(value, int) else value.item()
        bits = bits_of(value, type)
        assert bits == int.from_bytes(kind(number).tobytes(), "little")
        assert value_of(bits, type) == number
    assert type_name(kind) == type_name(np.dtype(kind)) == type_name(np.dtype(kind).name) == type_name(type) == type


@pytest.mark.parametrize("type", ["int", "u128", "", "complex64", int, float, 4, np.complex64, "bool"])
def test_a_type_that_no_slot_can_have_is_refused(type):
    with pytest.raises(InvalidArgumentError) as caught:
        Slot(0, type=type)
    assert caught.value.what == "no type that a number in a slot can have"


def test_a_number_has_no_parts_and_a_name_is_a_text():
    with pytest.raises(InvalidArgumentError, match="slot 3 holds a number, which has no parts"):
        Slot(3, 4, type="u32")
    with pytest.raises(InvalidArgumentError, match="slot name is not a text"):
        Slot(3, name=5)


def refused(record):
    """The message of a call that is refused, and that it left nothing behind."""
    x = FakeBuffer(4096, "x")
    with CommandBuffer(label="step", binding_capacity=4) as cb:
        cb.fill_buffer(x, Slot(0, type="u32", name="value"))
        with pytest.raises(HipGraphError) as caught:
            record(cb, x)
        # what the refused call said of slots is forgotten
        cb.fill_buffer(Slot(1, 0, 4, name="memory"), Slot(2, type="f32", name="other"))
    assert len(cb.recording) == 2
    assert cb.recording.slot_names == {0: "value", 1: "memory", 2: "other"}
    return caught.value


def launch(cb, *, args, count=1, **options):
    cb.dispatch(SAXPY, count, 64, args=args, **options)


REFUSED = {
    "a float for an integer": (
        lambda cb, x: launch(cb, args=[x, x, 1.0, Slot(1, type="f32")]),
        "saxpy: slot 1 cannot be argument 3 (arg3: uint)",
        "a number of type f32, 4 bytes",
        "u32, i32",
    ),
    "another size": (
        lambda cb, x: launch(cb, args=[x, x, Slot(1, type="f64"), 1]),
        "saxpy: slot 1 cannot be argument 2 (arg2: float)",
        "a number of type f64, 8 bytes",
        "f32",
    ),
    "a number for a pointer": (
        lambda cb, x: launch(cb, args=[Slot(1, type="u64"), x, 1.0, 1]),
        "saxpy: slot 1 cannot be argument 0 (arg0: float*)",
        "a number of type u64, 8 bytes",
        "a buffer, a view, a slot for memory, or None for null",
    ),
    "memory for a number": (
        lambda cb, x: launch(cb, args=[x, x, 1.0, Slot(1)]),
        "saxpy: argument 3 (arg3: uint) does not fit",
        None,
        None,
    ),
    "a float for a count": (
        lambda cb, x: launch(cb, args=[x, x, 1.0, 1], count=(1, Slot(1, type="f32"))),
        "slot 1 cannot be workgroup_count in y",
        "a number of type f32",
        "u8, u16, u32, u64, i8, i16, i32, i64",
    ),
    "a float for LDS": (
        lambda cb, x: launch(cb, args=[x, x, 1.0, 1], dynamic_lds=Slot(1, type="f32")),
        "slot 1 cannot be dynamic_lds",
        "a number of type f32",
        "u8, u16, u32, u64, i8, i16, i32, i64",
    ),
    "a long pattern": (
        lambda cb, x: cb.fill_buffer(x, Slot(1, type="u64")),
        "slot 1 cannot be a pattern",
        "a number of type u64",
        "u8, u16, u32, i8, i16, i32, f16, f32",
    ),
    "a number for a target": (
        lambda cb, x: cb.fill_buffer(Slot(1, type="u32"), 1),
        "target is no device memory",
        "slot 1 for a number of type u32",
        "a Buffer, a BufferView or a Slot",
    ),
    "two types": (
        lambda cb, x: launch(cb, args=[x, x, 1.0, Slot(0, type="i32")]),
        "slot 0 is for two things",
        "a number of type i32, and before a number of type u32",
        None,
    ),
    "memory and a number": (
        lambda cb, x: cb.fill_buffer(Slot(0, 0, 4), 1),
        "slot 0 is for two things",
        "memory, and before a number of type u32",
        None,
    ),
    "two names": (
        lambda cb, x: cb.fill_buffer(x, Slot(0, type="u32", name="another")),
        "slot 0 has two names",
        "`another`, and before `value`",
        None,
    ),
    "one name for two": (
        lambda cb, x: cb.fill_buffer(x, Slot(1, type="u32", name="value")),
        "two slots are called `value`",
        "slot 1, and before slot 0",
        None,
    ),
    "beyond the table": (
        lambda cb, x: cb.fill_buffer(x, Slot(4, type="u32")),
        "slot 4 is outside the binding table",
        "slot 4",
        "slots below binding_capacity=4",
    ),
    "named, and refused afterwards": (
        lambda cb, x: launch(cb, args=[x, x, Slot(1, type="f32", name="other"), Slot(3, type="f32", name="memory")]),
        "saxpy: slot 3 cannot be argument 3 (arg3: uint)",
        "a number of type f32, 4 bytes",
        "u32, i32",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_slot_that_does_not_fit_is_refused_by_name(case):
    record, what, found, allowed = REFUSED[case]
    error = refused(record)
    assert error.what == what
    assert error.where == "command 1 in 'step'"
    if found is not None:
        assert (error.found, error.allowed) == (found, allowed)


def test_a_structure_by_value_takes_no_slot():
    from support.fakes import FakeExecutable

    blocks = FakeExecutable(verified("conformance/arguments.gfx942.hsaco"))["blocks"]
    out = FakeBuffer(64)
    with CommandBuffer(binding_capacity=1) as cb, pytest.raises(InvalidArgumentError) as caught:
        cb.dispatch(blocks, 1, 1, args=[1, bytes(16), Slot(0, type="u64"), out, 1, out])
    assert caught.value.what.startswith("blocks: slot 0 cannot be argument 2 (")
    assert caught.value.allowed == "bytes or a NumPy value of 24 bytes: a slot holds one number"


def test_a_file_holds_numbers_and_names(tmp_path):
    recording = step()
    recording.save(tmp_path / "a.hgcb")
    loaded = Recording.load(tmp_path / "a.hgcb")
    assert loaded == recording
    assert loaded.slot_names == recording.slot_names
    loaded.save(tmp_path / "b.hgcb")
    assert (tmp_path / "a.hgcb").read_bytes() == (tmp_path / "b.hgcb").read_bytes()


def test_nested_numbers_are_saved_too(tmp_path):
    inner = step()
    with CommandBuffer(binding_capacity=1) as cb:
        cb.execute_commands(inner, bindings=[1.5, Slot(0, type="u32", name="n"), 3, 16, FakeBuffer(64), 255])
    cb.recording.save(tmp_path / "a.hgcb")
    loaded = Recording.load(tmp_path / "a.hgcb")
    assert loaded == cb.recording
    row = json.loads(loaded.to_json())["commands"][0]["bindings"]
    assert row[:4] == [
        {"value": 1.5, "type": "f32"},
        {"slot": 0, "type": "u32"},
        {"value": 3, "type": "u32"},
        {"value": 16, "type": "u16"},
    ]


@pytest.mark.parametrize(
    "change",
    [
        {"numbers": ((16, SlotNumber(0, "f64")),)},
        {"numbers": ((18, SlotNumber(0, "u32")),)},
        {"numbers": ((0, SlotNumber(0, "u32")),)},
        {"numbers": ((20, SlotNumber(1, "u32")), (16, SlotNumber(0, "f32")))},
        {"numbers": ((16, SlotNumber(0, "f32")), (16, SlotNumber(1, "f32")))},
        {"numbers": ((16, SlotNumber(9, "f32")),)},
        {"kernarg": b"\x01" * 24 + bytes(256)},
        {"workgroup_count": (SlotNumber(2, "f32"), 1, 1)},
        {"dynamic_lds": SlotNumber(3, "f16")},
    ],
    ids=str,
)
def test_a_dispatch_that_no_command_buffer_would_make_is_refused(change):
    recording = step()
    dispatch = recording[0]
    assert isinstance(dispatch, Dispatch)
    if "kernarg" in change:
        change = {"kernarg": bytes(16) + b"\x01" + dispatch.kernarg[17:]}
    wrong = with_commands(recording, [dispatch._replace(**change), recording[1]])
    with pytest.raises((InvalidArgumentError, OutOfRangeError)):
        check_recording(wrong)


def test_a_comparison_shows_what_is_in_which_slot():
    assert list(compare(step(), step(count=4)).lines()) == [
        "commands",
        "  changed 0: dispatch saxpy",
        "    workgroup count: (1, slot 2 `count`: u32, 1) -> (1, 4, 1)",
    ]
    assert compare(step(), step(names=("a", "b"))).is_empty


def test_drawings_show_the_slot_and_its_type():
    lines = [
        "1 x slot 2 `count`: u32 x 1 workgroups of 64 x 1 x 1",
        "slot 3: u16 bytes of dynamic LDS",
        "arg2: float = slot 0 `scale`: f32",
        "arg3: uint = slot 1 `length`: u32",
        "pattern slot 5 `value`: u8",
    ]
    recording = step()
    for text in (recording.to_dot(), recording.to_html()):
        assert [line for line in lines if line not in text] == []
    command, fill = json.loads(recording.to_json())["commands"]
    assert command["workgroup_count"] == [1, {"slot": 2, "type": "u32"}, 1]
    assert command["dynamic_lds"] == {"slot": 3, "type": "u16"}
    assert command["numbers"] == [{"at": 16, "slot": 0, "type": "f32"}, {"at": 20, "slot": 1, "type": "u32"}]
    assert fill["pattern"] == {"slot": 5, "type": "u8"}
    assert json.loads(recording.to_json())["slot_names"] == {"0": "scale", "1": "length", "2": "count", "5": "value"}


def test_numbers_touch_no_memory():
    recording = step()
    assert recording.hazards() == ()
    assert Range(0, 0, 4096) in {place for _, place in recording[0].pointers}

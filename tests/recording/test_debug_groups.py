"""Debug groups name stretches of a recording, in messages and in the value."""

import pytest

from hipgraph_cb.errors import FailedPreconditionError, InvalidArgumentError, OutOfRangeError
from hipgraph_cb.recording.command_buffer import CommandBuffer, State
from hipgraph_cb.recording.groups import Group


def test_groups_nest_and_hold_command_ranges(cb, x):
    cb.fill_buffer(x, 0)
    with cb.debug_group("layer 0"):
        cb.fill_buffer(x, 1)
        with cb.debug_group("attention"):
            cb.fill_buffer(x, 2)
        with cb.debug_group("mlp"):
            cb.fill_buffer(x, 3)
            cb.fill_buffer(x, 4)
    cb.begin_debug_group("tail")
    cb.fill_buffer(x, 5)
    cb.end_debug_group()
    cb.end()
    recording = cb.recording
    assert recording.groups == (
        Group("layer 0", 1, 5, 0),
        Group("attention", 2, 3, 1),
        Group("mlp", 3, 5, 1),
        Group("tail", 5, 6, 0),
    )
    assert recording.group_paths == (
        (),
        ("layer 0",),
        ("layer 0", "attention"),
        ("layer 0", "mlp"),
        ("layer 0", "mlp"),
        ("tail",),
    )
    assert recording.where(3) == "command 3 in 'mlp' in 'layer 0' in 'step'"


def test_two_groups_that_begin_together_keep_their_order(cb, x):
    with cb.debug_group("outer"), cb.debug_group("inner"):
        cb.fill_buffer(x, 0)
    cb.end()
    assert cb.recording.group_paths == (("outer", "inner"),)


def test_messages_name_the_groups_that_are_open(cb, x):
    with cb.debug_group("outer"), cb.debug_group("inner"), pytest.raises(OutOfRangeError) as caught:
        cb.fill_buffer(x, 0, offset=4096, length=4, label="clear")
    assert caught.value.where == "command 0 'clear' in 'inner' in 'outer' in 'step'"


def test_a_group_neither_is_a_barrier_nor_takes_part_in_equality(x):
    recordings = []
    for grouped in (False, True):
        cb = CommandBuffer().begin()
        cb.fill_buffer(x, 0)
        if grouped:
            with cb.debug_group("g"):
                cb.fill_buffer(x, 1)
        else:
            cb.fill_buffer(x, 1)
        cb.end()
        recordings.append(cb.recording)
    assert recordings[0].layers == recordings[1].layers == ((0, 1),)
    assert recordings[0] == recordings[1]


def test_a_group_without_commands_leaves_no_trace(cb):
    with cb.debug_group("empty"):
        pass
    cb.end()
    assert cb.recording.groups == ()


def test_closing_what_was_not_opened_is_refused_at_once(cb):
    with pytest.raises(FailedPreconditionError) as caught:
        cb.end_debug_group()
    assert str(caught.value) == (
        "end_debug_group: no debug group is open\n"
        "  where: command buffer 'step'\n"
        "  next: open one with begin_debug_group(label)"
    )
    cb.end()
    assert cb.state is State.FINAL


def test_ending_with_an_open_group_fails_the_command_buffer(cb):
    cb.begin_debug_group("a")
    cb.begin_debug_group("b")
    with pytest.raises(FailedPreconditionError) as caught:
        cb.end()
    assert str(caught.value) == (
        "end: a debug group is still open\n"
        "  found: 'a' > 'b'\n"
        "  next: close it with end_debug_group(), or use `with command_buffer.debug_group(label)`"
    )
    assert cb.state is State.FAILED


@pytest.mark.parametrize("label", [None, 3, b"x"])
def test_a_group_needs_a_text(cb, label):
    with pytest.raises(InvalidArgumentError, match=r"a debug group needs a label|label is not a text"):
        cb.begin_debug_group(label)
    cb.end()


def test_an_error_inside_a_group_is_not_hidden_by_the_group():
    with pytest.raises(KeyError), CommandBuffer() as cb, cb.debug_group("g"):
        raise KeyError
    assert cb.state is State.FAILED


@pytest.mark.parametrize("verb", ["begin_debug_group", "end_debug_group"])
def test_groups_belong_between_begin_and_end(verb):
    arguments = ("g",) if verb == "begin_debug_group" else ()
    with pytest.raises(FailedPreconditionError, match=f"^{verb}: the command buffer is in state INITIAL"):
        getattr(CommandBuffer(), verb)(*arguments)


def test_discarding_is_checked_and_records_nothing(cb, x):
    cb.discard_buffer(x)
    cb.discard_buffer(x, offset=8, length=8)
    with pytest.raises(OutOfRangeError, match="reaches past the end of `x`"):
        cb.discard_buffer(x, offset=4096, length=1)
    with pytest.raises(InvalidArgumentError, match="target is no device memory"):
        cb.discard_buffer(7)
    cb.end()
    assert len(cb.recording) == 0
    assert not cb.recording.resources.buffers


def test_a_group_may_say_its_colour_and_its_place_in_a_source(cb, x):
    with cb.debug_group("attention", color="#1f77b4", location="layers.py:12"):
        cb.fill_buffer(x, 0)
    cb.end()
    assert cb.recording.groups == (Group("attention", 0, 1, 0, "#1f77b4", "layers.py:12"),)


@pytest.mark.parametrize("color", ["red", "#12345", "#1234567", 0xFFFFFF, "#12345g"])
def test_what_is_no_colour_is_refused_and_opens_no_group(cb, x, color):
    with pytest.raises(InvalidArgumentError) as caught:
        cb.begin_debug_group("layer", color=color)
    assert str(caught.value) == (
        f"the colour of a debug group is none\n  found: {color!r}\n  allowed: #rrggbb, as in HTML"
    )
    with pytest.raises(FailedPreconditionError):
        cb.end_debug_group()

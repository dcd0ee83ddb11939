"""What a command buffer is made for: categories of commands, checked at each verb, and recordings that run once."""

import pytest
from support.fakes import FakeBuffer, FakeEvent, saxpy

from hipgraph_cb.capture.capture import Capture
from hipgraph_cb.capture.diff import compare
from hipgraph_cb.capture.manifest import decode, encode
from hipgraph_cb.errors import FailedPreconditionError, InvalidArgumentError
from hipgraph_cb.recording.categories import CommandCategory
from hipgraph_cb.recording.checking import check_recording
from hipgraph_cb.recording.command_buffer import CommandBuffer
from hipgraph_cb.recording.recording import Recording

x, y = FakeBuffer(64, "x"), FakeBuffer(64, "y")
TRANSFERS = {
    "fill_buffer": lambda cb: cb.fill_buffer(x, 1),
    "update_buffer": lambda cb: cb.update_buffer(x, b"1"),
    "copy_buffer": lambda cb: cb.copy_buffer(x, y),
    "fill_buffer_2d": lambda cb: cb.fill_buffer_2d(x, 1, width=8, height=2),
    "copy_buffer_2d": lambda cb: cb.copy_buffer_2d(x, y, width=8, height=2),
    "discard_buffer": lambda cb: cb.discard_buffer(x),
}
DISPATCHES = {
    "dispatch": lambda cb: cb.dispatch(saxpy(), 1, 1, args=[x, y, 1.0, 1]),
    "dispatch_indirect": lambda cb: cb.dispatch_indirect(saxpy(), y, 1, args=[x, y, 1.0, 1]),
    "signal_event": lambda cb: cb.signal_event(FakeEvent()),
    "reset_event": lambda cb: cb.reset_event(FakeEvent()),
    "wait_events": lambda cb: cb.wait_events([FakeEvent()]),
}
ALWAYS = {
    "execution_barrier": lambda cb: cb.execution_barrier(),
    "debug_group": lambda cb: cb.begin_debug_group("g") or cb.end_debug_group(),
    "push_constants": lambda cb: cb.push_constants(0, [1]),
    "host_call": lambda cb: cb.host_call(print),
}


@pytest.mark.parametrize("verb", [*TRANSFERS, *DISPATCHES])
def test_a_verb_of_another_category_is_refused_and_records_nothing(verb):
    is_transfer = verb in TRANSFERS
    allowed, found = ("dispatch", "transfer") if is_transfer else ("transfer", "dispatch")
    cb = CommandBuffer(label="step", categories=allowed).begin()
    with pytest.raises(FailedPreconditionError) as caught:
        {**TRANSFERS, **DISPATCHES}[verb](cb)
    assert str(caught.value) == (
        f"{verb}: the command buffer does not take commands of this category\n"
        f"  where: command 0 in 'step'\n  found: {found}\n  allowed: {allowed}\n"
        "  next: make the command buffer without categories=, or record it in another one"
    )
    cb.end()
    assert len(cb.recording) == 0
    assert not cb.recording.resources.buffers


@pytest.mark.parametrize("categories", ["transfer", "dispatch", "any"])
def test_what_a_category_names_is_taken_and_so_is_what_belongs_to_none(categories):
    cb = CommandBuffer(categories=categories).begin()
    verbs = {"transfer": TRANSFERS, "dispatch": DISPATCHES, "any": {**TRANSFERS, **DISPATCHES}}[categories]
    for record in {**verbs, **ALWAYS}.values():
        record(cb)
    cb.end()
    assert len(cb.recording) == len(verbs) - ("discard_buffer" in verbs) + 1
    assert cb.recording.categories is CommandCategory[categories.upper()]


@pytest.mark.parametrize("categories", ["copy", "", None, 3, CommandCategory(0), True])
def test_categories_that_do_not_exist_are_refused(categories):
    with pytest.raises(InvalidArgumentError, match="categories are no categories"):
        CommandBuffer(categories=categories)


def test_one_shot_is_true_or_false():
    with pytest.raises(InvalidArgumentError, match="one_shot: not a truth value"):
        CommandBuffer(one_shot=1)


def _recorded(record, **options):
    with CommandBuffer(**options) as cb:
        record(cb)
    return cb.recording


def test_a_nested_recording_needs_the_categories_of_what_it_runs():
    fills = _recorded(TRANSFERS["fill_buffer"])
    around = _recorded(lambda cb: cb.execute_commands(fills))
    assert len(_recorded(lambda cb: cb.execute_commands(around), categories="transfer")) == 1
    with pytest.raises(FailedPreconditionError, match="execute_commands: the command buffer does not take"):
        _recorded(lambda cb: cb.execute_commands(around), categories="dispatch")


def test_a_one_shot_recording_is_nested_in_a_one_shot_one_only():
    once = _recorded(TRANSFERS["fill_buffer"], one_shot=True, label="once")
    assert _recorded(lambda cb: cb.execute_commands(once), one_shot=True).one_shot
    cb = CommandBuffer().begin()
    with pytest.raises(FailedPreconditionError) as caught:
        cb.execute_commands(once)
    assert str(caught.value) == (
        "execute_commands: the nested recording is one-shot, and this one is not\n"
        "  where: command 0, recording 'once'\n"
        "  next: make both command buffers with one_shot=True, or neither"
    )
    cb.end()
    assert cb.recording == Recording([])


def test_a_recording_with_commands_that_its_categories_exclude_is_refused_where_it_is_checked():
    recording = _recorded(TRANSFERS["fill_buffer"])
    wrong = Recording(
        recording.table, resources=recording.resources, layer_starts=(0,), categories=CommandCategory.DISPATCH
    )
    with pytest.raises(FailedPreconditionError, match="fill_buffer: the command buffer does not take"):
        check_recording(wrong)


@pytest.mark.parametrize("options", [{}, {"one_shot": True}, {"categories": "transfer"}])
def test_a_capture_keeps_what_a_recording_was_made_for(options):
    recording = _recorded(TRANSFERS["fill_buffer"], **options)
    outer = _recorded(lambda cb: cb.execute_commands(recording), **options)
    manifest, blobs = encode(Capture(outer))
    loaded = decode(manifest, blobs).recording
    assert loaded == outer
    assert (loaded.one_shot, loaded.categories) == (outer.one_shot, outer.categories)
    (entry,) = loaded.resources.recordings.values()
    assert (entry.recording.one_shot, entry.recording.categories) == (recording.one_shot, recording.categories)
    assert manifest.count(b"one_shot") == manifest.count(b'"one_shot":true') == 2 * ("one_shot" in options)
    assert manifest.count(b"categories") == 2 * ("categories" in options)


@pytest.mark.parametrize("field", ['"one_shot":false', '"one_shot":1', '"categories":"any"', '"categories":2'])
def test_a_file_says_only_what_is_not_so_without_it(field):
    manifest, blobs = encode(Capture(_recorded(TRANSFERS["fill_buffer"])))
    name = field.partition(":")[0]
    follower = b'"commands":' if name == '"categories"' else b'"producer":'
    changed = manifest.replace(follower, field.encode() + b"," + follower)
    assert changed != manifest
    with pytest.raises(InvalidArgumentError, match="says what is so without it"):
        decode(changed, blobs)


def test_a_difference_in_what_they_are_made_for_is_listed():
    one = _recorded(TRANSFERS["fill_buffer"])
    other = _recorded(TRANSFERS["fill_buffer"], one_shot=True, categories="transfer")
    assert one != other
    assert compare(one, other).resources == ["one_shot: False -> True", "categories: any -> transfer"]

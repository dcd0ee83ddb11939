"""What a small file may ask of whoever reads it: commands and slots in proportion to its size."""

import tracemalloc

import pytest
from support.captures import pack, read
from support.fakes import FakeBuffer

from hipgraph_cb.errors import OutOfRangeError, ResourceExhaustedError
from hipgraph_cb.recording.command_buffer import CommandBuffer


def fill(place):
    return {"kind": "fill", "label": None, "pattern": "01000000", "target": {**place, "offset": 0, "length": 4}}


def body(commands, capacity=0):
    return {
        "label": None,
        "binding_capacity": capacity,
        "commands": commands,
        "layer_starts": list(range(len(commands))),
        "dependencies": None,
        "groups": [],
    }


def document(top, recordings=()):
    return {
        "format": "hipgraph_cb capture",
        "version": 1,
        "producer": "a test",
        **top,
        "buffers": [{"id": 0, "size": 64, "label": "b"}],
        "executables": [],
        "events": [],
        "recordings": list(recordings),
        "memory": [],
    }


def nested(levels, fan=4):
    """A file that runs `fan` to the power of `levels` fills."""

    def execute(recording):
        return {"kind": "execute", "recording": recording, "bindings": [], "label": None}

    rows = [{"id": 1, "name": None, "uses": [0], **body([fill({"buffer": 0})] * fan)}]
    rows += [
        {"id": level, "name": None, "uses": list(range(level)), **body([execute(level - 1)] * fan)}
        for level in range(2, levels + 1)
    ]
    return pack(document(body([execute(levels)]), rows), {})


def test_a_file_of_a_few_kilobytes_that_means_millions_of_commands_is_refused():
    data = nested(11)
    assert len(data) < 5000
    with pytest.raises(ResourceExhaustedError) as caught:
        read(data)
    assert caught.value.what == "nested recordings run too many commands"
    assert 65536 < int(caught.value.allowed) < 65536 + 4 * len(data)


def test_nesting_in_proportion_is_read():
    assert read(nested(8)).recording.depth == 8  # 65 536 commands


def test_a_slot_far_beyond_the_size_of_the_file_is_refused_before_a_table_is_made():
    most = (1 << 24) - 1
    data = pack(document(body([fill({"slot": most - 1})], most)), {})
    tracemalloc.start()
    with pytest.raises(ResourceExhaustedError) as caught:
        read(data)
    assert tracemalloc.get_traced_memory()[1] < 1 << 20
    tracemalloc.stop()
    assert caught.value.what == "a command uses a slot that is too far up"
    assert caught.value.found == f"slot {most - 1}"


def test_the_slots_of_all_recordings_count_together():
    rows = [{"id": id, "name": None, "uses": [], **body([fill({"slot": 60_000})], 60_001)} for id in range(1, 5)]
    with pytest.raises(ResourceExhaustedError) as caught:
        read(pack(document(body([fill({"buffer": 0})]), rows), {}))
    assert caught.value.what == "a command uses a slot that is too far up"
    assert caught.value.where.startswith("manifest.json, nested recording")
    assert len(read(pack(document(body([fill({"slot": 60_000})], 60_001)), {})).recording.slots) == 60_001


def test_what_could_not_be_loaded_again_is_not_saved(tmp_path):
    recording, x = None, FakeBuffer(64)
    for _ in range(10):
        with CommandBuffer() as cb:
            for _ in range(4):
                cb.fill_buffer(x, 0) if recording is None else cb.execute_commands(recording)
        recording = cb.recording
    with pytest.raises(ResourceExhaustedError) as caught:
        recording.save(tmp_path / "step.hgcb")
    assert caught.value.what == "nested recordings run too many commands"
    assert list(tmp_path.iterdir()) == []


def test_a_group_without_end_is_refused_before_any_message_names_a_command_in_it():
    top = {
        **body([fill({"buffer": 0})] * 2),
        "groups": [{"label": "g", "start": 0, "stop": 1 << 40, "depth": 0}],
        "dependencies": [[], [5]],
    }
    tracemalloc.start()
    with pytest.raises(OutOfRangeError) as caught:
        read(pack(document(top), {}))
    assert tracemalloc.get_traced_memory()[1] < 1 << 20
    tracemalloc.stop()
    assert caught.value.what == "the debug groups are not nested in each other"

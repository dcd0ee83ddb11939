"""Times of commands and layers, and the exports that show them."""

import json

import numpy as np
import pytest

from hipgraph_cb import Slot
from hipgraph_cb.errors import OutOfRangeError


@pytest.fixture
def program(device, kernels, zeros):
    x, y = device.from_host(np.arange(4, dtype=np.uint32), "x"), zeros(16, "y")
    with device.command_buffer(label="step") as cb:
        cb.update_buffer(x, np.arange(1, 5, dtype=np.uint32), label="input")
        cb.fill_buffer(y, 0)
        cb.execution_barrier()
        cb.dispatch(kernels["scale_and_offset"], 1, bindings=[x, y], constants=[3, 10])
    return cb.program


def test_every_command_and_layer_has_its_time(program):
    profile = program.profile(3)
    assert (profile.repeats, len(profile.commands), len(profile.layers)) == (3, 3, 2)
    assert all(span.end > span.start >= 0 for span in profile.commands)
    first, second = profile.layers
    assert first.start == min(span.start for span in profile.commands[:2])
    assert first.end == max(span.end for span in profile.commands[:2])
    assert second == profile.commands[2]
    assert profile.duration == max(span.end for span in profile.commands)


def test_a_profile_replays_for_real(program, device):
    program.profile(1)
    y = program.recording.resources.bound[1]
    assert y.to_host(np.uint32).tolist() == [13, 16, 19, 22]


def test_slots_are_bound_for_a_profile(device, zeros):
    x = zeros(16)
    with device.command_buffer(binding_capacity=1) as cb:
        cb.fill_buffer(Slot(0, 0, 16), 5)
    assert len(cb.program.profile(1, bindings=[x]).commands) == 1
    assert x.to_host(np.uint32).tolist() == [5] * 4


def test_no_repeats_measure_nothing(program):
    with pytest.raises(OutOfRangeError) as caught:
        program.profile(0)
    assert str(caught.value) == "profile: there is nothing to measure\n  found: 0 repeats\n  allowed: 1 or more"


def test_an_empty_recording_takes_no_time(device):
    with device.command_buffer() as cb:
        pass
    profile = cb.program.profile(1)
    assert (profile.commands, profile.layers, profile.duration) == ((), (), 0.0)


def test_the_table_the_trace_and_the_page_name_the_same_nodes(program):
    profile = program.profile(2)
    table = [line.split() for line in profile.to_text().splitlines()]
    assert [row[0] for row in table] == ["all", "layer", "c0", "c1", "layer", "c2"]
    trace = json.loads(profile.to_perfetto())
    slices = {event["args"]["node"]: event for event in trace["traceEvents"] if event.get("cat") == "command"}
    assert list(slices) == ["c0", "c1", "c2"]
    page = profile.to_html()
    for name, row in zip(slices, (table[2], table[3], table[5]), strict=True):
        taken = slices[name]["dur"]
        assert float(row[1]) == pytest.approx(taken, abs=0.06)
        assert f'"took {taken:g} us"' in page

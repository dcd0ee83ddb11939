"""Another build of a kernel takes the place of the recorded one, in nested recordings too."""

from dataclasses import replace

import pytest
from support.captures import conformance
from support.fakes import FakeBuffer
from support.kernels import verified

from hipgraph_cb import Slot
from hipgraph_cb.capture.replacement import with_kernel
from hipgraph_cb.errors import InvalidArgumentError, NotFoundError
from hipgraph_cb.recording.checking import check_recording
from hipgraph_cb.recording.command_buffer import CommandBuffer

PATH = "conformance/conformance.gfx942.hsaco"


def recorded():
    kernels = conformance()
    x, y = FakeBuffer(64, "x"), FakeBuffer(64, "y")
    with CommandBuffer(label="inner", binding_capacity=1) as inner:
        inner.dispatch(kernels["scale_and_offset"], 1, bindings=[Slot(0), y], constants=[1, 2])
    with CommandBuffer() as cb:
        cb.dispatch(kernels["scale_and_offset"], 1, bindings=[x, y], constants=[3, 4])
        cb.dispatch(kernels["twice"], 1, args=[x, y])
        cb.execute_commands(inner.recording, bindings=[x])
    return cb.recording


def other_build(**changes):
    """The same code, whose kernel `scale_and_offset` states something else."""
    executable = verified(PATH)
    export = executable.exports["scale_and_offset"]
    changed = replace(export, stated_layout=replace(export.layout, **changes))
    return replace(executable, exports={**executable.exports, "scale_and_offset": changed})


@pytest.mark.parametrize("extra", [0, 64])
def test_the_kernarg_block_takes_the_size_of_the_new_kernel(extra):
    recording = recorded()
    block = recording[0].kernarg
    size = len(block)
    changed, lines = with_kernel(recording, "scale_and_offset", other_build(size=size + extra))
    assert changed[0].kernarg == block + bytes(extra)
    (entry,) = changed.resources.recordings.values()
    assert len(entry.recording[0].kernarg) == size + extra
    assert entry.recording[0].executable == changed[0].executable != recording[0].executable
    assert changed[1] == recording[1]
    assert lines == ([f"kernarg size: {size} -> {size + extra}"] if extra else [])
    check_recording(changed)


def test_executables_that_nothing_needs_any_more_are_left_out():
    recording = recorded()
    once, _ = with_kernel(recording, "scale_and_offset", verified(PATH))
    assert len(once.resources.executables) == 2
    twice, _ = with_kernel(once, "twice", verified(PATH))
    assert recording[0].executable not in twice.resources.executables
    assert [list(entry.recording.resources.executables) for entry in twice.resources.recordings.values()] == [
        [once[0].executable]
    ]


def test_another_signature_and_unknown_kernels_are_refused():
    parameters = verified(PATH).exports["scale_and_offset"].layout.parameters
    with pytest.raises(InvalidArgumentError) as raised:
        with_kernel(recorded(), "scale_and_offset", other_build(parameters=parameters[:-1]))
    assert "-  arg3: uint (value, 4 bytes at offset 20)" in raised.value.detail
    with pytest.raises(NotFoundError) as raised:
        with_kernel(recorded(), "nothing", verified(PATH))
    assert raised.value.allowed == "scale_and_offset, twice"

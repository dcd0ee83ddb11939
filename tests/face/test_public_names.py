"""What a user meets first: the names of the package, what `dir` shows, and what `repr` says."""

import inspect
from pathlib import Path

import numpy as np
import pytest

import hipgraph_cb
from hipgraph_cb import CommandBuffer, Device, Event, Executable, Export, Program, Recording, Slot, Stream
from hipgraph_cb.errors import FailedPreconditionError

HELD = [
    "Device",
    "Buffer",
    "BufferView",
    "HostBuffer",
    "Executable",
    "Export",
    "CommandBuffer",
    "Recording",
    "Program",
    "ProgramCommand",
    "Stream",
    "Event",
    "DeviceGroup",
    "GroupExecutable",
    "GroupProgram",
    "GroupStream",
    "Channel",
    "Rank",
    "Slot",
    "Transient",
    "JoinPolicy",
    "HazardPolicy",
    "Expected",
    "VirtualSettings",
    "Profile",
    "CommandCategory",
    "Stage",
    "MemoryAccess",
    "HipGraphError",
    "HipError",
    "HsaError",
    "InvalidArgumentError",
    "NotFoundError",
]


@pytest.mark.parametrize("name", HELD)
def test_every_class_that_a_user_can_hold_is_a_name_of_the_package(name: str) -> None:
    assert name in hipgraph_cb.__all__
    assert name in dir(hipgraph_cb)
    assert inspect.isclass(getattr(hipgraph_cb, name))


def test_every_error_is_a_name_of_the_package() -> None:
    from hipgraph_cb import errors

    named = {name for name, value in vars(errors).items() if inspect.isclass(value) and not name.startswith("_")}
    assert {name for name in named if issubclass(getattr(errors, name), errors.HipGraphError)} <= set(
        hipgraph_cb.__all__
    )


def test_what_is_not_there_is_an_attribute_error_that_names_it() -> None:
    with pytest.raises(AttributeError, match=r"^module 'hipgraph_cb' has no attribute 'Devise'$"):
        hipgraph_cb.Devise  # noqa: B018


def test_the_old_path_of_the_verifier_keeps_working() -> None:
    from hipgraph_cb.code_object.verify import verify
    from hipgraph_cb.executable.verify import verify as old_path

    assert old_path is verify


def test_dir_of_a_device_shows_what_is_documented_and_no_part_of_a_backend(device) -> None:
    shown = set(dir(device))
    assert {"allocate", "from_host", "load", "command_buffer", "program", "stream", "synchronize", "timeout"} <= shown
    assert shown.isdisjoint({"api", "backlog", "queues", "join_kernel", "blits", "queue_of", "address_map"})
    for name in shown:
        assert hasattr(device, name)


def test_every_object_says_what_it_is(device, saxpy: Path) -> None:
    executable = device.load(saxpy, label="code")
    buffer = device.from_host(np.arange(16, dtype=np.float32), label="x")
    stream, event = device.stream("side"), device.event("done")
    with device.command_buffer(label="step", binding_capacity=1) as cb:
        cb.fill_buffer(buffer, 0)
        cb.fill_buffer(Slot(0), 0, length=4)
    assert repr(event) == "<event `done`, not signalled>"
    assert repr(cb) == "<command buffer 'step': FINAL, 2 commands>"
    assert repr(executable.verified) == "<verified code object for gfx942, v5: 1 kernels>"
    assert repr(executable["saxpy"]) == "<kernel saxpy of executable `code`>"
    assert repr(cb.program) == "<program `step`: 2 commands>"
    assert repr(cb.program[1]) == "<command 1 in 'step' of program `step`>"
    assert repr(stream) == f"<stream `side` of {device.name}>"
    held = (device, executable, buffer, buffer.view(0, 16), stream, event, cb, cb.recording, cb.program, Slot(0))
    held += (cb.program[0], Slot(0, type="u32", name="step"))
    held += (executable.verified, executable.verified.code_object, executable["saxpy"], cb.recording[0])
    for each in held:
        assert " object at 0x" not in repr(each)


def test_objects_of_a_device_are_of_the_public_classes(device, saxpy: Path) -> None:
    executable = device.load(saxpy)
    with device.command_buffer() as cb:
        pass
    for value, kind in (
        (device, Device),
        (executable, Executable),
        (executable["saxpy"], Export),
        (device.stream(), Stream),
        (device.event(), Event),
        (cb, CommandBuffer),
        (cb.program, Program),
        (cb.recording, Recording),
    ):
        assert isinstance(value, kind)


def test_a_command_buffer_without_a_device_has_no_program() -> None:
    with CommandBuffer(label="alone") as cb:
        pass
    with pytest.raises(FailedPreconditionError) as caught:
        cb.program  # noqa: B018
    assert str(caught.value) == (
        "program: this command buffer belongs to no device\n"
        "  where: command buffer 'alone'\n"
        "  next: make a program with device.program(command_buffer.recording)"
    )

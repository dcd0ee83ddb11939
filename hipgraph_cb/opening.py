"""`open_device`: the only module that knows both the backends and the virtual device.

Whether this machine has an AMD GPU is decided without loading HIP, because hip-python keeps the first library it
gets for the life of the process.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hipgraph_cb.errors import FailedPreconditionError, InvalidArgumentError, NotFoundError, UnimplementedError
from hipgraph_cb.files import file_path
from hipgraph_cb.recording.validation import check_list, text

if TYPE_CHECKING:
    from hipgraph_cb.group.device_group import DeviceGroup
    from hipgraph_cb.hip.device import HipDevice
    from hipgraph_cb.hsa.device import HsaDevice
    from hipgraph_cb.runtime.device import Device
    from hipgraph_cb.runtime.program import Program
    from hipgraph_cb.virtual.settings import VirtualSettings
    from hipgraph_cb.virtual.virtual_library import VirtualLibrary

logger = logging.getLogger("hipgraph_cb")

BACKENDS = ("hip", "hsa")
"""By name; the first is the default. `_class_of` and `virtual_runtime` say what each is made of."""
VIRTUAL_VARIABLE = "HIPGRAPH_CB_VIRTUAL"
DEFAULT_VIRTUAL_TARGET = "gfx942"
MOST_DEVICES = 64
"""Virtual GPUs in one process: as many as a mask of devices has bits."""
KFD_DEVICE = Path("/dev/kfd")
KFD_TOPOLOGY = Path("/sys/class/kfd/kfd/topology/nodes")


@dataclass(frozen=True)
class DeviceChoice:
    """Which devices this process sees, and why. `virtual_targets` is empty for real GPUs."""

    virtual_targets: tuple[str, ...]
    reason: str

    @property
    def is_virtual(self) -> bool:
        return bool(self.virtual_targets)


def open_device(backend: str | None = None, *, device: int = 0, virtual: VirtualSettings | None = None) -> Device:
    """Open GPU number `device` of this process: a real one if the machine has one, else a virtual one.

    Args:
        backend: "hip" (the default) replays recordings as HIP graphs through hip-python; "hsa" as AQL packets through
            libhsa-runtime64, without HIP.
        virtual: settings of the virtual GPUs, where this process sees such: the first call that names some, or opens
            a device at all, decides for the process.
        device: the ordinal. With `HIPGRAPH_CB_VIRTUAL=gfx942,gfx1100` the process sees exactly these virtual GPUs.

    Raises:
        InvalidArgumentError: unknown backend, or a device that is not an ordinal.
        NotFoundError: there is no such ordinal.
        FailedPreconditionError: the process already runs on another choice of devices or with other settings, or
            `virtual` is given and it sees real GPUs.
        UnavailableError: a library of the backend is missing.
        HipError, HsaError: the runtime refused.
    """
    name = BACKENDS[0] if backend is None else backend
    if not isinstance(name, str) or name not in BACKENDS:
        allowed = ", ".join(map(repr, BACKENDS))
        raise InvalidArgumentError("open_device: unknown backend", found=repr(backend), allowed=allowed)
    _check_ordinal(device)
    choice = process_choice()
    _check_there(choice, device)
    if virtual is not None and not choice.is_virtual:
        raise FailedPreconditionError(
            "open_device: settings for virtual GPUs, and this process sees real ones",
            found=f"virtual={virtual!r}; {choice.reason}",
            allowed="virtual=None",
            next_step=f"set {VIRTUAL_VARIABLE}={DEFAULT_VIRTUAL_TARGET} to hide the real GPUs",
        )
    runtime = virtual_runtime(name, virtual) if choice.is_virtual else None
    report = None if runtime is None else runtime.fault_report
    return _class_of(name)(device, is_virtual=choice.is_virtual, fault_report=report)


def open_devices(
    backend: str | None = None, *, devices: Sequence[int] | None = None, virtual: VirtualSettings | None = None
) -> DeviceGroup:
    """Open several GPUs of this process as a group: all of them, or those with these ordinals, in this order.

    With `HIPGRAPH_CB_VIRTUAL=gfx942*4` the process sees four virtual GPUs.

    Args:
        backend, virtual: as for `open_device`.
        devices: ordinals, each once; None is every GPU that the process sees.

    Raises:
        InvalidArgumentError: no ordinals, or one twice.
        The errors of `open_device`.
    """
    if devices is not None:
        check_list(devices, "open_devices: devices", "ordinals")
        if not devices or len(set(devices)) != len(devices):
            raise InvalidArgumentError(
                "open_devices: bad devices", found=repr(devices), allowed="ordinals, one or more, each once"
            )
        for ordinal in devices:
            _check_ordinal(ordinal)
            _check_there(process_choice(), ordinal)
    from hipgraph_cb.group.device_group import DeviceGroup

    with ExitStack() as opened:
        first = opened.enter_context(open_device(backend, device=0 if devices is None else devices[0], virtual=virtual))
        rest = range(1, first.device_count) if devices is None else devices[1:]
        members = [first, *(opened.enter_context(open_device(backend, device=each, virtual=virtual)) for each in rest)]
        group = DeviceGroup(members)
        choice = process_choice()
        if choice.is_virtual and group.backend == "hip":
            from hipgraph_cb.virtual.install import install_rccl

            install_rccl(choice.virtual_targets)  # for channels, and before a real one is found by its name
        opened.pop_all()
    return group


def _check_ordinal(device: object) -> None:
    if isinstance(device, bool) or not isinstance(device, int) or device < 0:
        raise InvalidArgumentError("open_device: bad device", found=repr(device), allowed="an ordinal: 0, 1, ...")


def _check_there(choice: DeviceChoice, device: int) -> None:
    """Refuse the ordinal of a virtual GPU that the process does not see; of real ones the runtime knows."""
    if choice.is_virtual and device >= len(choice.virtual_targets):
        raise NotFoundError(
            "open_device: no such device",
            found=f"device {device}",
            allowed=f"0 to {len(choice.virtual_targets) - 1} (virtual: {', '.join(choice.virtual_targets)})",
            next_step=f"name more targets in {VIRTUAL_VARIABLE} before the process starts",
        )


def _class_of(backend: str) -> type[HipDevice] | type[HsaDevice]:
    """A backend is loaded with its first device."""
    if backend == "hsa":
        from hipgraph_cb.hsa.device import HsaDevice

        return HsaDevice
    from hipgraph_cb.hip.device import HipDevice

    return HipDevice


def load_recording(path: str | os.PathLike[str], device: Device | DeviceGroup) -> Program:
    """Make a program of a capture file: load its code, allocate its buffers and fill them with the stored contents.

    Buffers without stored contents are filled with zeros. `program.recording.resources["y"]` is the buffer labelled y;
    slots are bound at replay, as always.

    Args:
        device: a group gives each resource the device with its number; a single device runs all.

    Raises:
        MissingFileError: there is no such file.
        NotFoundError: the recording is for more devices than the group has.
        HipGraphError: not a capture file; code for another device; a dispatch beyond the device's limits.
    """
    from hipgraph_cb.capture.hgcb import load
    from hipgraph_cb.capture.session import bind, fill

    capture = load(path)
    recording = bind(capture.recording, device)
    fill(recording, capture.contents)
    return device.program(recording)


@contextmanager
def recorded(path: str | os.PathLike[str], *, label: str | None = None) -> Iterator[None]:
    """Record what the block does with HIP, whoever does it: hip-python, another library, this package.

    Launches, copies, fills and graphs become one recording, with the dependencies that streams, events, graphs and
    waits of the program give them, in a capture file. What memory holds when a command first uses it are the contents;
    what the block copies to the host is expected, in buffers named `read 1`, `read 2`, ..., and so is what memory holds
    at the end. Work that was enqueued before the block is waited for, and so is that of the block. When the block
    raises, the file has what was over.

    Args:
        path: the capture file.
        label: of the recording; None is the name of the file.

    Raises:
        UnimplementedError: this process sees real GPUs, or the block does what a recording cannot keep: each such
            thing is named.
        FailedPreconditionError: the block launches, copies and fills nothing, or is inside of another one.
        FileError: the file cannot be written.
    """
    from hipgraph_cb.journal.recorded import recorded_block
    from hipgraph_cb.virtual.install import VirtualRuntime

    file = file_path(path, "recorded")
    text(label)
    library = virtual_runtime("hip") if process_choice().is_virtual else None
    if not isinstance(library, VirtualRuntime):
        raise UnimplementedError(
            "recorded: this process sees real GPUs, whose work is not observed",
            next_step=f"set {VIRTUAL_VARIABLE}={DEFAULT_VIRTUAL_TARGET} before the process starts",
        )
    with recorded_block(library, file, label or file.name):
        yield


_lock = threading.Lock()
_choice: DeviceChoice | None = None
_runtimes: dict[str, VirtualLibrary] = {}
_variable_at_choice: str | None = None


def process_choice() -> DeviceChoice:
    """The process-wide choice of devices: made once, since hip-python can load one library only.

    Raises:
        FailedPreconditionError: `HIPGRAPH_CB_VIRTUAL` was changed after the choice.
    """
    global _choice, _variable_at_choice
    with _lock:
        variable = os.environ.get(VIRTUAL_VARIABLE)
        if _choice is None:
            _choice = choose_devices(variable, KFD_DEVICE, KFD_TOPOLOGY)
            _variable_at_choice = variable
        elif variable != _variable_at_choice:
            raise FailedPreconditionError(
                f"open_device: {VIRTUAL_VARIABLE} contradicts the devices this process already runs on",
                found=f"{VIRTUAL_VARIABLE}={variable!r}",
                allowed=f"{VIRTUAL_VARIABLE}={_variable_at_choice!r}, as it was at the first open_device",
                next_step="set the variable before the process starts, or use another process",
            )
        return _choice


def virtual_runtime(backend: str = "hip", settings: VirtualSettings | None = None) -> VirtualLibrary:
    """Install the virtual library of a backend on first use; later calls return the one that is there.

    Raises:
        FailedPreconditionError: it runs with other settings.
    """
    choice = process_choice()
    with _lock:
        for runtime in _runtimes.values():
            _check_settings(settings, runtime)
        if backend not in _runtimes:
            from hipgraph_cb.journal.process import observe_process
            from hipgraph_cb.virtual.install import VirtualRuntime, install, install_hsa
            from hipgraph_cb.virtual.settings import AFTER_FAULT

            make = install_hsa if backend == "hsa" else install
            is_first = not _runtimes
            requested = settings.resolve() if settings is not None and is_first else None
            _runtimes[backend] = make(choice.virtual_targets, requested)
            if is_first:
                logger.warning(
                    "no real AMD GPU is used (%s): kernels run on the CPU, as virtual GPU %s; %s",
                    choice.reason,
                    ", ".join(choice.virtual_targets),
                    AFTER_FAULT[_runtimes[backend].settings.after_fault],
                )
            _check_settings(settings, _runtimes[backend])
            library = _runtimes[backend]
            if isinstance(library, VirtualRuntime):
                observe_process(library)
        return _runtimes[backend]


def _check_settings(requested: VirtualSettings | None, runtime: VirtualLibrary) -> None:
    """The requested settings must be those of the process; a setting that is left out may have any value."""
    if requested is None:
        return
    resolved, runs_with = requested.resolve(), runtime.settings
    named = [name for name in requested.__dataclass_fields__ if getattr(requested, name) is not None]
    differing = [name for name in named if getattr(resolved, name) != getattr(runs_with, name)]
    if differing:
        raise FailedPreconditionError(
            "open_device: the virtual GPUs of this process run with other settings",
            found=", ".join(f"{name}={getattr(requested, name)!r}" for name in differing),
            allowed=", ".join(f"{name}={getattr(runs_with, name)!r}" for name in differing),
            next_step="give the settings to the first open_device of the process, or use another process",
        )


def choose_devices(variable: str | None, kfd_device: Path, kfd_topology: Path) -> DeviceChoice:
    """Decide between real and virtual GPUs from the variable's value and two places of the Linux kernel driver."""
    if variable is not None:
        return DeviceChoice(parse_targets(variable), f"{VIRTUAL_VARIABLE}={variable}")
    missing = _missing_gpu(kfd_device, kfd_topology)
    if missing is None:
        return DeviceChoice((), f"{kfd_device} is usable and {kfd_topology} lists a GPU")
    return DeviceChoice((DEFAULT_VIRTUAL_TARGET,), missing)


def parse_targets(variable: str) -> tuple[str, ...]:
    """The targets that the text of `HIPGRAPH_CB_VIRTUAL` names; `gfx942*4` is four of them.

    Raises:
        InvalidArgumentError: none, an empty one, or too many.
    """
    targets: list[str] = []
    for part in variable.split(","):
        name, _, times = map(str.strip, part.partition("*"))
        count = int(times) if times.isascii() and times.isdigit() and len(times) < 4 else 0 if "*" in part else 1
        targets.extend([name] * count)
        if not name or not count or len(targets) > MOST_DEVICES:
            raise InvalidArgumentError(
                f"{VIRTUAL_VARIABLE} names no target" if not name else f"{VIRTUAL_VARIABLE} cannot be understood",
                found=repr(variable),
                allowed=f"target names separated by commas, such as gfx942 or gfx942*4, up to {MOST_DEVICES}",
                next_step=f"unset {VIRTUAL_VARIABLE} to use a real GPU where there is one",
            )
    return tuple(targets)


def _missing_gpu(kfd_device: Path, kfd_topology: Path) -> str | None:
    """Why this machine has no usable AMD GPU, or None. A KFD node with SIMDs is a GPU."""
    if not kfd_device.exists():
        return f"{kfd_device} does not exist"
    if not os.access(kfd_device, os.R_OK | os.W_OK):
        return f"{kfd_device} may not be opened by this user"
    for properties in sorted(kfd_topology.glob("*/properties")):
        try:
            rows = dict(line.split(None, 1) for line in properties.read_text().splitlines() if " " in line)
        except OSError:  # a node of a device that this container was not given
            continue
        if rows.get("simd_count", "0").strip() not in ("", "0"):
            return None
    return f"{kfd_topology} lists no node with SIMDs"

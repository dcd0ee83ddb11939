"""Executables on a device, and their exports: the kernels that can be dispatched."""

from __future__ import annotations

import itertools
import math
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from hipgraph_cb.closest import did_you_mean, listed
from hipgraph_cb.errors import InvalidArgumentError, NotFoundError, OutOfRangeError, UnimplementedError
from hipgraph_cb.runtime.buffer import BufferView, byte_count
from hipgraph_cb.runtime.loaded_code import descriptor_of
from hipgraph_cb.runtime.resource import Resource

if TYPE_CHECKING:
    from hipgraph_cb.code_object.kernel_args import KernargLayout, Parameter
    from hipgraph_cb.code_object.metadata import RegisterUse
    from hipgraph_cb.code_object.target_id import TargetId
    from hipgraph_cb.code_object.verify import VerifiedExecutable, VerifiedExport
    from hipgraph_cb.runtime.buffer import Buffer
    from hipgraph_cb.runtime.device import Device
    from hipgraph_cb.runtime.launch import Launch
    from hipgraph_cb.runtime.loaded_code import CodeRange, DispatchDescriptor, KernelFacts


class Export:
    """One kernel of a loaded executable."""

    __slots__ = ("__weakref__", "executable", "name", "verified")

    def __init__(self, executable: Executable, verified: VerifiedExport) -> None:
        self.executable = executable
        self.verified = verified
        self.name: str = verified.name

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The visible arguments, in order; offsets and sizes in bytes."""
        return self.verified.parameters

    @property
    def layout(self) -> KernargLayout:
        """Where each argument is in the kernarg block; `layout.signature()` prints it."""
        return self.verified.layout

    @property
    def workgroup_size(self) -> tuple[int, int, int] | None:
        """The size that the code object requires, or None if the dispatch chooses."""
        return self.verified.required_workgroup_size

    @property
    def registers(self) -> RegisterUse:
        """The registers of one wave, and what was spilled; None for what the metadata does not state."""
        return self.verified.metadata.registers

    @property
    def lds_size(self) -> int:
        """Bytes of LDS of a workgroup, without what a dispatch adds."""
        return self.verified.group_segment_size

    @property
    def scratch_size(self) -> int:
        """Bytes of scratch memory of one lane."""
        return self.verified.private_segment_size

    @property
    def max_workgroup_size(self) -> int:
        """The most work-items that a workgroup of it may have."""
        return self.verified.max_flat_workgroup_size

    def occupancy(self, workgroup_size: int | Sequence[int] | None = None, dynamic_lds: int = 0) -> int:
        """How many workgroups of this kernel one compute unit holds at a time, as the runtime says.

        Args:
            workgroup_size, dynamic_lds: as for `CommandBuffer.dispatch`.

        Raises:
            InvalidArgumentError, OutOfRangeError: a size that the kernel does not take.
            UnimplementedError: the backend has no runtime that answers; the HIP backend has.
        """
        from hipgraph_cb.recording.workgroups import check_size
        from hipgraph_cb.recording.workgroups import workgroup_size as checked_size

        device = self.executable.device
        size = checked_size(self.verified, workgroup_size)
        check_size(self.verified, size, device.limits)
        return self.executable._occupancy(
            self.name, math.prod(size), byte_count(dynamic_lds, "occupancy", "dynamic_lds")
        )

    def dispatch_descriptor(self) -> DispatchDescriptor:
        """What every launch of this kernel on this device states.

        Raises:
            FailedPreconditionError: the executable is closed.
        """
        self.executable._check_open("dispatch_descriptor")
        return descriptor_of(self.verified, self.executable._facts(self.name))

    def __call__(
        self,
        workgroup_count: int | Sequence[int],
        workgroup_size: int | Sequence[int] | None = None,
        *args: Any,
        stream: Any = None,
        dynamic_lds: int = 0,
        label: str | None = None,
    ) -> Launch:
        """Launch the kernel now; see `Device.launch`."""
        device = self.executable.device
        return device.launch(
            self, workgroup_count, workgroup_size, args, stream=stream, dynamic_lds=dynamic_lds, label=label
        )

    def __repr__(self) -> str:
        return f"<kernel {self.name} of {self.executable.describe()}>"


_PROFILE_IDS = itertools.count(1)


class Executable(Resource):
    """A verified code object, loaded on a device: `executable[name]` is a kernel, iterating gives the names.

    Attributes:
        profile_id: a number by which tools can tell it from every other executable of this process, closed ones too.
    """

    kind = "executable"

    def __init__(self, device: Device, verified: VerifiedExecutable, label: str | None = None) -> None:
        self._device = device
        self._verified = verified
        self.label = label
        self.profile_id: int = next(_PROFILE_IDS)
        self._exports: WeakValueDictionary[str, Export] = WeakValueDictionary()  # they hold the executable

    @property
    def device(self) -> Device:
        """The device that it is loaded on."""
        return self._device

    @property
    def verified(self) -> VerifiedExecutable:
        """What verification found: exports, refused kernels, globals."""
        return self._verified

    @property
    def constants(self) -> Mapping[str, bytes]:
        """The values that its variables had when it was loaded, of those that were given one."""
        return self._verified.constants

    @property
    def target(self) -> TargetId:
        """What it was built for."""
        return self._verified.target

    def __getitem__(self, key: str | int) -> Export:
        """The kernel with this name, or with this ordinal among the names that iterating gives.

        Raises:
            NotFoundError: there is none, or verification refused this one (the reason is in the message).
            OutOfRangeError: an ordinal that no kernel has.
        """
        if isinstance(key, int) and not isinstance(key, bool):
            name = self._name_of(key)
        else:
            name = _checked_name("executable[...]", key)
        export = self._exports.get(name)
        if export is None:
            export = self._exports[name] = Export(self, self._find(name))
        return export

    def __iter__(self) -> Iterator[str]:
        return iter(self._verified.exports)

    def __len__(self) -> int:
        return len(self._verified.exports)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self._verified.exports

    def global_(self, name: str) -> BufferView:
        """The global variable called `name`, as a view of device memory that keeps the executable alive.

        Raises:
            NotFoundError: the code object has no such variable.
        """
        self._check_open("global_")
        buffer = self._global(_checked_name("global_", name))
        buffer.is_global = True
        return BufferView(buffer, 0, buffer.size)

    def _name_of(self, ordinal: int) -> str:
        names = tuple(self._verified.exports)
        if not 0 <= ordinal < len(names):
            raise OutOfRangeError(
                "executable[...]: no kernel has this ordinal",
                where=self.describe(),
                found=str(ordinal),
                allowed=f"0 to {len(names) - 1}" if names else "none: no kernel of this code object was accepted",
            )
        return names[ordinal]

    def _find(self, name: str) -> VerifiedExport:
        self._check_open("executable[...]")
        verified = self._verified.exports.get(name)
        if verified is not None:
            return verified
        reason = self._verified.refused.get(name)
        if reason is not None:
            raise NotFoundError(
                f"executable[...]: the kernel {name!r} was refused at load",
                where=self.describe(),
                found=str(reason),
                allowed=self._listed(),
            )
        raise NotFoundError(
            "executable[...]: no such kernel",
            where=self.describe(),
            found=f"{name!r}, which has a descriptor and no metadata"
            if name in self._verified.undescribed
            else repr(name),
            allowed=self._listed(),
            next_step=did_you_mean(name, self._verified.exports),
        )

    @property
    def code_ranges(self) -> tuple[CodeRange, ...]:
        """Where the loader put each code object of it in device memory.

        Raises:
            UnimplementedError: the backend has no call that says it; HSA has.
            HsaError: the loader extension is missing or refuses.
            FailedPreconditionError: it is closed.
        """
        self._check_open("code_ranges")
        raise UnimplementedError(
            f"code_ranges: the {self._device.backend} backend has no call that says where code is loaded",
            where=self.describe(),
            next_step="open the device with backend='hsa'",
        )

    @abstractmethod
    def _facts(self, export: str) -> KernelFacts: ...

    def _occupancy(self, export: str, workgroup_size: int, dynamic_lds: int) -> int:
        raise UnimplementedError(
            f"occupancy: the {self._device.backend} backend has no runtime that answers",
            where=f"kernel {export} of {self.describe()}",
            next_step="open the device with backend='hip'",
        )

    def _listed(self) -> str:
        return listed(self._verified.exports) or "nothing: no kernel of this code object was accepted"

    @abstractmethod
    def _global(self, name: str) -> Buffer: ...

    def _no_variable(self, name: str) -> NotFoundError:
        """The error for a global variable that the code object does not have."""
        return NotFoundError(
            "global_: no such variable",
            where=self.describe(),
            found=repr(name),
            allowed=listed(self._verified.globals) or "nothing: the code object has no global variables",
            next_step=did_you_mean(name, self._verified.globals),
        )

    def __repr__(self) -> str:
        return f"<{self.describe()} with {len(self)} kernels on {self._device.name}>"


def _checked_name(action: str, name: object) -> str:
    """The name. Refuses what is not text, and text that cannot be a name in an ELF file."""
    if not isinstance(name, str):
        raise InvalidArgumentError(f"{action}: not a name", found=type(name).__name__, allowed="a str")
    if "\0" in name or (not name.isprintable() and any("\ud800" <= each <= "\udfff" for each in name)):
        raise NotFoundError(
            f"{action}: nothing has such a name", found=ascii(name), allowed="text without NUL, in UTF-8"
        )
    return name

"""Bytes become a `VerifiedExecutable`, or an error that says what is wrong and where.

`verify` checks that a code object is sound and runs on a target; `inspect` checks only the first.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from hipgraph_cb.abi import elf
from hipgraph_cb.abi.kernel_descriptor import DESCRIPTOR_SIZE, KernelDescriptor
from hipgraph_cb.cached import cached_property
from hipgraph_cb.closest import did_you_mean, listed
from hipgraph_cb.code_object.agreement import check_agreement, with_whole_kernarg
from hipgraph_cb.code_object.ambiguous import refuse_ambiguous
from hipgraph_cb.code_object.code_object import CodeObject
from hipgraph_cb.code_object.container import Container, is_raw_code_object, read_container
from hipgraph_cb.code_object.debug_info.debug_info import DebugInfo
from hipgraph_cb.code_object.debug_signature import with_debug_info
from hipgraph_cb.code_object.kernel_args import KernargLayout, Parameter
from hipgraph_cb.code_object.limits import DeviceLimits, limits_of
from hipgraph_cb.code_object.metadata import KernelMetadata
from hipgraph_cb.code_object.metadata_notes import read_notes
from hipgraph_cb.code_object.preflight import check_limits
from hipgraph_cb.code_object.selection import Choice, choose_from
from hipgraph_cb.code_object.symbols import Symbol
from hipgraph_cb.code_object.target_id import TargetId, describe_mismatch, incompatibilities
from hipgraph_cb.code_object.wrapped_exports import apply_wrapper
from hipgraph_cb.code_object.wrapper import SourceFile, WrappedExport, Wrapper, read_wrapper, wrapper_size
from hipgraph_cb.errors import (
    HipGraphError,
    IncompatibleError,
    InvalidArgumentError,
    NotFoundError,
)

OLDEST_VERSION, NEWEST_VERSION = 4, 6
_ENTRY_ALIGNMENT = 256
_FIRST_WITH_WAVE32 = (10,)

# `amdgcn-amd-amdhsa--gfx942`, or `amdgpu9.42-amd-amdhsa-unknown-gfx942` from newer compilers.
_STATED_TARGET = re.compile(r"[^-]+-amd-amdhsa-[^-]*-(gfx.+)")


@dataclass(frozen=True)
class VerifiedExport:
    """One kernel that may be dispatched. Sizes in bytes.

    Attributes:
        stated_layout: the kernarg block as the metadata states it, which is enough for a launch.
        entry: the address of its first instruction, in the file.
        disagreements: sizes that the metadata and the kernel descriptor state differently; a launch gets the larger.
        wrapped: what the AMD1 or HIP1 wrapper says about it, where there is one.
        module: which of the executable's `modules` has it.
    """

    metadata: KernelMetadata
    descriptor: KernelDescriptor
    stated_layout: KernargLayout
    max_flat_workgroup_size: int
    entry: int
    debug_info: DebugInfo = field(repr=False, compare=False)
    disagreements: tuple[str, ...] = ()
    wrapped: WrappedExport | None = None
    module: int = 0

    @property
    def name(self) -> str:
        """What `executable[name]` takes."""
        return self.metadata.name

    @property
    def symbol(self) -> str:
        """The name of the kernel descriptor in the symbol table."""
        return self.metadata.symbol

    @cached_property
    def layout(self) -> KernargLayout:
        """The kernarg block, with the names and types of parameters that debug information has and the metadata does
        not. It is read now."""
        return with_debug_info(self.stated_layout, self.debug_info.parameters(self.entry))

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The visible arguments, in order."""
        return self.layout.parameters

    @property
    def required_workgroup_size(self) -> tuple[int, int, int] | None:
        """Work-items in x, y, z, or None if the dispatch chooses."""
        return self.metadata.required_workgroup_size

    @property
    def has_dynamic_workgroup_size(self) -> bool:
        """Whether each dispatch must say its workgroup size; else it is the required one."""
        return self.required_workgroup_size is None

    @property
    def group_segment_size(self) -> int:
        """Bytes of LDS that the kernel states; a dispatch may add to them."""
        return max(self.metadata.group_segment_fixed_size, self.descriptor.group_segment_fixed_size)

    @property
    def private_segment_size(self) -> int:
        """Bytes of scratch memory of a lane."""
        return max(self.metadata.private_segment_fixed_size, self.descriptor.private_segment_fixed_size)

    @property
    def kernarg_size(self) -> int:
        """Bytes of the kernarg block, hidden arguments included."""
        return self.stated_layout.size

    @property
    def kernarg_alignment(self) -> int:
        """Bytes."""
        return self.stated_layout.alignment

    @property
    def wavefront_size(self) -> int:
        """Lanes: 32 or 64."""
        return self.descriptor.wavefront_size


@dataclass(frozen=True, eq=False, repr=False)
class VerifiedExecutable:
    """A code object that was found sound, or those of a wrapper. Two are equal when their bytes and constants are.

    Attributes:
        code_object: the first, and nearly always the only one.
        exports: the usable kernels by name, in file order.
        refused: kernels that are not usable, each with the reason (E5).
        described: the descriptor symbol of every kernel that the metadata names.
        container: what the code object was taken from; None when the file was a code object itself.
        wrapper: the bytes of the AMD1 or HIP1 wrapper, which belongs to what the executable is.
        others: the code objects of the wrapper's other modules.
        states_target: whether the metadata names a target; under a wrapper it need not.
        constants: the bytes that variables get when it is loaded, by name; see `constants.with_constants`.
    """

    code_object: CodeObject
    exports: Mapping[str, VerifiedExport]
    refused: Mapping[str, HipGraphError] = field(default_factory=dict)
    described: Mapping[str, str] = field(default_factory=dict)
    container: Container | None = None
    wrapper: bytes | None = None
    others: tuple[CodeObject, ...] = ()
    states_target: bool = True
    constants: Mapping[str, bytes] = field(default_factory=dict)

    @property
    def data(self) -> bytes:
        """The ELF file, without its container."""
        return self.code_object.data

    @property
    def source(self) -> bytes:
        """What makes the same executable when it is verified again: the ELF file, or its wrapper."""
        return self.data if self.wrapper is None else self.wrapper

    @property
    def modules(self) -> tuple[CodeObject, ...]:
        """All code objects; `VerifiedExport.module` counts them."""
        return (self.code_object, *self.others)

    @cached_property
    def origins(self) -> Mapping[str, str]:
        """Where in the source each kernel comes from, by name, as far as the wrapper says it."""
        origins = {name: export.stated_layout.origin for name, export in self.exports.items()}
        return {name: origin for name, origin in origins.items() if origin is not None}

    @cached_property
    def source_files(self) -> tuple[SourceFile, ...]:
        """The source files in the wrapper."""
        return () if self.wrapper is None else read_wrapper(self.wrapper).source_files

    @property
    def target(self) -> TargetId:
        """What it was built for, from the ELF flags."""
        return self.code_object.target

    @property
    def code_object_version(self) -> int:
        """4, 5 or 6."""
        return self.code_object.code_object_version

    @cached_property
    def source_hash(self) -> str:
        """SHA-256 of `source`, in hexadecimal."""
        return hashlib.sha256(self.source).hexdigest()

    @cached_property
    def content_hash(self) -> str:
        """What makes it this executable: `source_hash`, or a SHA-256 of that and the constants where there are any."""
        if not self.constants:
            return self.source_hash
        pairs = (f"{len(name)}:{name}={value.hex()};" for name, value in sorted(self.constants.items()))
        return hashlib.sha256("".join([self.source_hash, *pairs]).encode("utf-8", "surrogatepass")).hexdigest()

    @cached_property
    def undefined(self) -> tuple[str, ...]:
        """The symbols that it leaves undefined; each needs a constant."""
        return tuple(sorted({name for module in self.modules for name in module.undefined}))

    @cached_property
    def globals(self) -> Mapping[str, Symbol]:
        """Global variables: object symbols that are not kernel descriptors, with address and size. The first module
        that has the name counts."""
        found = {
            name: symbol
            for module in reversed(self.modules)
            for name, symbol in module.symbols.items()
            if symbol.kind == elf.STT_OBJECT and not name.endswith(".kd")
        }
        return MappingProxyType(found)

    @cached_property
    def undescribed(self) -> tuple[str, ...]:
        """Kernels that have a descriptor (a symbol ending in `.kd`) and no metadata, by name: they cannot be launched,
        since nothing says what their arguments are."""
        described = set(self.described.values())
        symbols = {name for module in self.modules for name in module.symbols}
        names = [name for name in symbols if name.endswith(".kd") and name not in described]
        return tuple(sorted(name.removesuffix(".kd") for name in names))

    def export(self, name: str) -> VerifiedExport:
        """The usable kernel `name`.

        Raises:
            NotFoundError: there is none of that name.
            HipGraphError: it was refused; the reason is raised as it is.
        """
        export = self.exports.get(name)
        if export is None:
            raise self._no_export(name)
        return export

    def descriptor_symbol(self, name: str) -> str:
        """The symbol of the descriptor of the kernel `name`, usable or not.

        Raises:
            The errors of `export`, where there is no descriptor.
        """
        symbol = self.described.get(name, f"{name}.kd")
        if not any(symbol in module.symbols for module in self.modules):
            raise self._no_export(name)
        return symbol

    def module_of(self, name: str) -> CodeObject:
        """The code object with the kernel `name`, usable or not. Raises as `descriptor_symbol`."""
        symbol = self.descriptor_symbol(name)
        export = self.exports.get(name)
        if export is not None:
            return self.modules[export.module]
        return next(module for module in self.modules if symbol in module.symbols)

    def _no_export(self, name: str) -> HipGraphError:
        if name in self.refused:
            return self.refused[name]
        return NotFoundError(
            f"the code object has no kernel {name!r}",
            found=f"{name!r}, which has a descriptor and no metadata" if name in self.undescribed else repr(name),
            allowed=listed(self.exports) or "no kernels at all",
            next_step=did_you_mean(name, self.exports),
        )

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, VerifiedExecutable) and self.source == other.source and self.constants == other.constants
        )

    def __hash__(self) -> int:
        return hash(self.source)

    def __repr__(self) -> str:
        refused = f", {len(self.refused)} refused" if self.refused else ""
        facts = f"{self.target}, v{self.code_object_version}"
        return f"<verified code object for {facts}: {len(self.exports)} kernels{refused}>"


def inspect(data: bytes | bytearray | memoryview) -> VerifiedExecutable:
    """Check `data` by itself, for no device: structures, metadata, and whether both agree.

    `data` is a code object, or a wrapper, bundle or fat binary with one in it; `container` says which.

    Raises:
        InvalidArgumentError, OutOfRangeError, NotFoundError: the code object or its container is not sound, or there
            are several code objects to choose from.
        IncompatibleError: a code object version that this package does not read.
        UnimplementedError: a compression that cannot be undone here.
    """
    return _inspect_best(_as_bytes(data), None)


def _inspect_best(data: bytes, agent: TargetId | None) -> VerifiedExecutable:
    """Inspect the code object in `data` that suits `agent`."""
    if is_raw_code_object(data):
        return _inspect_code_object(data)
    container = read_container(data)
    if container.wrapper is not None:
        return _inspect_wrapper(data, container, container.wrapper, agent)
    return replace(_inspect_chosen(choose_from(container, agent)), container=container)


def _inspect_chosen(choice: Choice) -> VerifiedExecutable:
    try:
        return _inspect_code_object(bytes(choice.entry.data))
    except HipGraphError as error:
        raise error.located(choice.entry.path) from None


def _inspect_wrapper(data: bytes, container: Container, wrapper: Wrapper, agent: TargetId | None) -> VerifiedExecutable:
    """The kernels that a wrapper lists, of the code objects in its modules."""
    modules = [_inspect_chosen(choose_from(module, agent)) for module in container.modules]
    size = wrapper_size(data[:64])
    exports, refused = apply_wrapper(modules, wrapper, size)
    first, *others = (module.code_object for module in modules)
    return VerifiedExecutable(
        first,
        MappingProxyType(exports),
        MappingProxyType(refused),
        MappingProxyType({name: symbol for module in reversed(modules) for name, symbol in module.described.items()}),
        container,
        bytes(data[:size]),
        tuple(others),
    )


def _inspect_code_object(data: bytes) -> VerifiedExecutable:
    code_object = CodeObject(data)
    if not OLDEST_VERSION <= code_object.code_object_version <= NEWEST_VERSION:
        raise IncompatibleError(
            "the code object version is not supported",
            where="file offset 8 (EI_ABIVERSION)",
            found=f"code object v{code_object.code_object_version}",
            allowed=f"v{OLDEST_VERSION} to v{NEWEST_VERSION}",
            next_step="compile with -mcode-object-version=5",
        )
    metadata = read_notes(code_object.metadata_notes)
    for text in metadata.targets:
        _check_stated_target(text, code_object.target)
    kernels, refused = refuse_ambiguous(metadata.kernels, metadata.refused)
    exports: dict[str, VerifiedExport] = {}
    for kernel in kernels:
        try:
            exports[kernel.name] = _verify_kernel(code_object, kernel)
        except HipGraphError as error:
            refused[kernel.name] = error.located(f"kernel {kernel.name}")
    return VerifiedExecutable(
        code_object,
        MappingProxyType(exports),
        MappingProxyType(refused),
        metadata.symbols,
        states_target=any(metadata.targets),
    )


def verify(
    data: bytes | bytearray | memoryview, target: TargetId | str | None = None, limits: DeviceLimits | None = None
) -> VerifiedExecutable:
    """Check `data` for a device: sound, built for `target`, and every kernel within `limits`.

    Without `target` the code object's own is taken; without `limits` the table of `limits.limits_of`.

    Raises:
        IncompatibleError: built for another target; every reason is named.
        InvalidArgumentError: the metadata names no target, and there is no wrapper.
        The errors of `inspect`.
    """
    executable = verify_as_loader(data, target, limits)
    if not executable.states_target:
        raise InvalidArgumentError(
            "the metadata names no target",
            where="amdhsa.target",
            found="nothing",
            allowed=f"amdgcn-amd-amdhsa--{executable.target}, as the ELF flags say",
            next_step="add the line to .amdgpu_metadata; compilers write it",
        )
    return executable


def verify_as_loader(
    data: bytes | bytearray | memoryview, target: TargetId | str | None = None, limits: DeviceLimits | None = None
) -> VerifiedExecutable:
    """As `verify`, for what AMD's loader takes: it never looks at the target that the metadata names."""
    stated = TargetId.parse(target) if isinstance(target, str) else target
    executable = _inspect_best(_as_bytes(data), stated)
    agent = stated or executable.target
    for module in executable.modules:
        _check_device(module.target, agent)
    checked_limits = limits or limits_of(agent)
    exports: dict[str, VerifiedExport] = {}
    refused = dict(executable.refused)
    for name, export in executable.exports.items():
        try:
            check_limits(export, checked_limits)
            exports[name] = export
        except HipGraphError as error:
            refused[name] = error.located(f"kernel {name}")
    return replace(executable, exports=MappingProxyType(exports), refused=MappingProxyType(refused))


def _check_device(target: TargetId, agent: TargetId) -> None:
    reasons = incompatibilities(target, agent)
    if reasons:
        raise IncompatibleError(
            "the code object was built for another device",
            found=describe_mismatch(target, reasons),
            allowed=f"code that runs on {agent}",
            next_step=f"compile with -mcpu={agent}",
        )


def _as_bytes(data: object) -> bytes:
    if isinstance(data, (bytes, bytearray, memoryview)):
        return bytes(data)
    raise InvalidArgumentError(
        "a code object is given as bytes", found=type(data).__name__, allowed="bytes, bytearray or memoryview"
    )


def _check_stated_target(text: str, target: TargetId) -> None:
    """The note's `amdhsa.target` agrees with the ELF flags, wherever it ends in a target ID that can be read (E2)."""
    match = _STATED_TARGET.fullmatch(text)
    if match is None or match[1] == str(target):
        return
    try:
        stated = TargetId.parse(match[1])
    except InvalidArgumentError:
        return
    if str(stated) != str(target):
        raise InvalidArgumentError(
            "the metadata and the ELF header name different targets",
            where="amdhsa.target",
            found=f"{text!r} in the note, {target} in e_flags",
            allowed="the same target",
            next_step="the file was edited or linked from parts of two builds; build it again",
        )


def _verify_kernel(code_object: CodeObject, kernel: KernelMetadata) -> VerifiedExport:
    symbol = code_object.find_symbol(kernel.symbol)
    if symbol is None:
        raise NotFoundError(
            "the kernel's descriptor symbol does not exist",
            found=f"no symbol {kernel.symbol!r}",
            allowed="the symbol that the metadata names in .symbol",
        )
    offset = code_object.file_offset(symbol.value, DESCRIPTOR_SIZE, f"the kernel descriptor {kernel.symbol}")
    descriptor = KernelDescriptor.from_bytes(code_object.data, offset)
    disagreements = check_agreement(kernel, descriptor, offset)
    if descriptor.wavefront_size == 32 and code_object.target.version < _FIRST_WITH_WAVE32:
        raise InvalidArgumentError(
            "the kernel's wavefront size does not exist on its target",
            found=f"32 on {code_object.target.processor}",
            allowed="64",
        )
    entry = symbol.value + descriptor.kernel_code_entry_byte_offset
    segment = code_object.segment_of(entry)
    if segment is None or not segment.flags & elf.PF_X:
        raise InvalidArgumentError(
            "the kernel's entry is not in executable code",
            where=f"file offset {offset + 16} (kernel_code_entry_byte_offset)",
            found=f"address {entry:#x}",
            allowed="an address in an executable PT_LOAD segment",
        )
    if entry % _ENTRY_ALIGNMENT:
        raise InvalidArgumentError(
            "the kernel's entry is not aligned",
            where=f"file offset {offset + 16} (kernel_code_entry_byte_offset)",
            found=f"address {entry:#x}",
            allowed=f"a multiple of {_ENTRY_ALIGNMENT}",
        )
    return VerifiedExport(
        kernel,
        descriptor,
        KernargLayout.from_metadata(with_whole_kernarg(kernel, descriptor, offset)),
        kernel.max_flat_workgroup_size or 1024,
        entry,
        code_object.debug_info,
        disagreements,
    )

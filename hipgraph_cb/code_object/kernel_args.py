"""The offset of each argument in the kernarg block, and how values become its bytes.

Offsets come from the metadata alone (E3): explicit arguments may have any size, order and padding, and nothing is ever
written past the kernarg size.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import islice
from typing import Any, NamedTuple

from hipgraph_cb.abi.c_types import may_point_to, numpy_type
from hipgraph_cb.cached import cached_property
from hipgraph_cb.code_object.data_types import Structure
from hipgraph_cb.code_object.metadata import ArgumentMetadata, KernelMetadata
from hipgraph_cb.code_object.packing import NOT_POINTERS, Packer, block_size, has_elements
from hipgraph_cb.code_object.packing import packer as packer_for
from hipgraph_cb.code_object.scalars import (
    Encoder,
    ScalarError,
    encoder,
    has_size,
    is_float,
    is_host_value,
    named_value_type,
)
from hipgraph_cb.code_object.structures import value_encoder
from hipgraph_cb.code_object.wrapper import flag_names
from hipgraph_cb.errors import InvalidArgumentError


class ParameterKind(Enum):
    """What a visible argument is to its caller."""

    POINTER = "pointer"
    VALUE = "value"
    DYNAMIC_LDS = "dynamic LDS pointer"


POINTER_SIZE = 8
WORD = 4
_KINDS = {
    "global_buffer": ParameterKind.POINTER,
    "by_value": ParameterKind.VALUE,
    "dynamic_shared_pointer": ParameterKind.DYNAMIC_LDS,
}

MOST_SHOWN_FIELDS = 64
"""Of one structure, in a signature."""
MOST_PACKERS = 256
"""Combinations of argument types that one layout remembers."""


@dataclass(frozen=True)
class Parameter:
    """One visible argument. `offset` and `size` in bytes of the kernarg block; `access` as the metadata or a wrapper
    states it; `structure` has the fields of one that is given by value, where debug information tells them; `flags` is
    the wrapper's `BindingFlag`.
    """

    index: int
    name: str | None
    offset: int
    size: int
    kind: ParameterKind
    value_kind: str
    type_name: str | None = None
    access: str | None = None
    is_const: bool = False
    structure: Structure | None = None
    flags: int = 0

    @property
    def label(self) -> str:
        """`n: uint`, `arg2: float*`, or `arg3: untyped 4 bytes` where the metadata has neither name nor type."""
        name = self.name or f"arg{self.index}"
        if self.type_name:
            return f"{name}: {self.type_name}"
        return f"{name}: pointer" if self.kind is ParameterKind.POINTER else f"{name}: untyped {self.size} bytes"

    @property
    def may_be_pointer(self) -> bool:
        """Whether device memory may be given for it. Some libraries pass addresses by value, as 64-bit numbers."""
        if self.kind is ParameterKind.VALUE:
            return self.size == POINTER_SIZE and not is_float(self.size, self.type_name) and self._has_place_for_address
        return self.kind is ParameterKind.POINTER

    @property
    def _has_place_for_address(self) -> bool:
        """Whether it is no structure, or one of a single field that could be an address."""
        leaves = [] if self.structure is None else list(self.structure.leaves())
        return all(type_.size == POINTER_SIZE and not is_float(type_.size, type_.name) for _, _, type_ in leaves)

    @property
    def pointee(self) -> str | None:
        """The type of what a pointer points to, as the metadata names the pointer; None for an address by value."""
        return self.type_name if self.kind is ParameterKind.POINTER else None


class HiddenArgument(NamedTuple):
    """An argument that the launcher fills. `kind` is the metadata's `.value_kind`."""

    kind: str
    offset: int
    size: int


class PackedArguments(NamedTuple):
    """The kernarg block with every scalar in place and zeros elsewhere; `pointers`: what belongs at which offset."""

    block: bytes
    pointers: tuple[tuple[int, object], ...]


@dataclass(frozen=True)
class KernargLayout:
    """The kernarg block of one kernel: `size` and `alignment` in bytes.

    Attributes:
        parameters: what a caller gives.
        native_offsets: where the arguments of the kernel's own signature are, if those are not the parameters, as under
            a wrapper.
        origin: the place in the source, where a wrapper says it.
    """

    kernel: str
    parameters: tuple[Parameter, ...]
    hidden: tuple[HiddenArgument, ...]
    size: int
    alignment: int
    native_offsets: tuple[int, ...] | None = None
    origin: str | None = None

    @staticmethod
    def from_metadata(kernel: KernelMetadata) -> KernargLayout:
        """The layout that the metadata states.

        Raises:
            InvalidArgumentError: an argument that no launch can fill: a pointer that is not 8 bytes wide, or an image,
                a sampler, a pipe, a queue or an unknown kind.
        """
        parameters: list[Parameter] = []
        hidden: list[HiddenArgument] = []
        for argument in kernel.arguments:
            if not argument.is_hidden:
                parameters.append(_parameter(len(parameters), argument))
            elif argument.value_kind != "hidden_none":
                hidden.append(HiddenArgument(argument.value_kind, argument.offset, argument.size))
        return KernargLayout(
            kernel.name,
            tuple(parameters),
            tuple(hidden),
            kernel.kernarg_segment_size,
            kernel.kernarg_segment_align,
        )

    @cached_property
    def binding_count(self) -> int:
        """How many bindings the HAL convention takes: one for each pointer."""
        return sum(parameter.kind is ParameterKind.POINTER for parameter in self.parameters)

    @cached_property
    def constant_count(self) -> int:
        """How many 32-bit constants the HAL convention takes; a value that is no whole number of words counts as
        one, and then the convention does not fit."""
        return sum(-(-row.size // WORD) for row in self.parameters if row.kind is ParameterKind.VALUE)

    def signature(self) -> str:
        """The kernel's parameters, one to a line, with offset, size and kind; the fields of structures below them."""
        rows = []
        for parameter in self.parameters:
            place = f"{parameter.size} bytes at offset {parameter.offset}"
            flags = "".join(f", {flag}" for flag in flag_names(parameter.flags))
            rows.append(f"  {parameter.label} ({parameter.kind.value}, {place}{flags})")
            rows += _field_rows(parameter)
        kernel = self.kernel if self.origin is None else f"{self.kernel} ({self.origin})"
        return "\n".join([f"signature of {kernel}:", *(rows or ["  no arguments"])])

    def takes_the_same(self, other: KernargLayout) -> bool:
        """Whether another kernel can be given the same block of arguments, as far as the types of both are known."""
        rows, others = self.parameters, other.parameters
        return len(rows) == len(others) and all(map(_is_same, rows, others))

    def pack(self, values: Sequence[object]) -> PackedArguments:
        """Lay out one value for each parameter, in order.

        A value for a pointer is returned in `pointers` as it is, for the caller to resolve, and so is
        device memory that is given for a 64-bit value; None and 0 are null pointers and appear in no list. Everything
        else is written by the rules of `scalars.encoder`.

        Raises:
            InvalidArgumentError: wrong count, size or type; the signature and what was given are part of the message.
        """
        writers = self._writers
        if len(values) != len(writers):
            raise self._wrong_count(values)
        block = bytearray(self.size)
        pointers: list[tuple[int, object]] = []
        for value, (offset, end, encode) in zip(values, writers):  # noqa: B905  # the lengths were compared
            if encode is not None:
                try:
                    block[offset:end] = encode(value)
                except ScalarError as error:
                    if offset not in self.addresses_by_value or is_host_value(value):
                        raise self._wrong_value(values, offset, error.found, error.allowed) from None
                    pointers.append((offset, value))
            elif value is None or (type(value) is int and value == 0):
                continue
            elif type(value) in NOT_POINTERS:
                found = f"{type(value).__name__} {_shown(value)}"
                raise self._wrong_value(values, offset, found, "a buffer, a view, a slot, or None for null")
            else:
                self._check_elements(values, offset, value)
                pointers.append((offset, value))
        return PackedArguments(bytes(block), tuple(pointers))

    def pack_hal(self, bindings: Sequence[object], constants: Sequence[int]) -> PackedArguments:
        """The HAL convention on the kernel's own layout: pointers take the bindings in order, by-value arguments the
        32-bit constants in order.

        Raises:
            InvalidArgumentError: wrong number of either, a constant outside 32 bits, or a by-value argument that is not
                a whole number of 32-bit words.
        """
        words = _listed_words(self.kernel, constants)
        ragged = next((row for row in self.parameters if row.kind is ParameterKind.VALUE and row.size % WORD), None)
        if ragged is not None:
            raise InvalidArgumentError(
                f"{self.kernel}: a by-value argument is not made of 32-bit constants",
                found=f"{ragged.size} bytes for {ragged.label}",
                allowed="a multiple of 4 bytes",
                next_step="use args=",
                detail=self.signature(),
            )
        if len(bindings) != self.binding_count or len(words) != self.constant_count:
            raise InvalidArgumentError(
                f"{self.kernel}: bindings and constants do not fit the kernel",
                found=f"{len(bindings)} bindings, {len(words)} constants",
                allowed=f"{self.binding_count} bindings, {self.constant_count} constants of 32 bits",
                next_step="give one binding for each pointer and the by-value arguments as 32-bit words, or use args=",
                detail=self.signature(),
            )
        given, blob, position = iter(bindings), _words(self.kernel, words), 0
        values: list[object] = []
        for parameter in self.parameters:
            if parameter.kind is ParameterKind.VALUE:
                word, end = words[position // WORD], position + parameter.size
                # A float is converted by the type that the parameter states, like any other argument.
                values.append(word if isinstance(word, float) and parameter.size == WORD else blob[position:end])
                position = end
            else:
                values.append(next(given) if parameter.kind is ParameterKind.POINTER else None)
        return self.pack(values)

    @cached_property
    def block_size(self) -> int:
        """Bytes of a block that a packer makes: all arguments, in whole 64-bit words."""
        return block_size(self.parameters)

    @cached_property
    def offsets(self) -> tuple[int, ...]:
        """Where each argument of the kernel's own signature is."""
        own = self.native_offsets
        return tuple(parameter.offset for parameter in self.parameters) if own is None else own

    @cached_property
    def addresses_by_value(self) -> frozenset[int]:
        """The offsets of the by-value arguments that device memory may be given for."""
        rows = [row for row in self.parameters if row.kind is not ParameterKind.POINTER and row.may_be_pointer]
        return frozenset(row.offset for row in rows)

    def pointer_offsets(self, by_value: Collection[int] = ()) -> tuple[int, ...]:
        """The offsets of pointers, and of addresses that are given by value at these offsets."""
        rows = (row for row in self.parameters if row.kind is ParameterKind.POINTER or row.offset in by_value)
        return tuple(row.offset for row in rows)

    def label_at(self, offset: int) -> str:
        """The label of the parameter with the byte at an offset; the offset itself between parameters."""
        rows = (row.label for row in self.parameters if row.offset <= offset < row.offset + row.size)
        return next(rows, f"at byte {offset}")

    @cached_property
    def packers(self) -> dict[tuple[type, ...], tuple[Packer, tuple[int, ...]]]:
        """Those that were made, by the types of the arguments, each with the offsets of its addresses by value."""
        return {}

    def packer(self, types: tuple[type, ...], by_value: tuple[int, ...] = ()) -> tuple[Packer, tuple[int, ...]] | None:
        """What packs arguments of these types; None where each has to be looked at, or there are too many or few.

        Args:
            by_value: the offsets of by-value arguments that are given device memory.
        """
        if len(types) != len(self.parameters):
            return None
        encoders = [None if offset in by_value else encode for offset, _, encode in self._writers]
        packer = packer_for(self.parameters, encoders, types)
        if packer is None:
            return None
        if len(self.packers) < MOST_PACKERS:
            self.packers[types] = packer, by_value
        return packer, by_value

    @cached_property
    def _writers(self) -> tuple[tuple[int, int, Encoder | None], ...]:
        return tuple(
            (
                parameter.offset,
                parameter.offset + parameter.size,
                None if parameter.kind is ParameterKind.POINTER else _encoder(self, parameter),
            )
            for parameter in self.parameters
        )

    def _check_elements(self, values: Sequence[object], offset: int, value: Any) -> None:
        """Device memory that has an element type must have that of the parameter, where both are known."""
        if not has_elements(type(value)):
            return
        pointer = next(parameter.pointee for parameter in self.parameters if parameter.offset == offset)
        if not may_point_to(pointer, value.dtype.kind, value.dtype.itemsize):
            raise self._wrong_value(
                values,
                offset,
                f"an array of {value.dtype.name}",
                f"{numpy_type(pointer)} elements; .view({numpy_type(pointer)!r}) takes the bytes as such",
            )

    def _wrong_count(self, values: Sequence[object]) -> InvalidArgumentError:
        given, wanted = len(values), len(self.parameters)
        kind = "few" if given < wanted else "many"
        return InvalidArgumentError(
            f"{self.kernel}: too {kind} arguments",
            found=f"{given} arguments ({_listed(values)})",
            allowed=f"{wanted} arguments",
            next_step="pass one value for each parameter, in this order",
            detail=self.signature(),
        )

    def _wrong_value(self, values: Sequence[object], offset: int, found: str, allowed: str) -> InvalidArgumentError:
        parameter = next(parameter for parameter in self.parameters if parameter.offset == offset)
        return InvalidArgumentError(
            f"{self.kernel}: argument {parameter.index} ({parameter.label}) does not fit",
            found=f"{found} (given: {_listed(values)})",
            allowed=allowed,
            next_step="pass a value of the parameter's type",
            detail=self.signature(),
        )


def _parameter(index: int, argument: ArgumentMetadata) -> Parameter:
    kind = _KINDS.get(argument.value_kind)
    if kind is None:
        raise InvalidArgumentError(
            "the kernel has an argument of a kind that cannot be passed",
            where=f"argument {index} ({argument.name or 'unnamed'})",
            found=f".value_kind {argument.value_kind}",
            allowed=", ".join(_KINDS),
        )
    if kind is ParameterKind.POINTER and argument.size != POINTER_SIZE:
        raise InvalidArgumentError(
            "the kernel has a pointer of the wrong size",
            where=f"argument {index} ({argument.name or 'unnamed'})",
            found=f"{argument.size} bytes",
            allowed=f"{POINTER_SIZE} bytes",
        )
    return Parameter(
        index,
        argument.name or None,
        argument.offset,
        argument.size,
        kind,
        argument.value_kind,
        argument.type_name or _by_value_type(kind, argument),
        argument.access if kind is ParameterKind.POINTER else None,
        argument.is_const and kind is ParameterKind.POINTER,
    )


def _by_value_type(kind: ParameterKind, argument: ArgumentMetadata) -> str | None:
    """The type name that `.value_type` means: of the value, or of what the pointer points to."""
    name = named_value_type(argument.value_type)
    if name is None or (kind is ParameterKind.VALUE and not has_size(argument.size, name)):
        return None
    return f"{name}*" if kind is ParameterKind.POINTER else name


def _is_same(one: Parameter, other: Parameter) -> bool:
    if (one.offset, one.size, one.kind) != (other.offset, other.size, other.kind):
        return False
    first, second = one.type_name, other.type_name
    return not first or not second or first == second or numpy_type(first) == numpy_type(second) is not None


def _field_rows(parameter: Parameter) -> list[str]:
    leaves = () if parameter.structure is None else parameter.structure.leaves()
    rows = [
        f"    .{path}: {type_.name} at offset {offset}" for path, offset, type_ in islice(leaves, MOST_SHOWN_FIELDS + 1)
    ]
    return rows if len(rows) <= MOST_SHOWN_FIELDS else [*rows[:-1], "    and more"]


def _encoder(layout: KernargLayout, parameter: Parameter) -> Encoder:
    if parameter.structure is not None:
        return value_encoder(parameter.structure)
    if parameter.kind is ParameterKind.DYNAMIC_LDS:
        return _dynamic_lds_offset(parameter.size)
    return encoder(parameter.size, parameter.type_name)


def _dynamic_lds_offset(size: int) -> Encoder:
    """A pointer into dynamic LDS is an offset behind the fixed LDS; None is its start, offset 0 of the dynamic part."""
    as_integer = encoder(size, None)
    return lambda value: as_integer(0 if value is None else value)


def _listed_words(kernel: str, constants: Iterable[Any]) -> list[Any]:
    try:
        return list(constants)
    except TypeError:
        raise InvalidArgumentError(
            f"{kernel}: constants are not a list", found=type(constants).__name__, allowed="a list of 32-bit words"
        ) from None


def _words(kernel: str, constants: Sequence[int]) -> bytes:
    as_word = encoder(4, None)
    try:
        return b"".join(as_word(constant) for constant in constants)
    except ScalarError as error:
        raise InvalidArgumentError(
            f"{kernel}: a constant is not a 32-bit word", found=error.found, allowed=error.allowed
        ) from None


def _listed(values: Sequence[object]) -> str:
    return ", ".join(_shown(value) for value in values)


def _shown(value: object) -> str:
    if isinstance(value, int) and value.bit_length() > 128:
        return f"a number of {value.bit_length()} bits"
    if isinstance(value, (int, float, str, type(None))):
        return repr(value)[:40]
    if isinstance(value, (bytes, bytearray)):
        return f"{len(value)} bytes"
    return type(value).__name__

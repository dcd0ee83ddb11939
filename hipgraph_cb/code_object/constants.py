"""Constants of an executable: values for its variables, which are chosen when it is loaded.

A variable that the code object defines is written before the first launch. A symbol that it leaves undefined has no
place yet: whoever loads the code object gives it memory with the value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from hipgraph_cb.abi import elf
from hipgraph_cb.closest import did_you_mean, listed
from hipgraph_cb.code_object.linking import PLACE_SIZE
from hipgraph_cb.code_object.scalars import ScalarError, encoder
from hipgraph_cb.errors import FailedPreconditionError, InvalidArgumentError, NotFoundError, UnimplementedError

if TYPE_CHECKING:
    from hipgraph_cb.code_object.verify import VerifiedExecutable


def with_constants(executable: VerifiedExecutable, constants: Mapping[str, object] | None) -> VerifiedExecutable:
    """The executable with values for its variables, by name. Every symbol that it leaves undefined needs one.

    Raises:
        NotFoundError: a name that is no variable.
        FailedPreconditionError: an undefined symbol without a value.
        InvalidArgumentError: no mapping of names, or a value that does not have the variable's size.
        UnimplementedError: an undefined symbol whose address is wanted in another form than 64 bits.
        OutOfRangeError: one that is wanted outside the file.
    """
    given = {} if constants is None else constants
    if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
        found = type(constants).__name__ if not isinstance(given, Mapping) else "a name that is no str"
        raise InvalidArgumentError("load: constants are no mapping", found=found, allowed="a dict of values by name")
    _check_names(executable, given)
    _check_undefined(executable)
    if not given:
        return executable
    values = {name: _value(executable, name, given[name]) for name in sorted(given)}
    return replace(executable, constants=MappingProxyType(values))


def _check_names(executable: VerifiedExecutable, given: Mapping[str, object]) -> None:
    known = {*executable.globals, *executable.undefined}
    allowed = listed(known) or "nothing: the code object has no variables"
    unknown = sorted(name for name in given if name not in known)
    if unknown:
        raise NotFoundError(
            "load: the code object has no such constant",
            found=listed(list(map(repr, unknown))),
            allowed=allowed,
            next_step=did_you_mean(unknown[0], known),
        )
    missing = [name for name in executable.undefined if name not in given]
    if missing:
        raise FailedPreconditionError(
            "load: the code object leaves symbols undefined, and no constants are given for them",
            found=listed(missing),
            allowed=allowed,
            next_step="give each a value, such as constants={"
            + f"{missing[0]!r}: numpy.uint32(1)"
            + "}, or link the object that defines it",
        )


def _check_undefined(executable: VerifiedExecutable) -> None:
    """What both backends can do: an address of 64 bits, somewhere in the file."""
    for module in executable.modules:
        for name, relocations in module.undefined.items():
            for relocation in relocations:
                where = f"relocation at {relocation.address:#x}"
                if relocation.kind != elf.R_AMDGPU_ABS64:
                    raise UnimplementedError(
                        "load: an undefined symbol is wanted in a form that no constant has",
                        where=where,
                        found=f"{name!r} by a relocation of R_AMDGPU type {relocation.kind}",
                        allowed=f"type {elf.R_AMDGPU_ABS64} (R_AMDGPU_ABS64)",
                    )
                module.file_offset(relocation.address, PLACE_SIZE, f"the place of {name!r}")


def _value(executable: VerifiedExecutable, name: str, value: Any) -> bytes:
    symbol = executable.globals.get(name)
    try:
        return _of_any_size(value) if symbol is None else encoder(symbol.size, None)(value)
    except ScalarError as error:
        raise InvalidArgumentError(
            f"load: the value of constant {name!r} does not fit", found=error.found, allowed=error.allowed
        ) from None


def _of_any_size(value: Any) -> bytes:
    """The bytes of a value for a symbol of which nobody knows the size."""
    try:
        data = bytes(memoryview(value).cast("B")) if memoryview(value).ndim else bytes(memoryview(value))
    except (TypeError, ValueError, BufferError):
        data = b""
    if not data:
        found = f"{type(value).__name__} {value!r}"[:80]
        raise ScalarError(found, "bytes or a numpy value: the symbol is undefined, so its size is that of the value")
    return data

"""Names and descriptors that several kernels of a code object claim, so it is unknown which one is meant."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from hipgraph_cb.code_object.metadata import KernelMetadata
from hipgraph_cb.errors import HipGraphError, InvalidArgumentError


def refuse_ambiguous(
    kernels: Sequence[KernelMetadata], refused: Mapping[str, HipGraphError]
) -> tuple[list[KernelMetadata], dict[str, HipGraphError]]:
    """The kernels that have a name and a descriptor of their own, and the refused ones with the others added (E5)."""
    names = Counter([*(kernel.name for kernel in kernels), *refused])
    symbols = Counter(kernel.symbol for kernel in kernels)
    if len(names) == len(kernels) + len(refused) and len(symbols) == len(kernels):
        return list(kernels), dict(refused)
    clear: list[KernelMetadata] = []
    still_refused = dict(refused)
    for kernel in kernels:
        if names[kernel.name] > 1:
            still_refused[kernel.name] = _repeated("name", kernel.name, kernel.name)
        elif symbols[kernel.symbol] > 1:
            still_refused[kernel.name] = _repeated("symbol", kernel.symbol, kernel.name)
        else:
            clear.append(kernel)
    return clear, still_refused


def _repeated(what: str, value: str, kernel: str) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"two kernels have the same {what}",
        where=f"kernel {kernel}, amdhsa.kernels",
        found=repr(value),
        allowed=f"different {what}s",
    )

"""What numpy says of each collective: the values of every rank before, and what each receives."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Values = NDArray[Any]
REDUCTIONS = ("sum", "prod", "min", "max", "avg")
_COMBINE = {"sum": np.add, "avg": np.add, "prod": np.multiply, "min": np.minimum, "max": np.maximum}


def sent_values(type_name: str, elements: int, rank: int) -> Values:
    """Values of a rank; floats of both signs, integers over their whole range. bfloat16 is a uint16 of its bits."""
    random = np.random.default_rng([rank, elements])
    if type_name == "bfloat16":
        return to_bfloat16(sent_values("float32", elements, rank))
    dtype = np.dtype(type_name)
    if dtype.kind == "f":
        return (random.random(elements) * 4 - 2).astype(dtype)
    limits = np.iinfo(dtype)
    return random.integers(limits.min, limits.max, elements, dtype, endpoint=True)


def to_bfloat16(values: Values) -> Values:
    """The bits of the nearest bfloat16 of each float32, ties to even."""
    bits = values.astype(np.float32).view(np.uint32)
    rounded: Values = ((bits.astype(np.uint64) + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
    return rounded


def from_bfloat16(values: Values) -> Values:
    return (values.astype(np.uint32) << 16).view(np.float32)


def reduced(values: list[Values], reduction: str, type_name: str) -> Values:
    """All combined in the order of the ranks: floats of 16 bits as float32, rounded once; integers wrap, and an average
    of integers is rounded towards zero."""
    small = {"float16": np.float32, "bfloat16": np.float32}.get(type_name)
    wide = [from_bfloat16(each) if type_name == "bfloat16" else each.astype(small or each.dtype) for each in values]
    result = wide[0].copy()
    with np.errstate(all="ignore"):
        for each in wide[1:]:
            result = _COMBINE[reduction](result, each)
        if reduction == "avg":
            result = _divided(result, len(values))
    return to_bfloat16(result) if type_name == "bfloat16" else result.astype(values[0].dtype)


def _divided(values: Values, divisor: int) -> Values:
    if values.dtype.kind == "f":
        return values / values.dtype.type(divisor)
    quotients = values // values.dtype.type(divisor)
    is_up = (values < 0) & (quotients * values.dtype.type(divisor) != values)
    return quotients + is_up.astype(values.dtype)


def sent_blocks(kind: str, ranks: int) -> int:
    """How many blocks a rank sends."""
    return ranks if kind in ("reduce_scatter", "all_to_all", "scatter") else 1


def received(kind: str, values: list[Values], reduction: str, type_name: str, root: int = 0) -> list[Values | None]:
    """What each rank receives; None where it receives nothing."""
    ranks = len(values)
    blocks = [np.split(each, sent_blocks(kind, ranks)) for each in values]
    nothing: list[Values | None] = [None] * ranks
    if kind in ("all_reduce", "reduce"):
        total = reduced(values, reduction, type_name)
        return [total if kind == "all_reduce" or rank == root else None for rank in range(ranks)]
    if kind == "reduce_scatter":
        return [reduced([each[rank] for each in blocks], reduction, type_name) for rank in range(ranks)]
    if kind == "all_gather":
        return [np.concatenate(values)] * ranks
    if kind == "gather":
        return [np.concatenate(values) if rank == root else None for rank in range(ranks)]
    if kind == "broadcast":
        return [values[root]] * ranks
    if kind == "scatter":
        return list(blocks[root])
    if kind == "all_to_all":
        return [np.concatenate([each[rank] for each in blocks]) for rank in range(ranks)]
    return nothing

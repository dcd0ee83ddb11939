"""GEMM kernels of rocBLAS, launched as their names and the names of their arguments say.

A kernel computes D = alpha A B + beta C, a batch of them, in the column-major order of BLAS. Its name begins with the
order of the indices (`Cijk_Ailk_Bjlk`: l is summed, k is the batch, a C behind an index conjugates) and the types of
A, B, D and the sums (`HHS`), and goes on with fields: the size of a workgroup's tile (MT), and what the sizes must be
multiples of (AF0EM, AF1EM, ASEM) or exceed (ASGT3).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from support.named_launch import launch_by_name
from support.small_values import ELEMENTS, draw, values_of

from hipgraph_cb.runtime.buffer import Buffer
from hipgraph_cb.runtime.device import Device
from hipgraph_cb.runtime.executable import Export

BATCH = 2
XF32_ROUNDING = 2.0**-10  # of a product of two inputs with ten bits of fraction


def is_plain(name: str) -> bool:
    """A GEMM with strided batches and one pass over the sum, whose C and D lie as its A and B do."""
    return name.startswith("Cijk_A") and re.search(r"_GB_|_GSU(?!1_)\d|Ic_|_PK2", name) is None


class Gemm:
    """One problem for the kernel of this name: sizes that are no multiples of its tile, unless it needs that."""

    def __init__(self, name: str, rng: np.random.Generator) -> None:
        self.name = name
        found = re.match(r"Cijk_(A\w+?)_(B\w+?)_(\w+?)_", name)
        assert found, name
        self.a_order, self.b_order, types = found.groups()
        self.kinds = _kinds(types)
        rows, columns = self._multiple("_AF0EM", 70), self._multiple("_AF1EM", 50)
        summed = self._multiple("_ASEM", max(90, self._field("_ASGT3", 0) + 1))
        self.sizes = rows, columns, summed
        a_shape = (summed, rows) if self.a_order.startswith("Ail") else (rows, summed)
        b_shape = (columns, summed) if self.b_order.startswith("Blj") else (summed, columns)
        self.a = draw(self.kinds[0], (BATCH, *a_shape), rng)
        self.b = draw(self.kinds[1], (BATCH, *b_shape), rng)
        self.c = draw(self.kinds[2], (BATCH, columns, rows), rng)
        self.alpha, self.beta = {"I": (2, 3), "C": (1.5 + 0.5j, -0.5 + 0.25j)}.get(
            self.kinds[3].replace("Z", "C"), (1.5, -0.5)
        )

    def _field(self, key: str, default: int) -> int:
        found = re.search(key + r"(\d+)", self.name)
        return int(found[1]) if found else default

    def _multiple(self, key: str, size: int) -> int:
        step = self._field(key, 1)
        return -(-size // step) * step

    @cached_property
    def workgroups(self) -> tuple[int, int]:
        """How many tiles D has, by rows and by columns."""
        tile = re.search(r"_MT(\d+)x(\d+)x", self.name)
        assert tile
        return -(-self.sizes[0] // int(tile[1])), -(-self.sizes[1] // int(tile[2]))

    def run(self, device: Device, kernel: Export) -> NDArray[np.generic]:
        """D, which was all ones before."""
        a, b, c = (device.from_host(matrix.ravel().view(np.uint8)) for matrix in (self.a, self.b, self.c))
        d = device.from_host(np.full(self.c.nbytes, 0xFF, np.uint8))
        values = self._arguments({"A": a, "B": b, "C": c, "D": d})
        items = re.search(r"_WG(\d+)_(\d+)_(\d+)_", self.name)
        assert items
        size = int(np.prod([int(size) for size in items.groups()]))
        launch_by_name(device, kernel, (*self.workgroups, BATCH), size, {name: values[name] for name in _names(kernel)})
        result = d.to_host(self.c.dtype).reshape(self.c.shape)
        for buffer in (a, b, c, d):
            buffer.close()
        return values_of(self.kinds[2], result)

    def _arguments(self, buffers: Mapping[str, Buffer]) -> dict[str, Any]:
        """By name. How workgroups are taken in groups of columns (WGM) is given in numbers that save the division."""
        first, second = self.workgroups
        group = self._field("_WGM", 1)
        remainder = second % group or group
        matrices = {"A": self.a, "B": self.b, "C": self.c, "D": self.c}
        values: dict[str, Any] = {f"Address{name}": buffer for name, buffer in buffers.items()}
        for name, matrix in matrices.items():
            values[f"Strides{name}"] = _words(matrix.shape[2], matrix[0].size)
            values[f"Tensor2dSize{name}"] = np.uint64(matrix[0].size)
        return values | {
            "Alpha": self._scalar(self.alpha),
            "Beta": self._scalar(self.beta),
            "SizesFree": _words(self.sizes[0], self.sizes[1], BATCH),
            "SizesSum": np.uint32(self.sizes[2]),
            "OrigStaggerUIter": np.uint32(0),
            "NumWorkGroups0": np.uint32(first),
            "NumWorkGroups1": np.uint32(second),
            "NumFullBlocks": np.uint32(second // group),
            "WgmRemainder1": np.uint32(remainder),
            "MagicNumberWgmRemainder1": np.uint32((1 << 31) // remainder + 1),
            "RNDSeed": np.uint32(12345),
        }

    def _scalar(self, value: complex) -> bytes:
        """In the type of the sums; a half is there twice, for packed arithmetic."""
        kind = self.kinds[3]
        return np.full(2 if kind == "H" else 1, value, ELEMENTS[kind].storage).tobytes()

    def worst(self, result: NDArray[np.generic]) -> float:
        """The largest error, as a part of what the types and the length of the sum allow; above 1 the result is wrong.

        The bound is that of any order of summation: each product and sum may round once, and so may the result.
        """
        a, b, c = (values_of(kind, m) for kind, m in zip(self.kinds, (self.a, self.b, self.c), strict=False))
        a = a if self.a_order.startswith("Ail") else a.swapaxes(1, 2)
        b = b if self.b_order.startswith("Blj") else b.swapaxes(1, 2)
        a, b = a.conj() if self.a_order.endswith("C") else a, b.conj() if self.b_order.endswith("C") else b
        exact = self.alpha * (b @ a) + self.beta * c
        size = abs(self.alpha) * (np.abs(b) @ np.abs(a)) + abs(self.beta) * np.abs(c)
        sums, stored = ELEMENTS[self.kinds[3]], ELEMENTS[self.kinds[2]]
        inputs = XF32_ROUNDING if "_MX_" in self.name else 0.0
        last = 2 if "_SR_" in self.name else 1  # rounded stochastically, up or down
        allowed = (((self.sizes[2] + 4) * 2 * sums.rounding) + inputs) * size
        allowed = allowed + last * (stored.rounding * np.abs(exact) + stored.tiny)
        if np.isfinite(stored.largest):
            exact = np.clip(exact, -stored.largest, stored.largest)
        error = np.abs(result - exact)
        return float(np.max(np.where(error == 0, 0, error / np.maximum(allowed, np.finfo(float).tiny))))


def _kinds(types: str) -> tuple[str, str, str, str]:
    """Of A, B, D and the sums. `SB` is one type for all (B: in batches), `HSS` one for A and B."""
    found = re.findall("F8|B8|I8|[A-Z]", types)
    if len(found) == 2:
        return (found[0],) * 4
    a, *rest = found
    return (a, *rest) if len(found) == 4 else (a, a, *rest)


def _names(kernel: Export) -> set[str]:
    return {parameter.name for parameter in kernel.parameters}


def _words(*numbers: int) -> bytes:
    return np.array(numbers, np.uint32).tobytes()

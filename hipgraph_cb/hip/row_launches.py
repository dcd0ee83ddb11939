"""Copies and fills of rows as kernel nodes, and as launches outside of any graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hipgraph_cb.backend.blits import WORKGROUP_SIZE, Blit
from hipgraph_cb.backend.row_blits import COPY_ROWS_ARGUMENTS, ROW_KERNELS, copy_rows, fill_rows
from hipgraph_cb.hip.node_parameters import KernelLaunch, kernel_images
from hipgraph_cb.recording.commands import Copy2D, Fill2D

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from hipgraph_cb.hip.api import HipApi
    from hipgraph_cb.hip.prepared import PreparedNodes
    from hipgraph_cb.hip.row_kernels import RowKernels


class RowLaunches:
    """Launches of the kernels of one device; they must be loaded."""

    def __init__(self, kernels: RowKernels) -> None:
        self._most_lanes = kernels.most_lanes
        self._launches: dict[str, KernelLaunch] = {}
        for name in ROW_KERNELS:
            layout = kernels.layouts[name]
            offsets = [parameter.offset for parameter in layout.parameters]
            self._launches[name] = KernelLaunch(kernels.functions[name], offsets, layout.size)

    def blit(self, command: Copy2D | Fill2D, target: int, source: int) -> Blit:
        """The launch that does what a command says."""
        if isinstance(command, Copy2D):
            return copy_rows(target, source, command, self._most_lanes, WORKGROUP_SIZE)
        return fill_rows(target, command, self._most_lanes, WORKGROUP_SIZE)

    def launch(self, api: HipApi, command: Copy2D | Fill2D, target: int, source: int, stream: Any) -> None:
        """Launch it on a stream, outside of any graph. Raises HipError."""
        blit = self.blit(command, target, source)
        shape = (blit.lanes // WORKGROUP_SIZE, 1, 1), (WORKGROUP_SIZE, 1, 1), 0
        self._launches[blit.kernel].launch(api, shape, blit.arguments, stream)

    def images(self, nodes: PreparedNodes, blits: Sequence[Blit]) -> list[bytes]:
        """Images of kernel nodes; the memory that they lead into is kept by `nodes`."""
        arguments = [blit.arguments.ljust(COPY_ROWS_ARGUMENTS.size, b"\0") for blit in blits]
        starts = np.arange(len(blits)) * COPY_ROWS_ARGUMENTS.size
        blocks = nodes.keep(np.frombuffer(b"".join(arguments), np.uint8))
        launches = [self._launches[blit.kernel] for blit in blits]
        pointers = [start + np.array(each.offsets) for start, each in zip(starts, launches, strict=True)]
        table = nodes.keep(np.concatenate(pointers) + blocks.ctypes.data)
        firsts = np.cumsum([0, *map(len, pointers)])[:-1]
        counts, sizes = np.ones((2, len(blits), 3), np.uint32)
        counts[:, 0], sizes[:, 0] = [blit.lanes // WORKGROUP_SIZE for blit in blits], WORKGROUP_SIZE
        functions = np.array([each.function for each in launches], np.uint64)
        tables = table.ctypes.data + firsts * table.itemsize
        return kernel_images(functions, counts, sizes, np.zeros(len(blits), np.uint64), tables)


def prepare_copies(nodes: PreparedNodes, commands: NDArray[np.intp]) -> list[bytes]:
    """What kernel nodes are given of copies of rows, by their indices."""
    return _images(nodes, commands, nodes.extents(commands, 0)[0], nodes.extents(commands, 1)[0])


def prepare_fills(nodes: PreparedNodes, commands: NDArray[np.intp]) -> list[bytes]:
    """The same of fills of rows."""
    targets, _ = nodes.extents(commands, 0)
    return _images(nodes, commands, targets, targets)


def _images(
    nodes: PreparedNodes, commands: NDArray[np.intp], sources: NDArray[np.uint64], targets: NDArray[np.uint64]
) -> list[bytes]:
    rows: list[Any] = [nodes.command(index) for index in commands.tolist()]
    triples = zip(rows, targets.tolist(), sources.tolist(), strict=True)
    return nodes.row_launches.images(nodes, [nodes.row_launches.blit(*each) for each in triples])

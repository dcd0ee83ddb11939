"""Functions of the host as nodes of graphs and as calls on streams."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

import numpy as np

from hipgraph_cb.abi.hip.structures import HostNodeParams
from hipgraph_cb.backend.host_calls import run

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hipgraph_cb.hip.prepared import PreparedNodes

_run = ctypes.CFUNCTYPE(None, ctypes.c_size_t)(run)
"""Never freed: the runtime may call it for as long as the process lives. Its argument is the number of a host call."""
HOST_FUNCTION: int = ctypes.cast(_run, ctypes.c_void_p).value or 0
HOST_NODE = np.dtype(HostNodeParams)


def prepare_host_calls(nodes: PreparedNodes, commands: NDArray[np.intp]) -> list[tuple[int]]:
    """What host nodes are given of commands, by their indices."""
    parameters = np.zeros(len(commands), HOST_NODE)
    parameters["fn"] = HOST_FUNCTION
    parameters["userData"] = [nodes.host_call(index) for index in commands.tolist()]
    first = nodes.keep(parameters).ctypes.data
    return [(first + index * HOST_NODE.itemsize,) for index in range(len(commands))]

"""Where AMD's runtime crashes: here the nearest error comes back, and the fault report says what is wrong."""

from __future__ import annotations

import numpy as np
import pytest
from support.hip_callers import structure

from hipgraph_cb.abi.hip.structures import Memcpy3DParams

H2D, D2H, D2D = 1, 2, 3


@pytest.fixture
def executable_of(hip):
    made = []

    def make(graph):
        made.append(hip.done("hipGraphInstantiateWithFlags", graph, 0))
        return made[-1]

    yield make
    for executable in made:
        hip.hipGraphExecDestroy(executable)


def test_a_function_that_is_none(hip, graph, arguments, params, runtime):
    assert hip.hipGraphAddKernelNode(graph, 0, 0, params.kernel(0x1234, arguments()))[0] == 98
    assert runtime.fault_report() == "hipGraphAddKernelNode: 0x1234 is not a hipFunction_t of a loaded module"


def test_a_box_in_the_wrong_direction(hip, graph, block, executable_of, runtime):
    host = np.zeros(64, np.uint8)
    params = structure(
        Memcpy3DParams,
        dstPtr=(block, 8, 8, 1),
        srcPtr=(host.ctypes.data, 8, 8, 1),
        extent=(8, 1, 1),
        kind=D2H,
    )
    hip.done("hipGraphAddMemcpyNode", graph, 0, 0, params)
    executable = executable_of(graph)
    assert hip.hipGraphLaunch(executable, 0)[0] == 21
    assert "goes from pageable host memory to device memory, and its direction is DtoH" in runtime.fault_report()


def test_a_node_for_a_graph_that_was_destroyed(hip, runtime):
    graph = hip.done("hipGraphCreate", 0)
    hip.done("hipGraphDestroy", graph)
    assert hip.hipGraphAddEmptyNode(graph, 0, 0)[0] == 1
    assert runtime.fault_report() == f"hipGraphAddEmptyNode: {graph:#x} is not a hipGraph_t, or was destroyed"


def test_a_fill_of_memory_that_was_freed(hip, graph, params, runtime):
    block = hip.done("hipMalloc", 8)
    hip.done("hipGraphAddMemsetNode", graph, 0, 0, params.memset(block))
    hip.done("hipFree", block)
    assert hip.hipGraphInstantiateWithFlags(graph, 0)[0] == 1
    assert f"{block:#x} is not device memory any more: 0 bytes into" in runtime.fault_report()


@pytest.mark.parametrize("freed", ["target", "source"])
def test_a_copy_of_memory_that_was_freed(hip, graph, block, executable_of, runtime, freed):
    other = hip.done("hipMalloc", 64)
    ends = (other, block) if freed == "target" else (block, other)
    hip.done("hipGraphAddMemcpyNode1D", graph, 0, 0, *ends, 64, D2D)
    executable = executable_of(graph)
    hip.done("hipFree", other)
    assert hip.hipGraphLaunch(executable, 0)[0] == 1
    assert f"{other:#x} is not device memory any more: 0 bytes into" in runtime.fault_report()


@pytest.mark.parametrize("size", [64, 200, 1000, 3000])
def test_a_code_object_that_ends_early(hip, runtime, size):
    from pathlib import Path

    kernels = Path(__file__).resolve().parents[1] / "fixtures" / "corpus" / "clang" / "k_cl.gfx942.hsaco"
    assert hip.hipModuleLoadData(kernels.read_bytes()[:size] + bytes(16384))[0] == 200
    assert runtime.fault_report().startswith("hipModuleLoadData: ")


def test_a_kernel_of_a_module_that_was_unloaded(hip, graph, arguments, params, executable_of, runtime):
    """AMD's runtime launches what is in the freed memory."""
    from pathlib import Path

    kernels = Path(__file__).resolve().parents[1] / "fixtures" / "corpus" / "clang" / "k_cl.gfx942.hsaco"
    module = hip.done("hipModuleLoadData", kernels.read_bytes())
    saxpy = hip.done("hipModuleGetFunction", module, b"saxpy")
    hip.done("hipGraphAddKernelNode", graph, 0, 0, params.kernel(saxpy, arguments()))
    executable = executable_of(graph)
    hip.done("hipModuleUnload", module)
    assert hip.hipGraphLaunch(executable, 0)[0] == 0
    assert hip.hipDeviceSynchronize()[0] == 700
    assert "kernel saxpy: its module was unloaded" in runtime.fault_report()
    assert hip.hipDeviceSynchronize()[0] == 0

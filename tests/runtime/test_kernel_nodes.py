"""Kernel nodes and launches: shapes, and when arguments are copied."""

from __future__ import annotations

import ctypes
from pathlib import Path

import pytest

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"
BAD_SHAPE = {"6.4": 1, "7.2": 9}
SHAPES = [
    ("no groups", {"grid": (0, 1, 1)}, BAD_SHAPE),
    ("no work-items", {"block": (64, 0, 1)}, BAD_SHAPE),
    ("more than 1024 work-items in a block", {"block": (1025, 1, 1)}, BAD_SHAPE),
    ("more than 1024 work-items in three dimensions", {"block": (32, 32, 2)}, BAD_SHAPE),
    ("2^32 work-items in a row", {"grid": (1 << 26, 1, 1)}, BAD_SHAPE),
    ("nearly 2^32 work-items in a row", {"grid": ((1 << 26) - 1, 1, 1)}, 0),
    ("65536 groups in y", {"grid": (1, 65536, 1)}, 0),
    ("more work-items than the kernel was compiled for", {"block": (512, 1, 1)}, 719),
    ("as many as it was compiled for", {"block": (256, 1, 1)}, 0),
    ("all of the LDS", {"dynamic_lds": 65536}, 0),
    ("more LDS than there is", {"dynamic_lds": 65537}, 1),
]


def each(cases):
    return pytest.mark.parametrize("shape, expected", [case[1:] for case in cases], ids=[case[0] for case in cases])


def of_profile(expected, profile):
    return expected[profile] if isinstance(expected, dict) else expected


@each(SHAPES)
def test_what_shapes_a_node_accepts(hip, profile, graph, saxpy, arguments, params, shape, expected):
    code = hip.hipGraphAddKernelNode(graph, 0, 0, params.kernel(saxpy, arguments(), **shape))[0]
    assert code == of_profile(expected, profile)


@each([case for case in SHAPES if case[2]])
def test_a_launch_refuses_the_same_shapes_with_one_code(hip, saxpy, arguments, shape, expected):
    grid, block = shape.get("grid", (1, 1, 1)), shape.get("block", (64, 1, 1))
    table = arguments().table
    code = hip.hipModuleLaunchKernel(saxpy, *grid, *block, shape.get("dynamic_lds", 0), 0, table, 0)[0]
    assert code == (1 if expected is BAD_SHAPE else expected)


def test_a_node_needs_a_function(hip, graph, arguments, params):
    assert hip.hipGraphAddKernelNode(graph, 0, 0, params.kernel(0, arguments()))[0] == 1


def packed(y, x, a, n):
    """One buffer with all arguments, and the `extra` list that hands it over."""
    block = (ctypes.c_ubyte * 24)()
    ctypes.memmove(block, ctypes.byref((ctypes.c_uint64 * 2)(y, x)), 16)
    ctypes.memmove(ctypes.addressof(block) + 16, ctypes.byref(ctypes.c_float(a)), 4)
    ctypes.memmove(ctypes.addressof(block) + 20, ctypes.byref(ctypes.c_uint(n)), 4)
    size = ctypes.c_size_t(24)
    extra = (ctypes.c_void_p * 5)(1, ctypes.addressof(block), 2, ctypes.addressof(size), 3)
    return extra, block, size


def test_arguments_come_one_way_or_the_other(hip, graph, saxpy, arguments, params):
    extra, *kept = packed(0, 0, 1.0, 0)
    both = params.kernel(saxpy, arguments(), extra=ctypes.addressof(extra))
    assert hip.hipGraphAddKernelNode(graph, 0, 0, both)[0] == 1
    assert hip.hipGraphAddKernelNode(graph, 0, 0, params.kernel(saxpy, None))[0] == 1
    only_extra = params.kernel(saxpy, None, extra=ctypes.addressof(extra))
    assert hip.hipGraphAddKernelNode(graph, 0, 0, only_extra)[0] == 0
    assert kept


def test_a_kernel_without_arguments_needs_neither(hip, graph, params, run):
    module = hip.done("hipModuleLoadData", (FIXTURES / "conformance" / "conformance.gfx942.hsaco").read_bytes())
    kernel = hip.done("hipModuleGetFunction", module, b"nothing")
    hip.done("hipGraphAddKernelNode", graph, 0, 0, params.kernel(kernel, None, block=(1, 1, 1)))
    run(graph)
    hip.done("hipModuleUnload", module)


@pytest.fixture
def vectors(hip):
    """y of four zeros and x of four ones, as float32."""
    ones = (ctypes.c_float * 4)(1, 1, 1, 1)
    y, x = (hip.done("hipMalloc", 16) for _ in range(2))
    hip.done("hipMemset", y, 0, 16)
    hip.done("hipMemcpyHtoD", x, ones, 16)

    def value():
        host = (ctypes.c_float * 4)()
        hip.done("hipMemcpyDtoH", host, y, 16)
        return list(host)

    yield y, x, value
    hip.done("hipFree", y)
    hip.done("hipFree", x)


def test_arguments_are_copied_when_the_node_is_added(hip, graph, saxpy, arguments, params, run, vectors):
    y, x, value = vectors
    given = arguments(y, x, 5.0, 4)
    hip.done("hipGraphAddKernelNode", graph, 0, 0, params.kernel(saxpy, given))
    given.values[2].value = 100.0
    run(graph)
    assert value() == [5.0] * 4


def test_packed_arguments_are_copied_when_the_node_is_added(hip, graph, saxpy, params, run, vectors):
    y, x, value = vectors
    extra, block, size = packed(y, x, 5.0, 4)
    hip.done("hipGraphAddKernelNode", graph, 0, 0, params.kernel(saxpy, None, extra=ctypes.addressof(extra)))
    ctypes.memset(block, 0, 24)
    size.value = 0
    run(graph)
    assert value() == [5.0] * 4


def test_packed_arguments_that_end_early_are_accepted(hip, graph, saxpy, params):
    extra, block, size = packed(0, 0, 1.0, 0)
    size.value = 20
    short = params.kernel(saxpy, None, extra=ctypes.addressof(extra))
    assert hip.hipGraphAddKernelNode(graph, 0, 0, short)[0] == 0
    assert len(block) == 24


def test_an_executable_graph_copies_new_arguments_too(hip, graph, saxpy, arguments, params, vectors):
    y, x, value = vectors
    node = hip.done("hipGraphAddKernelNode", graph, 0, 0, params.kernel(saxpy, arguments(y, x, 5.0, 4)))
    executable = hip.done("hipGraphInstantiateWithFlags", graph, 0)
    given = arguments(y, x, 7.0, 4)
    hip.done("hipGraphExecKernelNodeSetParams", executable, node, params.kernel(saxpy, given))
    given.values[2].value = 100.0
    hip.done("hipGraphLaunch", executable, 0)
    assert value() == [7.0] * 4


def test_a_node_tells_its_own_copies_of_the_arguments(hip, graph, saxpy, arguments, params):
    given = arguments(0x1000, 0x2000, 5.0, 64)
    shape = {"grid": (3, 2, 1), "block": (16, 4, 1), "dynamic_lds": 128}
    node = hip.done("hipGraphAddKernelNode", graph, 0, 0, params.kernel(saxpy, given, **shape))
    given.values[2].value = 7.0
    reported = hip.done("hipGraphKernelNodeGetParams", node)
    assert (reported.gridDim.x, reported.gridDim.y, reported.blockDim.x, reported.blockDim.y) == (3, 2, 16, 4)
    assert (int(reported.func), reported.sharedMemBytes) == (saxpy, 128)
    table = (ctypes.c_size_t * 4).from_address(int(reported.kernelParams))
    assert ctypes.addressof(given.table) != int(reported.kernelParams)
    assert ctypes.c_size_t.from_address(table[0]).value == 0x1000
    assert ctypes.c_float.from_address(table[2]).value == 5.0

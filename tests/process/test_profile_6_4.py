"""What AMD's runtime 6.4.3 does differently, chosen by a setting."""

from __future__ import annotations

from support.child import result_of, run


def test_codes_and_the_last_error_are_those_of_6_4():
    code = """
    import ctypes
    from support.endless import hip, module, check, flag
    from support.hip_program import Arguments
    function = check(hip.hipModuleGetFunction(module, b"endless"))
    table = Arguments(ctypes.c_void_p(flag)).table
    shapes = [(0, 64), (1, 0), (1, 1025), (1 << 26, 64), (1, 512)]
    print([int(hip.hipModuleLaunchKernel(function, g, 1, 1, b, 1, 1, 0, None, table, None)[0]) for g, b in shapes])
    print(int(hip.hipSetDevice(9)[0]), int(hip.hipPeekAtLastError()[0]))
    hip.hipGetDevice()
    print(int(hip.hipPeekAtLastError()[0]), hip.hipRuntimeGetVersion()[1])
    """
    finished = run(code, HIPGRAPH_CB_VIRTUAL_PROFILE="6.4")
    assert result_of(finished) == (0, "[1, 1, 1, 1, 719]\n101 101\n0 60443484", "")


def test_memory_is_as_large_as_it_was_set():
    code = """
    from hipgraph_cb.virtual.install import install
    install(["gfx942"])
    from hip import hip
    print(hip.hipMemGetInfo()[2], int(hip.hipMalloc(1 << 20)[0]), int(hip.hipMalloc(1)[0]))
    """
    assert result_of(run(code, HIPGRAPH_CB_VIRTUAL_MEMORY="1M")) == (0, "1048576 0 2", "")

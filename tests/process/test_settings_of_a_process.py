"""Settings by environment, each in a process of its own."""

from __future__ import annotations

from support.child import result_of, run


def test_memory_is_as_large_as_it_was_set():
    code = """
    from hipgraph_cb.virtual.install import install
    install(["gfx942"])
    from hip import hip
    print(hip.hipMemGetInfo()[2], int(hip.hipMalloc(1 << 20)[0]), int(hip.hipMalloc(1)[0]))
    """
    assert result_of(run(code, HIPGRAPH_CB_VIRTUAL_MEMORY="1M")) == (0, "1048576 0 2", "")


def test_the_profile_is_chosen_by_a_variable():
    code = """
    from hipgraph_cb.virtual.install import install
    install(["gfx942"])
    from hip import hip
    print(hip.hipRuntimeGetVersion()[1], int(hip.hipSetDevice(9)[0]), int(hip.hipPeekAtLastError()[0]))
    hip.hipGetDevice()
    print(int(hip.hipPeekAtLastError()[0]))
    """
    assert result_of(run(code, HIPGRAPH_CB_VIRTUAL_PROFILE="6.4")) == (0, "60443484 101 101\n0", "")
    assert result_of(run(code, HIPGRAPH_CB_VIRTUAL_PROFILE="7.2")) == (0, "70253211 101 101\n101", "")

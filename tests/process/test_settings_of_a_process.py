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


def test_open_device_takes_the_settings_and_they_go_before_the_variables():
    code = """
    from hipgraph_cb import VirtualSettings, open_device
    device = open_device(virtual=VirtualSettings(memory="2M", profile="6.4"))
    from hip import hip
    from hipgraph_cb.opening import virtual_runtime
    print(hip.hipMemGetInfo()[2], hip.hipRuntimeGetVersion()[1], virtual_runtime().settings)
    """
    finished = run(code, HIPGRAPH_CB_VIRTUAL_MEMORY="1M", HIPGRAPH_CB_VIRTUAL_SEED="5")
    settings = (
        "Settings(memory=2097152, seed=5, profile='6.4', watchdog=60.0, lds_bounds='hardware', schedule='in-step', "
        "after_fault='recover', peer_access='all')"
    )
    assert (finished.returncode, finished.stdout.strip()) == (0, f"2097152 60443484 {settings}")


def test_the_watchdog_ends_an_endless_kernel_with_a_clear_error():
    code = """
    from hipgraph_cb import VirtualSettings, open_device
    open_device(virtual=VirtualSettings(watchdog=0.3)).close()
    from support.endless import hip, launch
    from hipgraph_cb.opening import virtual_runtime
    launch("endless")
    print(int(hip.hipDeviceSynchronize()[0]))
    print("stopped by the watchdog after 0.3 s" in virtual_runtime().fault_report())
    print(int(hip.hipDeviceSynchronize()[0]))
    """
    finished = run(code)
    assert (finished.returncode, finished.stdout.split()) == (0, ["702", "True", "0"])


def test_both_backends_share_the_settings_of_the_process():
    code = """
    from hipgraph_cb import VirtualSettings, open_device
    open_device("hsa", virtual=VirtualSettings(memory="2M")).close()
    open_device("hip").close()
    try:
        open_device("hip", virtual=VirtualSettings(memory="4M"))
    except Exception as error:
        print(type(error).__name__, error.allowed)
    """
    finished = run(code)
    assert (finished.returncode, finished.stdout.strip()) == (0, "FailedPreconditionError memory=2097152")

"""Ctrl-C must reach the main thread as KeyboardInterrupt, wherever it arrives, and never spoil a result."""

from __future__ import annotations

import time

from support.child import result_of, run, run_and_interrupt


def test_no_interrupt_is_lost_or_swallowed_while_calls_follow_each_other():
    code = """
    import os, signal, threading, time
    from hipgraph_cb.virtual.install import install
    install(["gfx942"])
    from hip import hip
    caught, bad = 0, 0
    def shoot():
        time.sleep(0.013)
        os.kill(os.getpid(), signal.SIGINT)
    for _ in range(40):
        try:
            threading.Thread(target=shoot).start()
            deadline = time.monotonic() + 20
            while time.monotonic() < deadline:
                bad += hip.hipGetDeviceCount() != (0, 1)
        except KeyboardInterrupt:
            caught += 1
    print(caught, bad)
    """
    assert result_of(run(code)) == (0, "40 0", "")


def test_a_wait_for_an_endless_kernel_is_interrupted_and_the_device_works_afterwards():
    code = """
    import time
    from support.endless import hip, launch, read_flag, runtime, flag, check
    launch("endless")
    try:
        print("ready")
        hip.hipDeviceSynchronize()
        print("the wait came back")
    except KeyboardInterrupt:
        print("interrupted")
    print(int(hip.hipDeviceSynchronize()[0]))
    print(runtime.fault_report().splitlines()[0])
    print(int(hip.hipDeviceSynchronize()[0]))
    check(hip.hipMemset(flag, 7, 4))
    print(hex(read_flag()))
    """
    start = time.monotonic()
    finished = run_and_interrupt(code)
    stopped = "kernel endless: kernel stopped before its end: stopped because Ctrl-C ended the wait for it"
    assert result_of(finished) == (0, f"ready\ninterrupted\n702\n{stopped}\n0\n0x7070707", "")
    assert time.monotonic() - start < 30


def test_a_wait_for_work_of_the_host_is_interrupted():
    code = """
    import ctypes, threading
    from hipgraph_cb.virtual.install import install
    install(["gfx942"])
    from hip import hip
    opened = threading.Event()
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda _: opened.wait(30) and None)
    ctypes.CDLL("libamdhip64.so").hipLaunchHostFunc(None, function, None)
    try:
        print("ready")
        hip.hipStreamSynchronize(None)
    except KeyboardInterrupt:
        print("interrupted")
    opened.set()
    print(int(hip.hipStreamSynchronize(None)[0]))
    """
    assert result_of(run_and_interrupt(code)) == (0, "ready\ninterrupted\n0", "")


def test_an_interrupt_that_is_not_caught_ends_the_process_as_usual():
    code = """
    from support.endless import hip, launch
    launch("endless")
    print("ready")
    hip.hipDeviceSynchronize()
    """
    finished = run_and_interrupt(code)
    assert finished.returncode == -2
    assert finished.stdout.strip() == "ready"
    assert finished.stderr.strip().endswith("KeyboardInterrupt")


def test_the_watchdog_ends_an_endless_kernel_and_says_so():
    code = """
    from support.endless import hip, launch, read_flag, runtime
    launch("endless")
    print(int(hip.hipDeviceSynchronize()[0]))
    print(runtime.fault_report().splitlines()[0])
    print(read_flag())
    """
    report = (
        "kernel endless: kernel stopped before its end: stopped by the watchdog after 0.5 s "
        "(HIPGRAPH_CB_VIRTUAL_WATCHDOG changes or lifts it)"
    )
    finished = run(code, HIPGRAPH_CB_VIRTUAL_WATCHDOG="0.5")
    assert result_of(finished) == (0, f"702\n{report}\n0", "")


def test_a_handler_of_the_program_is_left_alone():
    code = """
    import os, signal
    signal.signal(signal.SIGINT, lambda number, frame: print("mine"))
    from hipgraph_cb.virtual.install import install
    install(["gfx942"])
    os.kill(os.getpid(), signal.SIGINT)
    """
    assert result_of(run(code)) == (0, "mine", "")

"""Ctrl-C must reach the main thread as KeyboardInterrupt, wherever it arrives, and never spoil a result."""

from __future__ import annotations

from support.child import result_of, run


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
            deadline = time.monotonic() + 300
            while time.monotonic() < deadline:
                bad += hip.hipGetDeviceCount() != (0, 1)
        except KeyboardInterrupt:
            caught += 1
    print(caught, bad)
    """
    assert result_of(run(code)) == (0, "40 0", "")


def test_a_wait_for_an_endless_kernel_is_interrupted_and_the_device_works_afterwards():
    code = """
    from support.child import interrupt_when_waiting
    from support.endless import hip, launch, read_flag, runtime, flag, check
    launch("endless")
    try:
        interrupt_when_waiting(runtime)
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
    finished = run(code)
    stopped = "kernel endless: kernel stopped before its end: stopped because Ctrl-C ended the wait for it"
    assert result_of(finished) == (0, f"interrupted\n702\n{stopped}\n0\n0x7070707", "")


def test_a_wait_for_work_of_the_host_is_interrupted():
    code = """
    import ctypes, threading
    from hipgraph_cb.virtual.install import install
    from support.child import interrupt_when_waiting
    runtime = install(["gfx942"])
    from hip import hip
    opened = threading.Event()
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda _: opened.wait() and None)
    ctypes.CDLL("libamdhip64.so").hipLaunchHostFunc(None, function, None)
    try:
        interrupt_when_waiting(runtime)
        hip.hipStreamSynchronize(None)
    except KeyboardInterrupt:
        print("interrupted")
    opened.set()
    print(int(hip.hipStreamSynchronize(None)[0]))
    """
    assert result_of(run(code)) == (0, "interrupted\n0", "")


def test_an_interrupt_that_is_not_caught_ends_the_process_as_usual():
    code = """
    from support.child import interrupt_when_waiting
    from support.endless import hip, launch, runtime
    launch("endless")
    interrupt_when_waiting(runtime)
    hip.hipDeviceSynchronize()
    """
    finished = run(code)
    assert finished.returncode == -2
    assert finished.stdout == ""
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


def test_an_interrupt_that_comes_before_a_collection_is_not_lost_in_it():
    """Both happen in one function of C: nothing handles the signal between them."""
    code = """
    import ctypes, gc, os, signal
    from collections import deque
    from functools import partial
    import hipgraph_cb.backend.collected
    send = partial(ctypes.CDLL(None).kill, os.getpid(), signal.SIGINT)
    try:
        deque(map(partial.__call__, [send, partial(gc.collect)]), maxlen=0)
        print("went on")
    except KeyboardInterrupt:
        print("interrupted")
    """
    assert result_of(run(code)) == (0, "interrupted", "")

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
        threading.Thread(target=shoot).start()
        deadline = time.monotonic() + 5
        try:
            while time.monotonic() < deadline:
                bad += hip.hipGetDeviceCount() != (0, 1)
        except KeyboardInterrupt:
            caught += 1
    print(caught, bad)
    """
    assert result_of(run(code)) == (0, "40 0", "")

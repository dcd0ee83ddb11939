"""The process may end at any moment, whatever is under way."""

from __future__ import annotations

from support.child import result_of, run


def test_exit_while_a_kernel_runs():
    code = """
    from support.endless import launch, runtime
    launch("endless")
    while runtime.machine.gpus[0].worker.running is None: pass
    print("end")
    """
    assert result_of(run(code)) == (0, "end", "")


def test_exit_with_much_work_enqueued():
    code = """
    import ctypes
    from support.endless import hip, launch, check, flag
    stream = check(hip.hipStreamCreate())
    for _ in range(500):
        launch("slow", ctypes.c_int(3))
        check(hip.hipMemsetAsync(flag, 0, 4, stream))
    """
    assert result_of(run(code)) == (0, "", "")


def test_exit_while_another_thread_waits():
    code = """
    import threading
    from support.endless import hip, launch, runtime
    launch("endless")
    thread = threading.Thread(target=hip.hipDeviceSynchronize, daemon=True)
    thread.start()
    while not runtime.machine.calls.sleepers: pass
    """
    assert result_of(run(code)) == (0, "", "")


def test_exit_through_an_exception_keeps_its_status():
    code = """
    from support.endless import launch
    launch("endless")
    raise SystemExit(3)
    """
    assert result_of(run(code)) == (3, "", "")


def test_a_fork_with_work_in_flight_leaves_the_parent_working():
    code = """
    import ctypes, os
    from support.endless import hip, launch, read_flag, check
    launch("slow", ctypes.c_int(200))
    child = os.fork()
    if child == 0:
        code = int(hip.hipDeviceSynchronize()[0])
        os._exit(code)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    check(hip.hipDeviceSynchronize())
    print(read_flag() > 0)
    """
    assert result_of(run(code)) == (0, "3\nTrue", "")


def test_garbage_collection_in_the_middle_of_calls_frees_safely():
    code = """
    import gc, threading
    from hipgraph_cb.virtual.install import install
    runtime = install(["gfx942"])
    from hip import hip
    class Buffer:
        def __init__(self):
            self.address = hip.hipMalloc(64)[1]
            self.itself = self
        def __del__(self, hip=hip):
            codes.append(int(hip.hipFree(self.address)[0]))
    codes = []
    before = hip.hipMemGetInfo()[1:]
    gc.set_threshold(5, 1, 1)
    def work():
        for _ in range(300):
            Buffer()
            hip.hipGetDeviceProperties(0)
            hip.hipDeviceSynchronize()
    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    gc.collect()
    print(len(codes), set(codes), hip.hipMemGetInfo()[1:] == before)
    """
    assert result_of(run(code)) == (0, "900 {0} True", "")


def test_garbage_collection_on_the_worker_frees_safely():
    code = """
    import ctypes, gc
    from support.endless import hip, launch, check, runtime
    class Buffer:
        def __init__(self):
            self.address = check(hip.hipMalloc(64))
            self.itself = self
        def __del__(self, hip=hip):
            codes.append(int(hip.hipFree(self.address)[0]))
    codes = []
    before = hip.hipMemGetInfo()[1:]
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda _: gc.collect() and None)
    gc.disable()
    for _ in range(20):
        Buffer()
        ctypes.CDLL("libamdhip64.so").hipLaunchHostFunc(None, function, None)
        check(hip.hipDeviceSynchronize())
    hip.hipGetDevice()
    print(len(codes), set(codes), hip.hipMemGetInfo()[1:] == before)
    """
    assert result_of(run(code)) == (0, "20 {0} True", "")

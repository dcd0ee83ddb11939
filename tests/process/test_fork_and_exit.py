"""Forked children, spawned children, and the end of the process."""

from __future__ import annotations

from support.child import result_of, run

ADVICE = (
    "was forked from one that uses the virtual GPU, whose worker threads do not exist here; start it with "
    'multiprocessing\'s "spawn" method (or subprocess) instead of fork'
)


def test_in_a_forked_child_every_call_is_refused_with_advice():
    code = """
    import os, sys
    from hipgraph_cb.virtual.install import install
    runtime = install(["gfx942"])
    from hip import hip
    hip.hipGetDeviceCount()
    child = os.fork()
    if child == 0:
        print(hip.hipGetDeviceCount()[0], runtime.fault_report().replace(str(os.getpid()), "N"), flush=True)
        sys.exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), *hip.hipGetDeviceCount())
    """
    refused = f"3 hipGetDeviceCount: process N {ADVICE}"
    assert result_of(run(code)) == (0, f"{refused}\n0 0 1", "")


def test_a_fork_while_another_thread_is_inside_a_call_does_not_hang_the_child():
    code = """
    import os, sys, threading
    from hipgraph_cb.virtual.install import install
    runtime = install(["gfx942"])
    from hip import hip
    held, leave = threading.Event(), threading.Event()
    def hold():
        with runtime.machine.calls.lock:
            held.set()
            leave.wait()
    threading.Thread(target=hold).start()
    held.wait()
    child = os.fork()
    if child == 0:
        print(hip.hipGetDeviceCount()[0], flush=True)
        sys.exit(0)
    leave.set()
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    """
    assert result_of(run(code)) == (0, "3\n0", "")


def test_a_spawned_child_has_a_virtual_gpu_of_its_own(tmp_path):
    (tmp_path / "spawning.py").write_text(
        "import multiprocessing, sys\n"
        "def count(queue):\n"
        "    from hipgraph_cb.virtual.install import install\n"
        "    install(['gfx942', 'gfx942'])\n"
        "    from hip import hip\n"
        "    queue.put(int(hip.hipGetDeviceCount()[1]))\n"
        "if __name__ == '__main__':\n"
        "    from hipgraph_cb.virtual.install import install\n"
        "    install(['gfx942'])\n"
        "    spawn = multiprocessing.get_context('spawn')\n"
        "    queue = spawn.Queue()\n"
        "    child = spawn.Process(target=count, args=(queue,))\n"
        "    child.start(); print(queue.get()); child.join(); print(child.exitcode)\n"
    )
    code = f"import runpy; runpy.run_path({str(tmp_path / 'spawning.py')!r}, run_name='__main__')"
    (tmp_path / "driver.py").write_text(code)
    assert result_of(
        run(f"import subprocess, sys; sys.exit(subprocess.call([sys.executable, {str(tmp_path / 'spawning.py')!r}]))")
    ) == (0, "2\n0", "")


def test_calls_after_the_interpreter_has_closed_it_get_the_code_of_native_code():
    code = """
    import atexit, ctypes
    def late():
        library = ctypes.CDLL("libamdhip64.so")
        library.hipGetErrorName.restype = ctypes.c_char_p
        print(library.hipGetDeviceCount(None), library.hipGetErrorName(0).decode())
    atexit.register(late)
    from hipgraph_cb.virtual.install import install
    install(["gfx942"])
    """
    assert result_of(run(code)) == (0, "4 hipErrorDeinitialized", "")


def test_objects_that_call_hip_when_the_process_ends_do_no_harm():
    code = """
    from hipgraph_cb.virtual.install import install
    install(["gfx942"])
    from hip import hip
    class Owner:
        def __del__(self, hip=hip):
            hip.hipGetDevice()
            hip.hipGetDeviceCount()
    owner = Owner()
    owner.itself = owner
    import builtins
    builtins.kept = Owner()
    """
    assert result_of(run(code)) == (0, "", "")

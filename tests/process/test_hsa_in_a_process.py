"""The virtual HSA library and the life of a process: start, Ctrl-C, fork, end, other C clients."""

from __future__ import annotations

import re
import subprocess

from support.child import result_of, run
from support.tools import require_tool

ADVICE = (
    "was forked from one that uses the virtual GPU, whose worker threads do not exist here; start it with "
    'multiprocessing\'s "spawn" method (or subprocess) instead of fork'
)


def test_hsa_alone_needs_no_hip():
    code = """
    import ctypes, sys
    from support.hsa_client import Client
    from hipgraph_cb.virtual.install import install_hsa
    install_hsa(["gfx942", "gfx1100"])
    client = Client()
    print(len(client.others), sorted(name for name in sys.modules if name in ("hip", "rocm")))
    print("hipgraph_cb.virtual.hip" in sys.modules)
    """
    assert result_of(run(code)) == (0, "1 []\nFalse", "")


def test_two_gpus_have_queues_of_their_own_and_wait_for_each_other():
    code = """
    import numpy as np
    from support.hsa_client import Client, barrier, dispatch
    from hipgraph_cb.virtual.install import install_hsa
    library = install_hsa(["gfx942", "gfx942"])
    client = Client()
    first, second = client.gpu, client.others[0]
    modules = [client.load("clang/k_cl.gfx942.hsaco", gpu) for gpu in (first, second)]
    queues = [client.queue(gpu=gpu) for gpu in (first, second)]
    y = client.upload(np.ones(64, np.float32))
    grid = (64, 1, 1)
    between, done = client.signal(), client.signal()
    kernarg = modules[0].kernargs("saxpy", grid, grid, "QQfI", y, y, 2.0, 64)
    packets = [dispatch(kernarg, grid, grid, **module.kernel("saxpy"), completion=signal, barrier=True)
               for module, signal in zip(modules, (between, done))]
    queues[1].submit(barrier(between), packets[1])
    queues[0].submit(packets[0])
    print(client.wait(done), set(client.read(y, 64, np.float32)) == {9.0})
    queues[0].submit(packets[1])
    print(hex(queues[0].wait_for_error()[0]), library.fault_report().partition("kernel ")[2])
    """
    other = "saxpy was loaded for GPU 1, and the queue is one of GPU 0"
    assert result_of(run(code)) == (0, f"0 True\n0x1010 {other}", "")


def test_hip_alone_needs_no_hsa():
    code = """
    import sys
    from hipgraph_cb.virtual.install import install
    install(["gfx942"])
    print("hipgraph_cb.virtual.hsa" in sys.modules)
    """
    assert result_of(run(code)) == (0, "False", "")


def test_nothing_is_answered_before_hsa_init_and_after_hsa_shut_down():
    code = """
    import ctypes
    from hipgraph_cb.virtual.install import install_hsa
    library = install_hsa(["gfx942"])
    hsa = ctypes.CDLL("libhsa-runtime64.so.1")
    value = ctypes.c_uint64()
    ask = lambda: hex(hsa.hsa_system_get_info(2, ctypes.byref(value)))
    print(ask(), hex(hsa.hsa_shut_down()))
    print(hsa.hsa_init(), hsa.hsa_init(), ask(), hsa.hsa_shut_down(), ask(), hsa.hsa_shut_down(), ask())
    """
    assert result_of(run(code)) == (0, "0x100b 0x100b\n0 0 0x0 0 0x0 0 0x100b", "")


def test_shutting_down_gives_everything_back():
    code = """
    from support.endless_hsa import client, library, launch, module, queue
    launch()
    assert client.hsa.hsa_shut_down() == 0
    print(library.machine.memory.live_bytes, len(library.runtime.kernels))
    assert client.hsa.hsa_init() == 0
    print(hex(client.hsa.hsa_queue_destroy(queue.address)), hex(client.hsa.hsa_executable_destroy(module.executable)))
    """
    assert result_of(run(code)) == (0, "0 0\n0x1007 0x1011", "")


def test_a_wait_for_a_signal_is_interrupted_by_ctrl_c_and_the_kernel_is_stopped():
    code = """
    from support.child import interrupt_when_waiting
    from support.endless_hsa import client, done, library, launch, queue
    launch()
    try:
        interrupt_when_waiting(library)
        client.wait(done, 600)
        print("the wait came back")
    except KeyboardInterrupt:
        print("interrupted")
    print(hex(queue.wait_for_error()[0]))
    print(library.fault_report().splitlines()[0].partition(": ")[2])
    """
    stopped = "kernel endless: kernel stopped before its end: stopped because Ctrl-C ended the wait for it"
    assert result_of(run(code)) == (0, f"interrupted\n0x1016\n{stopped}", "")


def test_exit_while_a_kernel_runs_and_a_queue_is_live():
    code = """
    from support.endless_hsa import launch, library
    launch()
    while library.machine.gpus[0].worker.running is None: pass
    print("end")
    """
    assert result_of(run(code)) == (0, "end", "")


def test_exit_with_handlers_waiting_and_another_thread_in_a_wait():
    code = """
    import ctypes, threading
    from support.endless_hsa import client, done, library
    handler = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_int64, ctypes.c_void_p)(lambda value, data: True)
    client.hsa.hsa_amd_signal_async_handler(done, 2, 1, handler, None)
    threading.Thread(target=client.wait, args=(client.signal(), 600), daemon=True).start()
    while not library.machine.calls.sleepers: pass
    """
    assert result_of(run(code)) == (0, "", "")


def test_in_a_forked_child_every_call_is_refused():
    code = """
    import os
    from support.endless_hsa import client, done, library, launch
    child = os.fork()
    if child == 0:
        import ctypes
        signal = ctypes.c_uint64()
        print(hex(client.hsa.hsa_signal_create(1, 0, None, ctypes.byref(signal))), library.fault_report(), flush=True)
        os._exit(0)
    os.waitpid(child, 0)
    """
    status, output, errors = result_of(run(code))
    assert (status, re.sub(r"process \d+", "process N", output), errors) == (
        0,
        f"0x100b hsa_signal_create: process N {ADVICE}",
        "",
    )


SOURCE = """
#include <stdint.h>
int hsa_init(void);
int hsa_iterate_agents(int (*callback)(uint64_t, void *), void *data);
int hsa_signal_create(int64_t value, uint32_t count, void *consumers, uint64_t *signal);
int64_t hsa_signal_load_relaxed(uint64_t signal);
void hsa_signal_subtract_screlease(uint64_t signal, int64_t value);
int hsa_shut_down(void);
void hsa_signal_store_relaxed(uint64_t signal, int64_t value);
static uint64_t kept;
static int count_one(uint64_t agent, void *data) { ++*(int *)data; return 0; }
__attribute__((destructor)) static void at_exit(void) {
  hsa_signal_store_relaxed(kept, hsa_signal_load_relaxed(kept));
  hsa_shut_down();
}
int client(void) {
  int agents = 0;
  uint64_t signal = 0;
  if (hsa_init() || hsa_iterate_agents(count_one, &agents) || hsa_signal_create(45, 0, 0, &signal)) return -1;
  hsa_signal_subtract_screlease(signal, 5);
  int64_t value = hsa_signal_load_relaxed(signal);
  return hsa_signal_create(1, 0, 0, &kept) ? -2 : agents + (int)value;
}
"""


def test_a_compiled_client_that_imports_versioned_symbols_runs_and_may_call_at_exit(tmp_path):
    """Its destructor runs after the interpreter: native code answers, and a signal is still memory."""
    require_tool("clang-19")
    require_tool("ld.lld-19")
    names = sorted(set(re.findall(r"\bhsa_\w+(?=\()", SOURCE)))
    (tmp_path / "stand_in.c").write_text("".join(f"void {name}(void) {{}}\n" for name in names))
    (tmp_path / "stand_in.map").write_text("ROCR_1 { global: hsa_*; local: *; };")
    (tmp_path / "client.c").write_text(SOURCE)
    build = ["clang-19", "-shared", "-fPIC", "-nostdlib", "-fuse-ld=lld"]
    stand_in = tmp_path / "stand-in" / "libhsa-runtime64.so.1"
    stand_in.parent.mkdir()
    map_option = f"-Wl,--version-script={tmp_path / 'stand_in.map'},-soname,libhsa-runtime64.so.1"
    subprocess.run([*build, tmp_path / "stand_in.c", map_option, "-o", stand_in], check=True)
    subprocess.run([*build, tmp_path / "client.c", stand_in, "-o", tmp_path / "client.so"], check=True)
    code = f"""
    import ctypes
    from hipgraph_cb.virtual.install import install_hsa
    install_hsa(["gfx942"])
    print(ctypes.CDLL({str(tmp_path / "client.so")!r}).client())
    """
    assert result_of(run(code)) == (0, "42", "")

"""A Python program finds the library as a file, and all that it loads there leads to the same GPUs."""

from __future__ import annotations

import sys
import sysconfig
from pathlib import Path

from support.child import ROOT


def test_the_library_is_a_file_of_the_process(run, library_folder):
    code = """
import ctypes, os
library = ctypes.CDLL("libamdhip64.so")
n = ctypes.c_int(); print(library.hipGetDeviceCount(ctypes.byref(n)), n.value)
mapped = {line.split()[5] for line in open("/proc/self/maps") if "amdhip64" in line}
expected = os.path.join(os.environ["ROCM_PATH"], "lib", "libamdhip64.so.7")
print(expected in mapped, any("memfd" in name for name in mapped))
"""
    assert run(sys.executable, "-c", code) == (0, "0 2\nTrue False", "")


def test_an_array_of_one_client_is_read_by_another(run):
    code = """
import ctypes
library = ctypes.CDLL("libamdhip64.so.7")
place = ctypes.c_void_p()
print(library.hipMalloc(ctypes.byref(place), 16), library.hipMemset(place, 1, 16))
import logging; logging.disable()
from hipgraph_cb import open_device
with open_device() as device, open_device("hsa") as other:
    print(device.import_buffer(place.value, 16).to_host("u4")[0], device.name == other.name)
"""
    assert run(sys.executable, "-c", code) == (0, "0 0\n16843009 True", "")


def test_a_python_that_does_not_know_the_package_finds_it_when_it_calls(run):
    base = Path(sysconfig.get_config_var("BINDIR")) / f"python{sys.version_info.major}.{sys.version_info.minor}"
    code = """
import ctypes, importlib.util
print(importlib.util.find_spec("hipgraph_cb"))
n = ctypes.c_int(); print(ctypes.CDLL("libamdhip64.so.7").hipGetDeviceCount(ctypes.byref(n)), n.value)
import hipgraph_cb; print(hipgraph_cb.__file__)
"""
    expected = f"None\n0 2\n{ROOT / 'hipgraph_cb' / '__init__.py'}"
    assert run(base, "-I", "-S", "-c", code) == (0, expected, "")


def test_calls_after_python_has_finalised_release_and_ask_with_success(run):
    code = """
import ctypes, os
library = ctypes.CDLL("libamdhip64.so.7")
place = ctypes.c_void_p()
library.hipMalloc(ctypes.byref(place), 16)
import atexit
def late():
    device = ctypes.c_int(-1)
    print(library.hipFree(place), library.hipDeviceSynchronize(), library.hipSetDevice(1), library.hipStreamDestroy(0))
    print(library.hipGetDevice(ctypes.byref(device)), device.value, library.hipGetDevice(None), library.hipMalloc(0, 4))
atexit._run_exitfuncs()
late()
"""
    assert run(sys.executable, "-c", code) == (0, "0 0 0 0\n0 0 0 4", "")


def test_a_thread_that_c_made_gives_its_state_back_when_it_ends(run, compiled):
    library = compiled("thread_ends", "-shared", "-fPIC")
    code = f"""
import ctypes
from hipgraph_cb.virtual import install
client = ctypes.CDLL({str(library)!r})
print(client.in_threads(50, 4))
runtime = install.install_hip(["gfx942", "gfx942"])._runtime
ctypes.CDLL("libamdhip64.so.7").hipDeviceSynchronize()
print(len(runtime.threads_with_error), sum(len(gpu.streams) for gpu in runtime.gpus))
"""
    assert run(sys.executable, "-c", code) == (0, "0\n0 2", "")

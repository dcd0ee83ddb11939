"""C++ code that clang compiled in HIP mode, linked against symbol versions, runs in the process."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from support.bundle import bundle_of
from support.child import result_of, run
from support.stand_in import stand_in_for_hip

SOURCE = Path(__file__).resolve().parents[1] / "fixtures" / "virtual" / "client.hip"
C_LIBRARY = Path("/lib/x86_64-linux-gnu/libc.so.6")
FUNCTIONS = sorted(set(re.findall(r"\b(?:__)?hip[A-Z]\w+(?=\()", SOURCE.read_text())) | {
    "__hipRegisterFatBinary", "__hipRegisterFunction", "__hipRegisterVar", "__hipUnregisterFatBinary"})  # fmt: skip

needs_clang = pytest.mark.skipif(
    shutil.which("clang++-19") is None or shutil.which("ld.lld-19") is None, reason="clang-19 and lld build the client"
)


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    folder = tmp_path_factory.mktemp("client")
    library, code, bundle, program = (folder / name for name in ("client.so", "code.hsaco", "code.hipfb", "client.o"))
    compile_ = ["clang++-19", "-x", "hip", "--offload-arch=gfx942", "-nogpuinc", "-nogpulib", "-O2", SOURCE, "-o"]
    subprocess.run([*compile_, code, "--offload-device-only", "--no-gpu-bundle-output"], check=True)
    bundle.write_bytes(bundle_of(gfx942=code.read_bytes()))
    embed = ["-Xclang", "-fcuda-include-gpubinary", "-Xclang", bundle]
    subprocess.run([*compile_, program, "--offload-host-only", "-fPIC", "-c", *embed], check=True)
    link = ["clang++-19", "-shared", "-nostdlib", "-fuse-ld=lld", program, stand_in_for_hip(folder, FUNCTIONS)]
    subprocess.run([*link, C_LIBRARY, "-o", library], check=True)
    return library


@needs_clang
def test_kernels_variables_and_graphs_of_compiled_code_work(client):
    code = f"""
    import ctypes
    import numpy as np
    from hipgraph_cb.virtual.install import install
    runtime = install(["gfx942"])
    client = ctypes.CDLL({str(client)!r}).client
    values = np.arange(100, dtype=np.int32)
    print(client(ctypes.c_void_p(values.ctypes.data), 100, 5), runtime.fault_report())
    print((values == np.arange(100) * 75).all())
    """
    assert result_of(run(code)) == (0, "0 None\nTrue", "")


@needs_clang
def test_compiled_code_is_called_from_four_threads(client):
    code = f"""
    import ctypes, threading
    import numpy as np
    from hipgraph_cb.virtual.install import install
    install(["gfx942"])
    client = ctypes.CDLL({str(client)!r}).client
    arrays = [np.arange(10 + index, dtype=np.int32) for index in range(4)]
    codes = []
    def work(values):
        for _ in range(5):
            codes.append(client(ctypes.c_void_p(values.ctypes.data), len(values), 1))
    threads = [threading.Thread(target=work, args=(values,)) for values in arrays]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    print(set(codes), len(codes))
    """
    assert result_of(run(code)) == (0, "{0} 20", "")


@needs_clang
def test_without_a_device_for_the_code_a_launch_says_so(client):
    code = f"""
    import ctypes
    import numpy as np
    from hipgraph_cb.virtual.install import install
    runtime = install(["gfx1100"])
    client = ctypes.CDLL({str(client)!r}).client
    print(client(ctypes.c_void_p(np.zeros(4, np.int32).ctypes.data), 4, 1))
    print("gfx942" in runtime.fault_report())
    """
    assert result_of(run(code)) == (0, "209\nTrue", "")

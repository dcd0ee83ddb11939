"""hip-python must run on the virtual library, or the process hears which other one it runs on."""

from __future__ import annotations

import subprocess

import pytest
from support.child import result_of, run
from support.tools import require_tool

from hipgraph_cb.virtual.shared_object import ExportedFunction, build_image

INSTALL = """
from hipgraph_cb.virtual.install import install
runtime = install(["gfx942"])
from hip import hip
print(*hip.hipGetDeviceCount())
"""


@pytest.fixture
def other_rocm(tmp_path):
    """A folder like /opt/rocm, with a library whose hipGetDeviceCount says 100 (no device)."""
    (tmp_path / "lib").mkdir()
    image = build_image("libamdhip64.so.7", [ExportedFunction("hipGetDeviceCount", None, 100)])
    (tmp_path / "lib" / "libamdhip64.so").write_bytes(image)
    return tmp_path


def test_hip_python_runs_on_the_virtual_library():
    assert result_of(run(INSTALL)) == (0, "0 1", "")


def test_another_rocm_in_the_environment_is_not_used(other_rocm):
    assert result_of(run(INSTALL, ROCM_PATH=str(other_rocm))) == (0, "0 1", "")


def test_a_library_that_hip_python_has_opened_before_is_named(other_rocm):
    code = """
    from hip import hip
    assert hip.hipGetDeviceCount()[0] == 100
    from hipgraph_cb.errors import FailedPreconditionError
    from hipgraph_cb.virtual.install import install
    try:
        install(["gfx942"])
    except FailedPreconditionError as error:
        print(error)
    """
    expected = (
        "hip-python runs on another HIP library than the virtual GPU's\n"
        f"  found: {other_rocm}/lib/libamdhip64.so\n"
        "  allowed: that open_device() is called before the first call of a HIP function\n"
        "  next: call open_device() first; where there is a real GPU, unset HIPGRAPH_CB_VIRTUAL"
    )
    assert result_of(run(code, ROCM_PATH=str(other_rocm))) == (0, expected, "")


def test_the_resolver_of_hip_python_is_left_as_it_was():
    code = """
    from rocm.bindings.util import paths
    before = paths.get_library_path
    from hipgraph_cb.virtual.install import install
    install(["gfx942"])
    print(paths.get_library_path is before)
    """
    assert result_of(run(code)) == (0, "True", "")


def test_a_c_client_finds_it_under_every_soname_and_version():
    code = """
    import ctypes
    from hipgraph_cb.virtual.install import install
    install(["gfx942", "gfx1100"])
    dlvsym = ctypes.CDLL(None).dlvsym
    dlvsym.restype, dlvsym.argtypes = ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p]
    for soname in ("libamdhip64.so", "libamdhip64.so.6", "libamdhip64.so.7"):
        library, count = ctypes.CDLL(soname), ctypes.c_int()
        print(library.hipGetDeviceCount(ctypes.byref(count)), count.value, hasattr(library, "hipNoSuchFunction"))
        print(bool(dlvsym(library._handle, b"hipGetDeviceCount", b"hip_4.2")),
              bool(dlvsym(library._handle, b"hipGetDevicePropertiesR0600", b"hip_6.0")),
              bool(dlvsym(library._handle, b"hipGetDeviceCount", b"hip_6.0")))
    """
    assert result_of(run(code)) == (0, "\n".join(["0 2 False", "True True False"] * 3), "")


def test_a_program_linked_against_versioned_symbols_loads(tmp_path):
    require_tool("clang-19")
    (tmp_path / "client.c").write_text(
        "int hipGetDeviceCount(int*); int client(void) { int n = 0; return hipGetDeviceCount(&n) ? -1 : n; }"
    )
    (tmp_path / "versions.c").write_text("int hipGetDeviceCount(int*n) { return 0; }")
    (tmp_path / "versions.map").write_text("hip_4.2 { global: *; };")
    build = ["clang-19", "-shared", "-fPIC", "-nostdlib", "-o"]
    stub = tmp_path / "stub" / "libamdhip64.so.6"
    stub.parent.mkdir()
    subprocess.run(
        [*build, stub, tmp_path / "versions.c", "-Wl,-soname,libamdhip64.so.6",
         f"-Wl,--version-script={tmp_path / 'versions.map'}"], check=True)  # fmt: skip
    subprocess.run([*build, tmp_path / "client.so", tmp_path / "client.c", stub], check=True)
    code = f"""
    import ctypes
    from hipgraph_cb.virtual.install import install
    install(["gfx942"])
    print(ctypes.CDLL({str(tmp_path / "client.so")!r}).client())
    """
    assert result_of(run(code)) == (0, "1", "")


def test_where_memfd_is_refused_a_temporary_file_is_used_and_removed(tmp_path):
    code = """
    import os
    def refuse(*arguments):
        raise OSError(38, "Function not implemented")
    os.memfd_create = refuse
    from hipgraph_cb.virtual.install import install
    print(install(["gfx942"]).library_path.startswith(os.environ["TMPDIR"]))
    from hip import hip
    print(*hip.hipGetDeviceCount())
    """
    assert result_of(run(code, TMPDIR=str(tmp_path))) == (0, "True\n0 1", "")
    assert list(tmp_path.iterdir()) == []


def test_a_missing_hip_python_is_said_plainly():
    code = """
    import sys
    sys.modules["rocm"] = None
    from hipgraph_cb.errors import UnavailableError
    from hipgraph_cb.virtual.install import install
    try:
        install(["gfx942"])
    except UnavailableError as error:
        print(error)
    """
    finished = run(code)
    assert finished.returncode == 0
    assert finished.stdout.startswith("hip-python cannot be imported\n  found: ")
    assert finished.stdout.endswith("\n  next: install hip-python 10 or newer\n")

"""The ELF writer, checked with pyelftools, LLVM's reader and the dynamic loader."""

from __future__ import annotations

import ctypes
import io
import subprocess

import pytest
from elftools.elf.elffile import ELFFile
from support.tools import require_tool

from hipgraph_cb.virtual.native_library import NativeLibrary
from hipgraph_cb.virtual.shared_object import ExportedFunction, build_image, elf_hash

FUNCTIONS = [
    ExportedFunction("first", "v_1.0", 41),
    ExportedFunction("second", "v_2.0", 0x8000_0007),
    ExportedFunction("named", "v_1.0", "a text"),
    ExportedFunction("plain", None, 3),
]


def dynamic(image: bytes):
    (segment,) = [s for s in ELFFile(io.BytesIO(image)).iter_segments() if s["p_type"] == "PT_DYNAMIC"]
    return segment


def test_every_function_is_a_symbol_of_its_own():
    symbols = {s.name: s for s in dynamic(build_image("libx.so.1", FUNCTIONS)).iter_symbols() if s.name}
    assert set(symbols) == {"first", "second", "named", "plain", "hipgraph_cb_library"}
    assert len({symbols[f.name]["st_value"] for f in FUNCTIONS}) == len(FUNCTIONS)


def test_no_segment_is_writable_and_executable():
    segments = ELFFile(io.BytesIO(build_image("libx.so.1", FUNCTIONS))).iter_segments()
    flags = [(s["p_type"], s["p_flags"]) for s in segments]
    assert flags == [("PT_LOAD", 5), ("PT_LOAD", 6), ("PT_DYNAMIC", 6), ("PT_GNU_STACK", 6)]


def test_the_dynamic_table_names_the_library():
    tags = {t.entry.d_tag: t for t in dynamic(build_image("libx.so.1", FUNCTIONS)).iter_tags()}
    assert tags["DT_SONAME"].soname == "libx.so.1"
    assert {"DT_HASH", "DT_VERSYM", "DT_VERDEF", "DT_RELA"} <= set(tags)


def test_a_library_without_versions_has_no_version_tables():
    image = build_image("libx.so.1", [ExportedFunction("plain")])
    tags = {t.entry.d_tag for t in dynamic(image).iter_tags()}
    assert not tags & {"DT_VERSYM", "DT_VERDEF", "DT_VERDEFNUM"}


@pytest.mark.parametrize(
    "name, value", [("", 0), ("printf", 0x077905A6), ("exit", 0x0006CF04), ("syscall", 0x0B09985C)]
)
def test_the_symbol_hash_is_that_of_the_system_v_abi(name, value):
    assert elf_hash(name) == value


def test_llvm_reads_the_versions(tmp_path):
    (tmp_path / "x.so").write_bytes(build_image("libx.so.1", FUNCTIONS, ["v_3.0"]))
    require_tool("llvm-readelf-19")
    command = ["llvm-readelf-19", "--dyn-syms", "-V", tmp_path / "x.so"]
    text = subprocess.run(command, capture_output=True, text=True, check=True)
    assert text.stderr == ""
    assert "FUNC    GLOBAL DEFAULT     1 first" in text.stdout


def test_a_function_returns_its_fallback_until_it_is_wired_and_after_it_is_restored():
    library = NativeLibrary(["libhipgraph_cb_test_a.so"], FUNCTIONS)
    client = ctypes.CDLL("libhipgraph_cb_test_a.so")
    client.named.restype = ctypes.c_char_p
    assert (client.first(), client.second(), client.named(), client.plain()) == (41, -0x7FFFFFF9, b"a text", 3)
    native = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(lambda value: value + 1)
    library.wire("first", ctypes.cast(native, ctypes.c_void_p).value)
    assert (client.first(5), client.plain()) == (6, 3)
    library.restore()
    assert client.first(5) == 41


def test_all_sonames_are_wired_together():
    names = ["libhipgraph_cb_test_b.so", "libhipgraph_cb_test_b.so.6", "libhipgraph_cb_test_b.so.7"]
    library = NativeLibrary(names, FUNCTIONS)
    native = ctypes.CFUNCTYPE(ctypes.c_int)(lambda: 77)
    library.wire("plain", ctypes.cast(native, ctypes.c_void_p).value)
    assert [ctypes.CDLL(name).plain() for name in names] == [77, 77, 77]
    assert len(set(library.paths.values())) == 3


def test_a_client_that_requests_a_version_gets_that_one_only():
    library = NativeLibrary(["libhipgraph_cb_test_c.so"], FUNCTIONS, ["v_3.0"])
    opened = ctypes.CDLL(library.paths["libhipgraph_cb_test_c.so"])
    dlvsym = ctypes.CDLL(None).dlvsym
    dlvsym.restype, dlvsym.argtypes = ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p]
    found = {version: bool(dlvsym(opened._handle, b"first", version)) for version in (b"v_1.0", b"v_2.0", b"v_3.0")}
    assert found == {b"v_1.0": True, b"v_2.0": False, b"v_3.0": False}


def test_a_thousand_functions_are_each_found():
    functions = [ExportedFunction(f"function_{index}", fallback=index) for index in range(1000)]
    library = NativeLibrary(["libhipgraph_cb_test_d.so"], functions)
    client = ctypes.CDLL(library.paths["libhipgraph_cb_test_d.so"])
    assert [getattr(client, f"function_{index}")() for index in range(1000)] == list(range(1000))
    assert not hasattr(client, "function_1000")

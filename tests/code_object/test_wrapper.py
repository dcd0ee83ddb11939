"""The AMD1 and HIP1 wrappers: header, FlatBuffer bounds, and the rules of each export."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from support.containers import Export, flatbuffer, wrapped, wrapper_header

from hipgraph_cb.code_object.wrapper import ExportDebug, WrappedExport, read_wrapper, wrapper_size
from hipgraph_cb.errors import HipGraphError, IncompatibleError, OutOfRangeError

CORPUS = Path(__file__).parents[1] / "fixtures" / "corpus" / "iree" / "gfx942"
IDENTIFIERS = (b"AMD1", b"HIP1")


def one_export(identifier: bytes, **fields: object) -> bytes:
    name = "scale.kd" if identifier == b"AMD1" else "scale"
    export = Export(**{"name": name, "workgroup_size": (4, 5, 6), "constants": 2, "bindings": 3, **fields})
    return wrapped(identifier, [export], [b"image"])


def message(data: bytes) -> str:
    with pytest.raises(HipGraphError) as caught:
        read_wrapper(data)
    return str(caught.value)


@pytest.mark.parametrize("identifier", IDENTIFIERS)
def test_an_export_is_read_as_it_was_written(identifier: bytes) -> None:
    found = read_wrapper(one_export(identifier))
    assert found.exports == (WrappedExport("scale", "scale.kd", (4, 5, 6), 2, (0, 0, 0), 0),)
    assert [image for _, image in found.modules] == [b"image"]


@pytest.mark.parametrize("identifier", IDENTIFIERS)
def test_a_module_knows_its_offset_in_the_file(identifier: bytes) -> None:
    data = one_export(identifier)
    ((offset, image),) = read_wrapper(data).modules
    assert data[offset : offset + len(image)] == b"image"


def test_the_isa_text_of_an_amd1_wrapper_is_kept() -> None:
    assert read_wrapper(wrapped(b"AMD1", [], [b"image"], isa="gfx1100")).isa == "gfx1100"


@pytest.mark.parametrize(("folder", "name"), [("ew", "ew.amd1.fb"), ("ew", "ew.hip1.fb"), ("mm", "mm.amd1.fb")])
def test_the_module_of_a_compiled_wrapper_is_its_code_object(folder: str, name: str) -> None:
    data = (CORPUS / folder / name).read_bytes()
    ((offset, image),) = read_wrapper(data).modules
    assert offset == data.index(b"\x7fELF")
    assert len(image) == struct.unpack_from("<I", data, offset - 4)[0]


def test_the_exports_of_a_compiled_wrapper() -> None:
    found = read_wrapper((CORPUS / "ew" / "ew.hip1.fb").read_bytes()).exports
    assert [(export.symbol, export.workgroup_size, export.binding_count) for export in found] == [
        ("ew_dispatch_0_elementwise_4096_f32.kd", (64, 1, 1), 3),
        ("dyn_dispatch_0_elementwise_D_f32.kd", (64, 1, 1), 3),
    ]


def test_a_header_that_is_cut_off() -> None:
    assert message(one_export(b"AMD1")[:63]) == (
        "the wrapper is shorter than its header\n"
        "  found: 63 bytes\n"
        "  allowed: at least 64\n"
        "  next: the file is truncated; build or copy it again"
    )


def test_another_wrapper_version_is_incompatible() -> None:
    content = flatbuffer(b"AMD1", [], [b"image"])
    with pytest.raises(IncompatibleError) as caught:
        read_wrapper(wrapper_header(b"AMD1", len(content), version=7) + content)
    assert str(caught.value) == (
        "the wrapper has a version that is not supported\n"
        "  where: file offset 4\n"
        "  found: version 7\n"
        "  allowed: version 0"
    )


def test_a_content_size_of_zero_is_refused() -> None:
    assert message(wrapper_header(b"HIP1", 0)) == (
        "the wrapper is empty\n  where: file offset 8 (content size)\n  found: 0 bytes"
    )


def test_a_content_size_past_the_end_shows_both_sizes() -> None:
    with pytest.raises(OutOfRangeError) as caught:
        read_wrapper(wrapper_header(b"AMD1", 100) + bytes(99))
    assert str(caught.value) == (
        "the wrapper is truncated\n"
        "  where: file offset 8 (content size)\n"
        "  found: 99 bytes after the header\n"
        "  allowed: at least 100\n"
        "  next: the file is truncated; build or copy it again"
    )


def test_bytes_after_the_content_are_ignored() -> None:
    data = one_export(b"AMD1")
    assert read_wrapper(data + b"more") == read_wrapper(data)
    assert wrapper_size((data + b"more")[:64]) == len(data)


def test_the_reserved_header_bytes_are_not_looked_at() -> None:
    data = one_export(b"AMD1")
    assert read_wrapper(data[:16] + b"\xff" * 48 + data[64:]) == read_wrapper(data)


def test_the_flatbuffer_repeats_the_identifier() -> None:
    content = flatbuffer(b"HIP1", [], [b"image"])
    assert message(wrapper_header(b"AMD1", len(content)) + content) == (
        "malformed FlatBuffer: the file identifier is wrong\n"
        "  where: file offset 68\n"
        "  found: b'HIP1'\n"
        "  allowed: b'AMD1'\n"
        "  next: the file is truncated or was edited; build it again"
    )


@pytest.mark.parametrize("identifier", IDENTIFIERS)
@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        (
            {"name": None},
            "an export has no usable name\n  where: exports[0]\n  found: 0 characters\n  allowed: 1 to 4096",
        ),
        (
            {"name": "n" * 4097},
            "an export has no usable name\n  where: exports[0]\n  found: 4097 characters\n  allowed: 1 to 4096",
        ),
        (
            {"workgroup_size": None},
            "an export has no workgroup size\n  where: exports[0]\n  found: none\n  allowed: three numbers >= 1",
        ),
        (
            {"workgroup_size": (4, 0, 1)},
            "an export has no workgroup size\n  where: exports[0]\n  found: 4x0x1\n  allowed: three numbers >= 1",
        ),
        (
            {"constants": 65536},
            "an export takes too many values\n  where: exports[0]\n"
            "  found: 65536 constants, 3 bindings\n  allowed: at most 65535 of each",
        ),
        (
            {"bindings": 65536},
            "an export takes too many values\n  where: exports[0]\n"
            "  found: 2 constants, 65536 bindings\n  allowed: at most 65535 of each",
        ),
        (
            {"debug": ("", ("", 3), [])},
            "a source location has no file name\n  where: exports[0].debug_info.location\n"
            "  found: no text\n  allowed: a file name",
        ),
        (
            {"debug": ("", None, [("", None)])},
            "a stage has no name\n  where: exports[0].debug_info.stage_locations[0]\n"
            "  found: no text\n  allowed: a name",
        ),
        (
            {"debug": ("", None, [("vectorize", ("", 1))])},
            "a source location has no file name\n  where: exports[0].debug_info.stage_locations[0].location\n"
            "  found: no text\n  allowed: a file name",
        ),
    ],
)
def test_an_export_that_breaks_a_rule_is_named(identifier: bytes, fields: dict[str, object], expected: str) -> None:
    assert message(one_export(identifier, **fields)) == expected


@pytest.mark.parametrize("identifier", IDENTIFIERS)
def test_where_a_kernel_comes_from_is_kept(identifier: bytes) -> None:
    stages = [("lower", None), ("vectorize", ("b.mlir", 2))]
    (export,) = read_wrapper(one_export(identifier, debug=("scale it", ("a.mlir", 1), stages))).exports
    assert export.debug == ExportDebug("scale it", ("a.mlir", 1), tuple(stages))
    assert str(export.debug.shown) == "b.mlir:2"


@pytest.mark.parametrize("identifier", IDENTIFIERS)
def test_a_kernel_without_stages_shows_the_place_in_the_source(identifier: bytes) -> None:
    (export,) = read_wrapper(one_export(identifier, debug=("", ("a.mlir", 7), []))).exports
    assert export.debug is not None
    assert str(export.debug.shown) == "a.mlir:7"


@pytest.mark.parametrize("identifier", IDENTIFIERS)
def test_the_flags_of_bindings_are_kept_whatever_they_are(identifier: bytes) -> None:
    (export,) = read_wrapper(one_export(identifier, bindings=(3, 2, 1 << 63))).exports
    assert export.binding_flags == (3, 2, 1 << 63)


@pytest.mark.parametrize("identifier", IDENTIFIERS)
def test_source_files_are_kept(identifier: bytes) -> None:
    sources = {"a.mlir": b"module {}", "b/c.mlir": bytes(range(256))}
    assert read_wrapper(wrapped(identifier, [], [b"image"], sources=sources)).source_files == tuple(sources.items())


def test_a_hip1_export_must_name_a_module_that_exists() -> None:
    assert message(one_export(b"HIP1", module=1)) == (
        "an export names a module that is not there\n  where: exports[0]\n  found: 1\n  allowed: below 1"
    )


def test_a_hip1_export_may_not_ask_for_block_shared_memory() -> None:
    assert message(one_export(b"HIP1", block_shared_memory=64)) == (
        "block_shared_memory_size is no longer supported\n  where: exports[0]\n  found: 64\n  allowed: 0"
    )


def test_a_module_without_an_image_is_refused() -> None:
    assert message(wrapped(b"AMD1", [], [b""])) == (
        "a module has no image\n  where: modules[0]\n  found: no bytes\n  allowed: a code object"
    )


def test_a_string_must_end_with_nul() -> None:
    data = bytearray(one_export(b"AMD1"))
    position = data.index(b"scale.kd\0") + 8
    data[position] = 0x41
    assert message(bytes(data)) == (
        "malformed FlatBuffer: exports[0].name does not end with NUL\n"
        f"  where: file offset {position}\n"
        "  found: 0x41\n"
        "  allowed: 0x00\n"
        "  next: the file is truncated or was edited; build it again"
    )


def test_a_string_length_past_the_end_is_refused() -> None:
    data = bytearray(one_export(b"AMD1"))
    position = data.index(b"scale.kd\0") - 4
    struct.pack_into("<I", data, position, 0xFFFFFFFF)
    assert message(bytes(data)) == (
        "malformed FlatBuffer: exports[0].name runs past the end\n"
        f"  where: file offset {position + 4}\n"
        "  found: 4294967295 bytes\n"
        f"  allowed: {len(data) - 64} bytes in all\n"
        "  next: the file is truncated or was edited; build it again"
    )


def test_modules_that_share_one_image_do_not_multiply_it() -> None:
    found = message(wrapped(b"HIP1", [], [b"x" * 4000], repeat=50))
    assert found.startswith("malformed FlatBuffer: its strings overlap\n")


@pytest.mark.parametrize("identifier", IDENTIFIERS)
def test_no_strict_prefix_of_a_wrapper_is_accepted(identifier: bytes) -> None:
    data = one_export(identifier)
    for length in range(len(data)):
        with pytest.raises(HipGraphError):
            read_wrapper(data[:length])

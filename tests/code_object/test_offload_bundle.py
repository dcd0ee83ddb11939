"""Clang offload bundles, plain and compressed."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from support.containers import HOST_ENTRY, bundle, compressed, hip_entry, zstd

from hipgraph_cb.code_object.offload_bundle import read_bundle, stated_target
from hipgraph_cb.errors import (
    HipGraphError,
    InvalidArgumentError,
    OutOfRangeError,
    ResourceExhaustedError,
    UnimplementedError,
)

CORPUS = Path(__file__).parents[1] / "fixtures" / "corpus" / "clang"
PLAIN = bundle((HOST_ENTRY, b""), (hip_entry("gfx90a"), b"first"), (hip_entry("gfx942:xnack+"), b"second"))


def contents(data: bytes) -> list[tuple[str, str | None, bytes]]:
    entries, _ = read_bundle(data)
    return [(entry.kind, entry.target, bytes(entry.data)) for entry in entries]


def message(data: bytes, kind: type[HipGraphError] = InvalidArgumentError) -> str:
    with pytest.raises(kind) as caught:
        read_bundle(data)
    return str(caught.value)


def test_a_plain_bundle_lists_every_entry() -> None:
    assert contents(PLAIN) == [
        ("host", None, b""),
        ("hipv4", "gfx90a", b"first"),
        ("hipv4", "gfx942:xnack+", b"second"),
    ]


@pytest.mark.parametrize("version", [1, 2, 3])
def test_a_zlib_bundle_of_any_header_version_holds_the_plain_one(version: int) -> None:
    assert contents(compressed(PLAIN, version=version)) == contents(PLAIN)


def test_a_zstd_bundle_made_by_clang_holds_what_the_zstd_library_finds() -> None:
    data = (CORPUS / "h_hip.cbundle").read_bytes()
    plain = zstd.decompress(data[24:])
    assert contents(data) == contents(plain)
    assert [target for _, target, _ in contents(data)] == [None, "gfx1100", "gfx90a"]


def test_the_size_of_a_bundle_ends_with_its_last_entry() -> None:
    assert read_bundle(PLAIN + b"behind")[1] == len(PLAIN)


def test_the_size_of_a_compressed_bundle_is_the_one_it_states() -> None:
    data = compressed(PLAIN)
    assert read_bundle(data + b"behind")[1] == len(data)


@pytest.mark.parametrize(
    ("triple", "target"),
    [
        ("hipv4-amdgcn-amd-amdhsa--gfx90a", "gfx90a"),
        ("hip-amdgcn-amd-amdhsa-unknown-gfx90a:sramecc+:xnack-", "gfx90a:sramecc+:xnack-"),
        ("hipv4-amdgcn-amd-amdhsa--gfx9-4-generic:xnack+", "gfx9-4-generic:xnack+"),
        ("amdgpu9.42-amd-amdhsa-unknown-gfx942", "gfx942"),
        ("host-x86_64-unknown-linux--", None),
        ("hip-amdgcn-amd-amdhsa-", None),
    ],
)
def test_the_target_follows_the_environment_of_a_triple(triple: str, target: str | None) -> None:
    assert stated_target(triple) == target


def test_an_entry_past_the_end() -> None:
    data = bytearray(bundle((hip_entry("gfx90a"), b"12345678"), alignment=64))
    struct.pack_into("<Q", data, 40, 9)
    assert message(bytes(data), OutOfRangeError) == (
        "entry 0 of the bundle is past the end\n"
        "  where: file offset 128\n"
        "  found: 136 bytes\n"
        "  allowed: at least 137\n"
        "  next: the file is truncated; build or copy it again"
    )


def test_a_count_of_entries_that_are_not_there() -> None:
    data = b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<Q", 1 << 60)
    assert message(data, OutOfRangeError) == (
        "entry 0 of 1152921504606846976 in the bundle header is past the end\n"
        "  where: file offset 32\n"
        "  found: 32 bytes\n"
        "  allowed: at least 56\n"
        "  next: the file is truncated; build or copy it again"
    )


def test_a_compressed_size_past_the_end() -> None:
    data = compressed(PLAIN)
    assert message(data[:-1], OutOfRangeError) == (
        "the compressed bundle is past the end\n"
        "  where: file offset 0\n"
        f"  found: {len(data) - 1} bytes\n"
        f"  allowed: at least {len(data)}\n"
        "  next: the file is truncated; build or copy it again"
    )


@pytest.mark.parametrize("difference", [-1, 1])
def test_another_unpacked_size_than_stated(difference: int) -> None:
    stated = len(PLAIN) + difference
    found = f"{len(PLAIN)} bytes" + (" or more" if difference < 0 else "")
    assert message(compressed(PLAIN, unpacked=stated)) == (
        "malformed offload bundle: the unpacked bundle has another size than stated\n"
        "  where: file offset 8\n"
        f"  found: {found}\n"
        f"  allowed: {stated} bytes\n"
        "  next: the file is truncated or was edited; build it again"
    )


def test_a_stated_size_beyond_the_budget_of_the_file_is_refused_before_unpacking() -> None:
    data = compressed(PLAIN, unpacked=0xFFFFFFFF)
    assert message(data, ResourceExhaustedError) == (
        "the compressed bundles of the file unpack to too much\n"
        "  where: file offset 0\n"
        "  found: 4294967295 bytes more, after 0\n"
        f"  allowed: {(64 << 20) + 16 * len(data)} bytes in all, 16 times the file and 64 MiB\n"
        "  next: unpack the bundle with clang-offload-bundler, and give the code object"
    )


@pytest.mark.parametrize("frames", [2, 3, 100])
def test_a_zstd_bundle_of_several_frames_is_read_whole(frames: int) -> None:
    step = -(-len(PLAIN) // frames)
    packed = b"".join(zstd.compress(PLAIN[start : start + step]) for start in range(0, len(PLAIN), step))
    assert contents(compressed(PLAIN, method=1, packed=packed)) == contents(PLAIN)


def test_a_skippable_frame_of_a_zstd_bundle_is_skipped() -> None:
    skippable = struct.pack("<II", 0x184D2A50, 4) + b"1234"
    packed = zstd.compress(PLAIN[:50]) + skippable + zstd.compress(PLAIN[50:])
    assert contents(compressed(PLAIN, method=1, packed=packed)) == contents(PLAIN)


def test_a_zstd_bundle_that_ends_before_its_last_frame() -> None:
    packed = zstd.compress(PLAIN[:5000])
    assert message(compressed(PLAIN, method=1, packed=packed)).splitlines()[2] == "  found: 5000 bytes"
    packed = zstd.compress(PLAIN[:50]) + zstd.compress(PLAIN[50:])[:-1]
    assert message(compressed(PLAIN, method=1, packed=packed)).startswith(
        "malformed offload bundle: zstd cannot unpack the bundle\n  where: file offset 0\n"
    )


def test_more_entries_than_a_bundler_writes() -> None:
    name = b"host"
    row = struct.pack("<QQQ", 0, 0, len(name)) + name
    data = b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<Q", 4097) + 4097 * row
    assert message(data) == (
        "malformed offload bundle: it has too many entries\n"
        f"  where: file offset {32 + 4096 * len(row)}\n"
        "  found: 4097\n"
        "  allowed: at most 4096\n"
        "  next: the file is truncated or was edited; build it again"
    )


@pytest.mark.parametrize(("copies", "refused"), [(16, False), (20, True)])
def test_entries_may_share_bytes_within_bounds(copies: int, refused: bool) -> None:
    data = bytearray(bundle(*[("a", b"1")] * copies, alignment=64))
    size = len(data)
    for row in range(32, 32 + 25 * copies, 25):
        struct.pack_into("<QQ", data, row, 0, size)
    if not refused:
        assert contents(bytes(data)) == [("a", None, bytes(data))] * copies
        return
    assert message(bytes(data)) == (
        "malformed offload bundle: its entries overlap\n"
        "  where: file offset 0\n"
        f"  found: entries of {copies * size} bytes in all\n"
        f"  allowed: at most 16 times the {size} of the bundle\n"
        "  next: the file is truncated or was edited; build it again"
    )


def test_broken_zlib_data() -> None:
    assert message(compressed(PLAIN, packed=b"no zlib data")).startswith(
        "malformed offload bundle: zlib cannot unpack the bundle\n  where: file offset 0\n"
    )


def test_broken_zstd_data() -> None:
    assert message(compressed(PLAIN, method=1, packed=b"no zstd data")).startswith(
        "malformed offload bundle: zstd cannot unpack the bundle\n  where: file offset 0\n"
    )


def test_an_unknown_compression_is_named() -> None:
    assert message(compressed(PLAIN, method=2), UnimplementedError) == (
        "the bundle is compressed in a way that is not supported\n"
        "  where: file offset 6\n"
        "  found: method 2\n"
        "  allowed: 0 (zlib) or 1 (zstd)\n"
        "  next: build with -no-offload-compress"
    )


def test_an_unknown_header_version_is_named() -> None:
    assert message(compressed(PLAIN, version=4), UnimplementedError) == (
        "the compressed bundle has a version that is not supported\n"
        "  where: file offset 4\n"
        "  found: version 4\n"
        "  allowed: versions 1 to 3\n"
        "  next: build with -no-offload-compress"
    )


def test_what_was_compressed_must_be_a_bundle() -> None:
    assert message(compressed(b"something else")) == (
        "malformed offload bundle: the unpacked data is not a bundle\n"
        "  where: file offset 0\n"
        "  found: b'something else'\n"
        "  allowed: b'__CLANG_OFFLOAD_BUNDLE__'\n"
        "  next: the file is truncated or was edited; build it again"
    )


def test_a_fault_inside_a_compressed_bundle_names_the_bundle() -> None:
    assert message(compressed(PLAIN[:100]), OutOfRangeError).splitlines()[1] == (
        "  where: unpacked from file offset 0, file offset 4096"
    )

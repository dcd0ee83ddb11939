"""HIP fat binaries: bundles in the `.hip_fatbin` section of a host file."""

from __future__ import annotations

import struct

import pytest
from support.containers import HOST_ENTRY, bundle, compressed, hip_entry, host_file

from hipgraph_cb.code_object.fat_binary import is_host_elf, read_fat_binary, registered_address
from hipgraph_cb.errors import InvalidArgumentError, NotFoundError, OutOfRangeError

FIRST = bundle((HOST_ENTRY, b""), (hip_entry("gfx90a"), b"first"))
SECOND = bundle((hip_entry("gfx942"), b"second"))


def padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4096)


def targets(data: bytes) -> list[tuple[int, list[str | None]]]:
    return [(offset, [entry.target for entry in entries]) for offset, entries in read_fat_binary(data)]


def test_the_bundle_of_a_host_file_is_found_by_its_section() -> None:
    assert targets(host_file(FIRST)) == [(4096, [None, "gfx90a"])]


def test_several_bundles_in_one_section_are_all_listed() -> None:
    section = padded(FIRST) + padded(compressed(SECOND)) + SECOND
    second = 4096 + len(padded(FIRST))
    third = second + len(padded(compressed(SECOND)))
    assert targets(host_file(section)) == [(4096, [None, "gfx90a"]), (second, ["gfx942"]), (third, ["gfx942"])]


def test_a_host_file_without_gpu_code_says_so() -> None:
    with pytest.raises(NotFoundError) as caught:
        read_fat_binary(host_file(FIRST, name=b".text"))
    assert str(caught.value) == (
        "this host file carries no GPU code\n"
        "  found: 3 sections, none of them .hip_fatbin\n"
        "  allowed: an AMD GPU code object, or a host file built from HIP sources\n"
        "  next: give the code object itself: clang --offload-device-only, or hipcc --genco"
    )


def test_a_section_without_a_bundle_says_so() -> None:
    with pytest.raises(NotFoundError) as caught:
        read_fat_binary(host_file(b"nothing"))
    assert str(caught.value) == "the .hip_fatbin section holds no offload bundle\n  where: file offset 4096"


def test_a_truncated_host_file() -> None:
    data = host_file(FIRST)
    table = struct.unpack_from("<Q", data, 40)[0]
    with pytest.raises(OutOfRangeError) as caught:
        read_fat_binary(data[:-1])
    assert str(caught.value) == (
        "the section header table is past the end of the file\n"
        f"  where: file offset {table}\n"
        f"  found: 192 bytes at offset {table}\n"
        f"  allowed: a range inside the file's {len(data) - 1} bytes\n"
        "  next: the file is truncated; build or copy it again"
    )


def test_section_headers_that_are_too_small() -> None:
    data = bytearray(host_file(FIRST))
    struct.pack_into("<H", data, 58, 63)
    with pytest.raises(InvalidArgumentError) as caught:
        read_fat_binary(bytes(data))
    assert str(caught.value) == (
        "section headers are too small\n  where: file offset 58\n  found: 63 bytes each\n  allowed: >= 64"
    )


def test_a_code_object_is_not_a_host_file() -> None:
    assert is_host_elf(host_file(FIRST))
    assert not is_host_elf(host_file(FIRST, machine=224))
    assert not is_host_elf(FIRST)


def test_a_registration_wrapper_holds_the_address_of_its_bundle() -> None:
    assert registered_address(struct.pack("<IIQQ", 0x48495046, 1, 0x7F0000001000, 0)) == 0x7F0000001000


@pytest.mark.parametrize(
    "data", [b"", struct.pack("<IIQQ", 0x48495047, 1, 1, 0), struct.pack("<IIQQ", 0x48495046, 2, 1, 0)]
)
def test_other_bytes_are_not_a_registration_wrapper(data: bytes) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        registered_address(data)
    assert caught.value.what == "not a fat binary registration"

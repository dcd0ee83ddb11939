"""The formats of files by the flags of their ELF headers, and which instruction sets take them."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import elf
from support.containers import HOST_ENTRY, Export, bundle, hip_entry, wrapped

from hipgraph_cb.code_object.formats import Support, infer_format, support
from hipgraph_cb.code_object.target_id import TargetId
from hipgraph_cb.errors import InvalidArgumentError, OutOfRangeError

SRAMECC_ON_XNACK_OFF = 0x4C | 0xC00 | 0x200
HEADER = elf.header(flags=SRAMECC_ON_XNACK_OFF)
GFX1100 = elf.header(flags=0x41)
GFX9_4_GENERIC = elf.header(flags=0x5F | 1 << 24, abi_version=4)
MI300X = [TargetId.parse("gfx942:sramecc+:xnack-")]


def test_the_format_of_a_raw_code_object_is_what_its_flags_say():
    found = infer_format(HEADER)
    assert (str(found), found.kind, found.size) == ("gfx942:sramecc+:xnack-", "code object", 64)


def test_the_format_of_a_wrapper_is_that_of_the_code_object_in_it():
    file = wrapped(b"AMD1", [Export("k.kd")], [HEADER], "gfx1100")
    found = infer_format(file)
    assert (str(found), found.kind, found.size) == ("gfx942:sramecc+:xnack-", "AMD1 wrapper", len(file))


def test_a_bundle_has_the_formats_of_all_its_code_objects():
    file = bundle((HOST_ENTRY, b""), (hip_entry("gfx942"), HEADER), (hip_entry("gfx1100"), GFX1100))
    found = infer_format(file)
    assert (str(found), found.kind) == ("gfx942:sramecc+:xnack-, gfx1100", "offload bundle")


def test_bytes_behind_a_file_do_not_count_unless_they_are_said_to():
    assert infer_format(HEADER + bytes(100)).size == 64
    assert infer_format(HEADER + bytes(100), 164).size == 164
    with pytest.raises(OutOfRangeError) as caught:
        infer_format(HEADER, 65)
    assert str(caught.value) == "infer_format: there are fewer bytes\n  found: 65\n  allowed: 0 to 64"


def test_a_path_is_read_and_text_is_no_code_object(tmp_path: Path):
    file = tmp_path / "kernel.hsaco"
    file.write_bytes(HEADER)
    assert infer_format(file) == infer_format(HEADER)
    with pytest.raises(InvalidArgumentError) as caught:
        infer_format(str(file))
    assert str(caught.value) == (
        "infer_format: not a code object\n  found: str\n  allowed: bytes, or the path of a file"
    )


@pytest.mark.parametrize(
    ("source", "takes"),
    [
        ("gfx942", True),
        ("gfx942:xnack-", True),
        ("amdgcn-amd-amdhsa--gfx942:sramecc+", True),
        ("gfx9-4-generic", True),
        ("gfx942:xnack+", False),
        ("gfx1100", False),
        (HEADER, True),
        (GFX9_4_GENERIC, True),
        (GFX1100, False),
        (bundle((hip_entry("gfx1100"), GFX1100), (hip_entry("gfx942"), HEADER)), True),
    ],
)
def test_a_device_takes_what_runs_on_one_of_its_instruction_sets(source, takes):
    found = support(source, MI300X)
    assert (bool(found), found.isa) == (takes, MI300X[0] if takes else None)
    assert (found.reason is None) is takes


def test_a_generic_instruction_set_takes_generic_code_only():
    generic = [TargetId.parse("gfx11-generic")]
    assert support("gfx11-generic", generic)
    assert not support("gfx1100", generic)


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("gfx942:xnack+", "gfx942:xnack+ (xnack differs) does not run on gfx942:sramecc+:xnack-"),
        ("gfx1100", "gfx1100 (processor differs) does not run on gfx942:sramecc+:xnack-"),
        ("FOO?", "'FOO?' names no target of AMD GPUs"),
        (
            bundle((HOST_ENTRY, b"")),
            f"the offload bundle holds no AMD GPU code object: entry 0 ({HOST_ENTRY}): host code",
        ),
    ],
)
def test_the_reason_says_what_does_not_fit(source, reason):
    assert support(source, MI300X) == Support(None, reason)


def test_a_file_that_is_not_sound_is_not_taken_and_text_that_is_nearly_a_target_is_an_error():
    found = support(b"\x7fELF", MI300X)
    assert not found
    assert found.reason
    with pytest.raises(InvalidArgumentError):
        support("gfx942:wide+", MI300X)

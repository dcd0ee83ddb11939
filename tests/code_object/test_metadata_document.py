"""The rules of the MessagePack document (LLVM AMDGPU usage, "Code Object Metadata")."""

from __future__ import annotations

import msgpack
import pytest
from support import elf

from hipgraph_cb.code_object.metadata import parse_metadata
from hipgraph_cb.errors import HipGraphError, InvalidArgumentError, OutOfRangeError

VECTOR_ADD = elf.kernel(
    "vector_add",
    [
        elf.pointer(0, name="lhs", align=8, access="read_write", actual_access="read_only"),
        elf.pointer(8, name="rhs", align=8, access="write_only"),
        elf.argument(16, 4, name="n", align=4),
        elf.argument(20, 4, name="alpha", align=4, type_name="float"),
    ],
    group_segment_fixed_size=1024,
    private_segment_fixed_size=64,
    reqd_workgroup_size=[16, 4, 1],
)


def parsed(root: object):
    return parse_metadata(msgpack.packb(root))


def refusal(**keys: object) -> HipGraphError:
    """The error that is kept for `VECTOR_ADD` with these keys; the dotted names are written with an underscore."""
    row = VECTOR_ADD | {f".{name}": value for name, value in keys.items()}
    metadata = parsed(elf.document({key: value for key, value in row.items() if value is not ...}))
    assert metadata.kernels == ()
    return metadata.refused["vector_add"]


def with_argument(index: int, **keys: object) -> list[dict[str, object]]:
    rows = [dict(row) for row in VECTOR_ADD[".args"]]
    rows[index] |= {f".{name}": value for name, value in keys.items()}
    return rows


def test_a_kernel_is_read_whole():
    metadata = parsed(elf.document(VECTOR_ADD, target="amdgcn-amd-amdhsa--gfx1100"))
    (kernel,) = metadata.kernels
    assert metadata.targets == ("amdgcn-amd-amdhsa--gfx1100",)
    assert (kernel.name, kernel.symbol) == ("vector_add", "vector_add.kd")
    assert (kernel.kernarg_segment_size, kernel.kernarg_segment_align) == (24, 8)
    assert (kernel.group_segment_fixed_size, kernel.private_segment_fixed_size) == (1024, 64)
    assert kernel.required_workgroup_size == (16, 4, 1)
    assert [(row.name, row.offset, row.size, row.value_kind) for row in kernel.arguments] == [
        ("lhs", 0, 8, "global_buffer"),
        ("rhs", 8, 8, "global_buffer"),
        ("n", 16, 4, "by_value"),
        ("alpha", 20, 4, "by_value"),
    ]
    assert kernel.arguments[3].type_name == "float"


def test_the_actual_access_wins_over_the_declared_one():
    (kernel,) = parsed(elf.document(VECTOR_ADD)).kernels
    assert [row.access for row in kernel.arguments] == ["read_only", "write_only", None, None]


def test_a_kernel_without_a_name_is_called_by_its_symbol():
    row = elf.kernel("hidden", [elf.pointer(0), elf.argument(8, 8, "hidden_global_offset_x"), elf.argument(16, 4)])
    del row[".name"]
    (kernel,) = parsed(elf.document(row, target=None)).kernels
    assert kernel.name == "hidden"
    assert [argument.is_hidden for argument in kernel.arguments] == [False, True, False]


def test_missing_arguments_mean_none():
    row = elf.kernel("bare")
    del row[".args"]
    assert parsed(elf.document(row)).kernels[0].arguments == ()


def test_no_kernels_is_a_sound_document():
    assert parsed(elf.document()).kernels == ()


def test_unknown_keys_are_skipped_however_they_look():
    row = VECTOR_ADD | {".unheard": {"x": [None, -1, 1.5, b"bin", msgpack.ExtType(5, b"ext")]}}
    assert parsed(elf.document(row) | {"amdhsa.printf": [1]}).kernels[0].name == "vector_add"


def test_gaps_between_arguments_are_allowed():
    row = elf.kernel("gap", [elf.argument(4, 4), elf.argument(16, 2)], kernarg_segment_size=64)
    assert [argument.offset for argument in parsed(elf.document(row)).kernels[0].arguments] == [4, 16]


@pytest.mark.parametrize(
    ("root", "message"),
    [
        ([], "the metadata is not a map\n  where: the root\n  found: []\n  allowed: a map"),
        (
            {"amdhsa.version": [1, 2]},
            "the metadata lacks amdhsa.kernels\n"
            "  where: the root\n  found: ['amdhsa.version']\n  allowed: a map with amdhsa.kernels",
        ),
        (
            {"amdhsa.kernels": 3},
            "the list of kernels is not an array\n  where: amdhsa.kernels\n  found: 3\n  allowed: an array of maps",
        ),
        (
            {"amdhsa.kernels": [], "amdhsa.target": 942},
            "the target is not a string\n  where: amdhsa.target\n  found: 942\n  allowed: a string",
        ),
        ({"amdhsa.kernels": [], 7: 1}, "a metadata map has a key that is not a string\n  found: 7"),
    ],
)
def test_a_document_of_the_wrong_shape_is_refused(root, message):
    with pytest.raises(InvalidArgumentError) as caught:
        parsed(root)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    "note",
    [
        b"",
        b"\xc1",
        msgpack.packb(elf.document()) + b"\0",
        msgpack.packb(elf.document())[:-1],
        b"\xdf\xff\xff\xff\xff",
        b"\x91" * 2_000,
        b"\x81\xa1a\xd6\xff\xff\xff\xff\xff" + b"\xff" * 4,
        b"\xc7\x0c\xff" + b"\xff" * 12,
    ],
    ids=["empty", "reserved tag", "trailing byte", "cut short", "huge count", "deep nesting", "cut time", "bad time"],
)
def test_bytes_that_are_not_one_map_are_refused(note):
    with pytest.raises(InvalidArgumentError, match=r"^the metadata (note is not valid MessagePack|is not a map)\n"):
        parse_metadata(note)


def test_a_map_that_is_not_read_may_have_any_keys():
    """Tensile keeps the options of a kernel in the root, `AssertSizeMultiple: {3: 32}` among them."""
    root = elf.document(VECTOR_ADD) | {"custom.config": {"AssertSizeMultiple": {3: 32}, "Others": {None: 1, b"x": 2}}}
    assert [kernel.name for kernel in parsed(root).kernels] == ["vector_add"]


@pytest.mark.parametrize("key", ["amdhsa.kernels", "amdhsa.target", ".offset"])
def test_a_repeated_key_is_refused(key):
    with pytest.raises(InvalidArgumentError) as caught:
        parse_metadata(elf.packed_map([("amdhsa.kernels", []), (key, []), (key, [])]))
    assert str(caught.value) == f"a metadata key is repeated in one map\n  found: {key!r}\n  allowed: once"


def test_a_repeated_version_is_harmless():
    pairs = [("amdhsa.version", [1, 2]), ("amdhsa.version", [1, 2]), ("amdhsa.kernels", [])]
    assert parse_metadata(elf.packed_map(pairs)).kernels == ()


@pytest.mark.parametrize(
    "key",
    [
        ".symbol",
        ".kernarg_segment_size",
        ".kernarg_segment_align",
        ".group_segment_fixed_size",
        ".private_segment_fixed_size",
    ],
)
def test_a_required_key_of_a_kernel_may_not_be_missing(key):
    error = refusal(**{key[1:]: ...})
    assert str(error) == (f"a metadata map lacks {key}\n  where: amdhsa.kernels[0]\n  allowed: a map with {key}")


@pytest.mark.parametrize("key", [".offset", ".size", ".value_kind"])
def test_a_required_key_of_an_argument_may_not_be_missing(key):
    rows = [{name: value for name, value in VECTOR_ADD[".args"][0].items() if name != key}]
    assert str(refusal(args=rows)) == (
        f"a metadata map lacks {key}\n  where: amdhsa.kernels[0].args[0]\n  allowed: a map with {key}"
    )


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        (
            {"kernarg_segment_align": 0},
            "the kernarg alignment is not a power of two\n"
            "  where: amdhsa.kernels[0].kernarg_segment_align\n  found: 0\n  allowed: a power of two",
        ),
        (
            {"kernarg_segment_align": 12},
            "the kernarg alignment is not a power of two\n"
            "  where: amdhsa.kernels[0].kernarg_segment_align\n  found: 12\n  allowed: a power of two",
        ),
        (
            {"reqd_workgroup_size": [16, 4]},
            "the required workgroup size is not three numbers\n"
            "  where: amdhsa.kernels[0].reqd_workgroup_size\n  found: [16, 4]\n  allowed: three numbers >= 1",
        ),
        (
            {"reqd_workgroup_size": [16, 0, 1]},
            "the required workgroup size has a zero\n"
            "  where: amdhsa.kernels[0].reqd_workgroup_size\n  found: [16, 0, 1]\n  allowed: three numbers >= 1",
        ),
        (
            {"group_segment_fixed_size": "many"},
            "a metadata value is not an unsigned number\n"
            "  where: amdhsa.kernels[0].group_segment_fixed_size\n"
            "  found: many\n  allowed: an unsigned 32-bit number",
        ),
        (
            {"args": {}},
            "a metadata value is not an array\n  where: amdhsa.kernels[0].args\n  found: {}\n  allowed: an array",
        ),
        (
            {"args": with_argument(0, offset=-1)},
            "a metadata value is not an unsigned number\n"
            "  where: amdhsa.kernels[0].args[0].offset\n  found: -1\n  allowed: an unsigned 32-bit number",
        ),
        (
            {"args": with_argument(2, offset=18)},
            "an argument is not at its alignment\n"
            "  where: amdhsa.kernels[0].args[2]\n  found: offset 18, align 4\n  allowed: a multiple",
        ),
        (
            {"args": with_argument(2, align=3)},
            "an argument is not at its alignment\n"
            "  where: amdhsa.kernels[0].args[2]\n  found: offset 16, align 3\n  allowed: a multiple",
        ),
        (
            {"args": with_argument(0, alignment=8)},
            "an argument states its alignment twice\n"
            "  where: amdhsa.kernels[0].args[0]\n  found: .align and .alignment\n  allowed: one of them",
        ),
        (
            {"args": VECTOR_ADD[".args"][::-1]},
            "an argument overlaps the one before it\n"
            "  where: amdhsa.kernels[0].args[1].offset\n  found: 16\n  allowed: >= 24",
        ),
        (
            {"args": with_argument(1, offset=4, align=4)},
            "an argument overlaps the one before it\n"
            "  where: amdhsa.kernels[0].args[1].offset\n  found: 4\n  allowed: >= 8",
        ),
        (
            {"args": with_argument(3, size=8)},
            "an argument ends past the kernarg segment\n"
            "  where: amdhsa.kernels[0].args[3]\n  found: end 28\n  allowed: <= 24",
        ),
    ],
)
def test_a_rule_broken_by_one_kernel_is_kept_as_its_refusal(keys, message):
    assert str(refusal(**keys)) == message


def test_a_number_of_33_bits_is_out_of_range():
    error = refusal(kernarg_segment_size=1 << 32)
    assert isinstance(error, OutOfRangeError)
    assert str(error) == (
        "a metadata number is too large\n"
        "  where: amdhsa.kernels[0].kernarg_segment_size\n"
        "  found: 4294967296\n"
        "  allowed: at most 4294967295"
    )


def test_a_kernarg_segment_has_a_bound_that_no_file_can_raise():
    error = refusal(kernarg_segment_size=(1 << 20) + 1)
    assert isinstance(error, OutOfRangeError)
    assert str(error) == (
        "the kernarg segment is too large\n"
        "  where: amdhsa.kernels[0].kernarg_segment_size\n"
        "  found: 1048577\n"
        "  allowed: at most 1048576"
    )


def test_one_odd_kernel_does_not_spoil_the_others():
    metadata = parsed(elf.document(VECTOR_ADD | {".name": "odd", ".kernarg_segment_align": 3}, VECTOR_ADD, {}))
    assert [kernel.name for kernel in metadata.kernels] == ["vector_add"]
    assert list(metadata.refused) == ["odd", "amdhsa.kernels[2]"]

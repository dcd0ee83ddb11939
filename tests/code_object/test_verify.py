"""`verify` and `inspect` on code objects built in code: what refuses a file, and what refuses one kernel of it."""

from __future__ import annotations

import hashlib
import re

import pytest
from support import elf
from support.containers import Export, wrapped

from hipgraph_cb.code_object.verify import inspect, verify, verify_as_loader
from hipgraph_cb.errors import (
    HipGraphError,
    IncompatibleError,
    InvalidArgumentError,
    NotFoundError,
    OutOfRangeError,
)

ADD = elf.kernel("add", [elf.pointer(0), elf.argument(8, 4)])
SCALE = elf.kernel("scale", [elf.pointer(0)])


def refusal(data: bytes, name: str = "add", **options: object) -> HipGraphError:
    return verify(data, **options).refused[name]


def test_a_sound_code_object_gives_its_kernels_in_file_order():
    executable = verify(elf.code_object(SCALE, ADD), "gfx942:xnack-")
    assert list(executable.exports) == ["scale", "add"]
    assert dict(executable.refused) == {}
    assert (str(executable.target), executable.code_object_version) == ("gfx942", 5)
    add = executable.exports["add"]
    assert (add.name, add.symbol, add.kernarg_size, add.kernarg_alignment) == ("add", "add.kd", 12, 8)
    assert (add.wavefront_size, add.required_workgroup_size) == (64, None)


def test_equal_bytes_are_equal_executables_with_one_hash():
    data = elf.code_object(ADD)
    assert verify(data) == verify(bytes(bytearray(data)))
    assert hash(verify(data)) == hash(verify(data))
    assert verify(data) != verify(elf.code_object(SCALE))
    assert verify(data).content_hash == hashlib.sha256(data).hexdigest()


@pytest.mark.parametrize("view", [bytearray, memoryview])
def test_any_bytes_like_object_is_taken_and_copied(view):
    data = bytearray(elf.code_object(ADD))
    executable = verify(view(data))
    data[:] = bytes(len(data))
    assert executable.data == elf.code_object(ADD)


@pytest.mark.parametrize("data", [None, 64, "ELF", [1, 2]])
def test_an_object_that_is_not_bytes_is_refused(data):
    with pytest.raises(InvalidArgumentError) as caught:
        verify(data)
    assert str(caught.value) == (
        f"a code object is given as bytes\n  found: {type(data).__name__}\n  allowed: bytes, bytearray or memoryview"
    )


@pytest.mark.parametrize(("abi", "version"), [(1, 3)])
def test_code_object_versions_before_four_are_not_supported(abi, version):
    with pytest.raises(IncompatibleError) as caught:
        verify(elf.code_object(ADD, flags=0x4C, abi_version=abi))
    assert str(caught.value) == (
        "the code object version is not supported\n"
        "  where: file offset 8 (EI_ABIVERSION)\n"
        f"  found: code object v{version}\n"
        "  allowed: v4 to v6\n"
        "  next: compile with -mcode-object-version=5"
    )


def test_a_fault_of_the_document_names_the_note():
    with pytest.raises(InvalidArgumentError) as caught:
        verify(elf.notes_only(elf.metadata_note([])))
    assert str(caught.value) == (
        "the metadata is not a map\n  where: metadata note at file offset 140, the root\n  found: []\n  allowed: a map"
    )


def test_another_target_is_refused_with_every_reason():
    with pytest.raises(IncompatibleError) as caught:
        verify(elf.code_object(ADD, flags=0x4C + 0xC00 + 0x300, root=elf.document(ADD, target=None)), "gfx90a:xnack-")
    assert str(caught.value) == (
        "the code object was built for another device\n"
        "  found: gfx942:sramecc+:xnack+ (processor, sramecc, xnack differ)\n"
        "  allowed: code that runs on gfx90a:xnack-\n"
        "  next: compile with -mcpu=gfx90a:xnack-"
    )


@pytest.mark.parametrize(
    "text", ["amdgcn-amd-amdhsa--gfx90a", "amdgpu9.0a-amd-amdhsa-unknown-gfx90a", "amdgcn-amd-amdhsa--gfx942:xnack+"]
)
def test_the_stated_target_must_agree_with_the_header(text):
    with pytest.raises(InvalidArgumentError) as caught:
        verify(elf.code_object(ADD, root=elf.document(ADD, target=text)))
    assert str(caught.value) == (
        "the metadata and the ELF header name different targets\n"
        "  where: amdhsa.target\n"
        f"  found: {text!r} in the note, gfx942 in e_flags\n"
        "  allowed: the same target\n"
        "  next: the file was edited or linked from parts of two builds; build it again"
    )


@pytest.mark.parametrize("text", ["amdgpu9.42-amd-amdhsa-unknown-gfx942", "something else", "a-amd-amdhsa--gfxX"])
def test_a_stated_target_that_cannot_be_read_leaves_the_decision_to_the_header(text):
    assert str(verify(elf.code_object(ADD, root=elf.document(ADD, target=text))).target) == "gfx942"


@pytest.mark.parametrize("text", [None, ""])
def test_metadata_without_a_target_is_refused_but_under_a_wrapper(text):
    data = elf.code_object(ADD, root=elf.document(ADD, target=text))
    with pytest.raises(InvalidArgumentError) as caught:
        verify(data, "gfx942")
    assert str(caught.value) == (
        "the metadata names no target\n"
        "  where: amdhsa.target\n"
        "  found: nothing\n"
        "  allowed: amdgcn-amd-amdhsa--gfx942, as the ELF flags say\n"
        "  next: add the line to .amdgpu_metadata; compilers write it"
    )
    assert list(inspect(data).exports) == list(verify_as_loader(data, "gfx942").exports) == ["add"]
    wrapper = wrapped(b"AMD1", [Export("add.kd", bindings=1, constants=1)], [data])
    assert list(verify(wrapper, "gfx942").exports) == ["add"]


@pytest.mark.parametrize(
    ("rows", "refused", "what", "found"),
    [
        ((ADD, SCALE, ADD), {"add"}, "name", "'add'"),
        ((ADD, SCALE, ADD | {".name": "plus"}), {"add", "plus"}, "symbol", "'add.kd'"),
        ((ADD, SCALE, ADD | {".symbol": "other.kd"}), {"add"}, "name", "'add'"),
        ((ADD, SCALE, ADD | {".kernarg_segment_align": 3}), {"add"}, "name", "'add'"),
    ],
)
def test_kernels_of_one_name_or_symbol_are_refused_and_the_others_are_not(rows, refused, what, found):
    executable = verify(elf.code_object(*rows, symbols=["add.kd", "scale.kd", "other.kd"]))
    assert (set(executable.refused), list(executable.exports)) == (refused, ["scale"])
    for name in refused:
        assert str(executable.refused[name]) == (
            f"two kernels have the same {what}\n"
            f"  where: kernel {name}, amdhsa.kernels\n"
            f"  found: {found}\n"
            f"  allowed: different {what}s"
        )


def test_two_symbols_of_one_name_are_refused():
    with pytest.raises(InvalidArgumentError) as caught:
        verify(elf.code_object(ADD, SCALE, symbols=["add.kd", "add.kd"]))
    assert str(caught.value) == "a symbol is defined twice\n  where: .dynsym\n  found: 'add.kd'"


def test_one_odd_kernel_does_not_spoil_the_others():
    executable = verify(elf.code_object(ADD, SCALE, symbols=["gone.kd", "scale.kd"]))
    assert list(executable.exports) == ["scale"]
    with pytest.raises(NotFoundError) as caught:
        executable.export("add")
    assert str(caught.value) == (
        "the kernel's descriptor symbol does not exist\n"
        "  where: kernel add\n"
        "  found: no symbol 'add.kd'\n"
        "  allowed: the symbol that the metadata names in .symbol"
    )


def test_a_name_that_is_not_there_lists_those_that_are():
    with pytest.raises(NotFoundError) as caught:
        verify(elf.code_object(ADD, SCALE)).export("sub")
    assert str(caught.value) == "the code object has no kernel 'sub'\n  found: 'sub'\n  allowed: add, scale"


def test_sizes_that_note_and_descriptor_state_differently_are_noted_and_refuse_nothing():
    fields = {"kernarg": 16, "group": 4, "private": 8}
    executable = verify(elf.code_object(ADD, SCALE, descriptors={"add": fields}))
    assert dict(executable.refused) == {}
    add = executable.exports["add"]
    assert add.disagreements == (
        "kernarg size: 12 in the note, 16 in the descriptor; the larger holds",
        "fixed LDS size: 0 in the note, 4 in the descriptor; the larger holds",
        "scratch size: 0 in the note, 8 in the descriptor; the larger holds",
    )
    assert (add.kernarg_size, add.group_segment_size, add.private_segment_size) == (16, 4, 8)
    assert executable.exports["scale"].disagreements == ()


@pytest.mark.parametrize("stated", [0, 4])
def test_a_kernarg_segment_is_never_smaller_than_the_note_says(stated):
    add = verify(elf.code_object(ADD, descriptors={"add": {"kernarg": stated}})).exports["add"]
    assert add.kernarg_size == 12
    noted = ("kernarg size: 12 in the note, 4 in the descriptor; the larger holds",)
    assert add.disagreements == (noted if stated else ())


def test_a_kernarg_segment_of_the_descriptor_is_limited_as_one_of_the_note():
    error = refusal(elf.code_object(ADD, descriptors={"add": {"kernarg": (1 << 20) + 1}}))
    assert isinstance(error, OutOfRangeError)
    assert re.sub(r"offset \d+", "offset N", str(error)) == (
        "the kernarg segment is too large\n"
        "  where: kernel add, file offset N (kernarg_size)\n"
        "  found: 1048577\n"
        "  allowed: at most 1048576"
    )


@pytest.mark.parametrize(("note", "descriptor"), [(65540, 0), (0, 65540)])
def test_a_device_must_have_the_larger_lds_size(note, descriptor):
    error = refusal(
        elf.code_object(ADD | {".group_segment_fixed_size": note}, descriptors={"add": {"group": descriptor}})
    )
    assert error.found == "65540 bytes of fixed LDS"


def test_a_wavefront_size_that_note_and_descriptor_state_differently_is_refused():
    error = refusal(elf.code_object(ADD, descriptors={"add": {"properties": 0x400, "group": 4}}))
    assert isinstance(error, InvalidArgumentError)
    assert re.sub(r"offset \d+", "offset N", str(error)) == (
        "the metadata and the kernel descriptor disagree\n"
        "  where: kernel add, descriptor at file offset N\n"
        "  found: wavefront size: 64 in the note, 32 in the descriptor\n"
        "  allowed: the same value"
    )


@pytest.mark.parametrize(
    ("entry", "what", "allowed"),
    [
        (1 << 40, "the kernel's entry is not in executable code", "an address in an executable PT_LOAD segment"),
        (-(1 << 62), "the kernel's entry is not in executable code", "an address in an executable PT_LOAD segment"),
        (4, "the kernel's entry is not aligned", "a multiple of 256"),
    ],
)
def test_the_entry_is_in_executable_code_at_a_multiple_of_256(entry, what, allowed):
    error = refusal(elf.code_object(ADD, descriptors={"add": {"entry": entry}}))
    assert (error.what, error.allowed) == (what, allowed)
    assert error.where.startswith("kernel add, file offset ")


def test_an_entry_in_a_segment_that_is_only_read_is_refused():
    data = bytearray(elf.code_object(ADD))
    flags_of_the_first_segment = elf.HEADER_SIZE + 4
    data[flags_of_the_first_segment] = 4
    assert refusal(bytes(data)).what == "the kernel's entry is not in executable code"


def test_no_bytes_at_all_are_refused_before_anything_is_read():
    with pytest.raises(InvalidArgumentError) as caught:
        verify(b"", "gfx942")
    assert caught.value.found == "no bytes"


def test_wave32_does_not_exist_before_gfx10():
    error = refusal(elf.code_object(ADD | {".wavefront_size": 32}))
    assert str(error) == (
        "the kernel's wavefront size does not exist on its target\n"
        "  where: kernel add\n"
        "  found: 32 on gfx942\n"
        "  allowed: 64"
    )
    assert (
        verify(
            elf.code_object(
                ADD | {".wavefront_size": 32},
                flags=0x41,
                root=elf.document(ADD | {".wavefront_size": 32}, target="amdgcn-amd-amdhsa--gfx1100"),
            )
        )
        .exports["add"]
        .wavefront_size
        == 32
    )


def test_a_generic_version_that_is_not_known_is_refused_with_both_numbers():
    data = elf.code_object(ADD, flags=0x5F + 0x500 + (2 << 24), abi_version=4, root=elf.document(ADD, target=None))
    with pytest.raises(IncompatibleError) as caught:
        verify(data, "gfx942")
    assert str(caught.value) == (
        "the code object was built for another device\n"
        "  found: gfx9-4-generic (generic version differs; it has generic version 2, 1 is the newest known)\n"
        "  allowed: code that runs on gfx942\n"
        "  next: compile with -mcpu=gfx942"
    )


def test_the_first_generic_version_runs_on_the_processors_of_its_family():
    root = elf.document(ADD, target="amdgcn-amd-amdhsa--gfx9-4-generic")
    data = elf.code_object(ADD, flags=0x5F + 0x500 + (1 << 24), abi_version=4, root=root)
    assert list(verify(data, "gfx950").exports) == ["add"]

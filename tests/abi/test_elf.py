"""The ELF facts, compared with those of pyelftools; the kernel descriptor, with LLVM's table of its fields."""

from __future__ import annotations

import pytest
from elftools.elf import enums
from elftools.elf.structs import ELFStructs

from hipgraph_cb.abi import elf
from hipgraph_cb.abi.kernel_descriptor import DESCRIPTOR_SIZE, KernelDescriptor

NUMBERS = {
    "ET_": enums.ENUM_E_TYPE,
    "EM_": enums.ENUM_E_MACHINE,
    "PT_": enums.ENUM_P_TYPE_BASE,
    "SHT_": enums.ENUM_SH_TYPE_BASE,
    "STT_": enums.ENUM_ST_INFO_TYPE,
    "DT_": enums.ENUM_D_TAG,
    "R_X86_64_": enums.ENUM_RELOC_TYPE_x64,
}


@pytest.mark.parametrize("prefix", NUMBERS)
def test_numbers_are_those_of_pyelftools(prefix):
    ours = {name: value for name, value in vars(elf).items() if name.startswith(prefix)}
    assert ours
    assert ours == {name: NUMBERS[prefix][name] for name in ours}


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (elf.HEADER, "Elf_Ehdr"),
        (elf.PROGRAM_HEADER, "Elf_Phdr"),
        (elf.SECTION_HEADER, "Elf_Shdr"),
        (elf.SYMBOL, "Elf_Sym"),
        (elf.RELOCATION, "Elf_Rela"),
        (elf.DYNAMIC_ENTRY, "Elf_Dyn"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_structure_is_as_large_as_that_of_pyelftools(ours, theirs):
    structs = ELFStructs(little_endian=True, elfclass=64)
    structs.create_basic_structs()
    structs.create_advanced_structs()
    assert ours.size == getattr(structs, theirs).sizeof()


def test_a_kernel_descriptor_has_its_fields_where_llvm_puts_them():
    # LLVM AMDGPU usage, "Kernel Descriptor": field -> (first byte, bytes)
    places = {
        "group_segment_fixed_size": (0, 4),
        "private_segment_fixed_size": (4, 4),
        "kernarg_size": (8, 4),
        "kernel_code_entry_byte_offset": (16, 8),
        "compute_pgm_rsrc3": (44, 4),
        "compute_pgm_rsrc1": (48, 4),
        "compute_pgm_rsrc2": (52, 4),
        "kernel_code_properties": (56, 2),
        "kernarg_preload": (58, 2),
    }
    data = bytes(range(DESCRIPTOR_SIZE))
    descriptor = KernelDescriptor.from_bytes(data)
    assert {name: getattr(descriptor, name) for name in places} == {
        name: int.from_bytes(data[start : start + size], "little") for name, (start, size) in places.items()
    }

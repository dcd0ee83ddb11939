"""The ELF64 structures that are read and written here (System V ABI), and what AMD adds (LLVM AMDGPU usage)."""

from __future__ import annotations

import struct

MAGIC = b"\x7fELF"
IDENT_64_BIT_LITTLE_ENDIAN = b"\x02\x01"
"""The class and the byte order, behind the magic."""

HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
"""e_ident, e_type, e_machine, e_version, e_entry, e_phoff, e_shoff, e_flags, e_ehsize, e_phentsize, e_phnum,
e_shentsize, e_shnum, e_shstrndx."""
PROGRAM_HEADER = struct.Struct("<IIQQQQQQ")
"""p_type, p_flags, p_offset, p_vaddr, p_paddr, p_filesz, p_memsz, p_align."""
SECTION_HEADER = struct.Struct("<IIQQQQIIQQ")
"""sh_name, sh_type, sh_flags, sh_addr, sh_offset, sh_size, sh_link, sh_info, sh_addralign, sh_entsize."""
SECTION_SIZE_OFFSET = 32
"""Of sh_size in it."""
SYMBOL = struct.Struct("<IBBHQQ")
"""st_name, st_info, st_other, st_shndx, st_value, st_size."""
RELOCATION = struct.Struct("<QQq")
"""r_offset, r_info, r_addend of an Elf64_Rela."""
DYNAMIC_ENTRY = struct.Struct("<QQ")
"""d_tag, d_val."""

ET_REL, ET_DYN = 1, 3
EM_X86_64, EM_AMDGPU = 62, 224
OSABI_AMDGPU_HSA = 64

PT_LOAD, PT_DYNAMIC, PT_NOTE, PT_GNU_STACK = 1, 2, 4, 0x6474E551
PF_X, PF_W, PF_R = 1, 2, 4
SHT_NULL, SHT_SYMTAB, SHT_RELA, SHT_NOBITS = 0, 2, 4, 8
SHF_ALLOC, SHF_COMPRESSED = 0x2, 0x800
STT_OBJECT, STT_FUNC = 1, 2
STB_GLOBAL = 1 << 4
"""Of st_info, whose low half is the type."""

DT_HASH, DT_STRTAB, DT_SYMTAB, DT_RELA, DT_RELASZ, DT_RELAENT, DT_STRSZ, DT_SYMENT = 4, 5, 6, 7, 8, 9, 10, 11
DT_NEEDED, DT_SONAME, DT_RUNPATH = 1, 14, 29
DT_GNU_HASH, DT_VERSYM, DT_RELACOUNT, DT_VERDEF, DT_VERDEFNUM = (
    0x6FFFFEF5,
    0x6FFFFFF0,
    0x6FFFFFF9,
    0x6FFFFFFC,
    0x6FFFFFFD,
)

NT_AMDGPU_METADATA = 32
"""The type of the metadata note of owner AMDGPU."""

R_X86_64_64, R_X86_64_RELATIVE = 1, 8
R_AMDGPU_ABS32_LO, R_AMDGPU_ABS32_HI, R_AMDGPU_ABS64, R_AMDGPU_REL32, R_AMDGPU_REL64, R_AMDGPU_ABS32 = range(1, 7)
R_AMDGPU_REL32_LO, R_AMDGPU_REL32_HI, R_AMDGPU_RELATIVE64 = 10, 11, 13

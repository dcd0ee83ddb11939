"""The numbers of DWARF 5 that are read here."""

from __future__ import annotations

from enum import IntEnum


class Tag(IntEnum):
    ARRAY_TYPE = 0x01
    CLASS_TYPE = 0x02
    ENUMERATION_TYPE = 0x04
    FORMAL_PARAMETER = 0x05
    MEMBER = 0x0D
    POINTER_TYPE = 0x0F
    REFERENCE_TYPE = 0x10
    STRUCTURE_TYPE = 0x13
    SUBROUTINE_TYPE = 0x15
    TYPEDEF = 0x16
    UNION_TYPE = 0x17
    INHERITANCE = 0x1C
    INLINED_SUBROUTINE = 0x1D
    SUBRANGE_TYPE = 0x21
    BASE_TYPE = 0x24
    CONST_TYPE = 0x26
    SUBPROGRAM = 0x2E
    VOLATILE_TYPE = 0x35
    RESTRICT_TYPE = 0x37
    RVALUE_REFERENCE_TYPE = 0x42
    ATOMIC_TYPE = 0x47


class At(IntEnum):
    NAME = 0x03
    BYTE_SIZE = 0x0B
    STMT_LIST = 0x10
    LOW_PC = 0x11
    HIGH_PC = 0x12
    COMP_DIR = 0x1B
    UPPER_BOUND = 0x2F
    ABSTRACT_ORIGIN = 0x31
    ARTIFICIAL = 0x34
    COUNT = 0x37
    DATA_MEMBER_LOCATION = 0x38
    ENCODING = 0x3E
    EXTERNAL = 0x3F
    SPECIFICATION = 0x47
    TYPE = 0x49
    RANGES = 0x55
    CALL_FILE = 0x58
    CALL_LINE = 0x59
    BIT_SIZE = 0x0D
    LINKAGE_NAME = 0x6E
    DATA_BIT_OFFSET = 0x6B
    STR_OFFSETS_BASE = 0x72
    ADDR_BASE = 0x73
    RNGLISTS_BASE = 0x74
    GNU_VECTOR = 0x2107


class Form(IntEnum):
    ADDR = 0x01
    BLOCK2 = 0x03
    BLOCK4 = 0x04
    DATA2 = 0x05
    DATA4 = 0x06
    DATA8 = 0x07
    STRING = 0x08
    BLOCK = 0x09
    BLOCK1 = 0x0A
    DATA1 = 0x0B
    FLAG = 0x0C
    SDATA = 0x0D
    STRP = 0x0E
    UDATA = 0x0F
    REF_ADDR = 0x10
    REF1 = 0x11
    REF2 = 0x12
    REF4 = 0x13
    REF8 = 0x14
    REF_UDATA = 0x15
    SEC_OFFSET = 0x17
    EXPRLOC = 0x18
    FLAG_PRESENT = 0x19
    STRX = 0x1A
    ADDRX = 0x1B
    DATA16 = 0x1E
    LINE_STRP = 0x1F
    REF_SIG8 = 0x20
    IMPLICIT_CONST = 0x21
    LOCLISTX = 0x22
    RNGLISTX = 0x23
    STRX1 = 0x25
    STRX2 = 0x26
    STRX3 = 0x27
    STRX4 = 0x28
    ADDRX1 = 0x29
    ADDRX2 = 0x2A
    ADDRX3 = 0x2B
    ADDRX4 = 0x2C


class Encoding(IntEnum):
    """DW_ATE: what the bits of a base type mean."""

    BOOLEAN = 0x02
    FLOAT = 0x04
    SIGNED = 0x05
    SIGNED_CHAR = 0x06
    UNSIGNED = 0x07
    UNSIGNED_CHAR = 0x08
    UTF = 0x10


class LineOpcode(IntEnum):
    """DW_LNS: the standard opcodes of a line program."""

    EXTENDED = 0
    COPY = 1
    ADVANCE_PC = 2
    ADVANCE_LINE = 3
    SET_FILE = 4
    SET_COLUMN = 5
    CONST_ADD_PC = 8
    FIXED_ADVANCE_PC = 9


class LineExtended(IntEnum):
    """DW_LNE: its extended opcodes."""

    END_SEQUENCE = 1
    SET_ADDRESS = 2
    DEFINE_FILE = 3


class RangeKind(IntEnum):
    """DW_RLE: entries of a range list."""

    END_OF_LIST = 0
    BASE_ADDRESSX = 1
    STARTX_ENDX = 2
    STARTX_LENGTH = 3
    OFFSET_PAIR = 4
    BASE_ADDRESS = 5
    START_END = 6
    START_LENGTH = 7


LINE_CONTENT_PATH, LINE_CONTENT_DIRECTORY = 1, 2
"""DW_LNCT: what a field of a file of a line program is."""

UNIT_COMPILE, UNIT_PARTIAL = 1, 3
"""DW_UT: the units that are read; the others hold types alone, or parts of other files."""

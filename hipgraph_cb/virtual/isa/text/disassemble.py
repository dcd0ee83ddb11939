"""Instruction -> text, spelled as LLVM does as far as reasonable; used in faults and listings.

How many registers an operand has is read off the mnemonic: its type words (`v_cvt_f32_f64`: one register from two).
"""

from __future__ import annotations

import re
from collections.abc import Callable

from hipgraph_cb.virtual.isa.core.instruction import DPP, LITERAL, SDWA, VGPR_BASE, Instruction
from hipgraph_cb.virtual.isa.text.register_names import operand, scalar, vector

_TYPE = re.compile(r"(?:^|_)[fiub](\d+)(?=_|$)")
_WORDS = re.compile(r"dword(?:x(\d+))?")
# mnemonics whose sources are not all as wide as their last type word: registers of src0, src1, src2
_SOURCES = {
    "v_mad_u64_u32": (1, 1, 2),
    "v_mad_i64_i32": (1, 1, 2),
    "v_lshl_add_u64": (2, 1, 2),
    "v_ldexp_f64": (2, 1, 1),
    "v_trig_preop_f64": (2, 1, 1),
    "v_cmp_class_f64": (2, 1, 1),
    "v_cmpx_class_f64": (2, 1, 1),
    "s_lshl_b64": (2, 1, 1),
    "s_lshr_b64": (2, 1, 1),
    "s_ashr_i64": (2, 1, 1),
    "s_bfe_u64": (2, 1, 1),
    "s_bfe_i64": (2, 1, 1),
    "s_bfm_b64": (1, 1, 1),
    "s_bitset0_b64": (1, 1, 1),
    "s_bitset1_b64": (1, 1, 1),
    "s_bitcmp0_b64": (2, 1, 1),
    "s_bitcmp1_b64": (2, 1, 1),
    "v_pk_fma_f32": (2, 2, 2),
    "v_pk_mul_f32": (2, 2, 2),
    "v_pk_add_f32": (2, 2, 2),
    "v_pk_mov_b32": (2, 2, 2),
    "v_qsad_pk_u16_u8": (2, 1, 2),
    "v_mqsad_pk_u16_u8": (2, 1, 2),
    "v_mqsad_u32_u8": (2, 1, 4),
}
# results wider than their type word says
_RESULTS = {
    "v_pk_fma_f32": 2,
    "v_pk_mul_f32": 2,
    "v_pk_add_f32": 2,
    "v_pk_mov_b32": 2,
    "v_cvt_pk_f32_fp8": 2,
    "v_cvt_pk_f32_bf8": 2,
    "v_qsad_pk_u16_u8": 2,
    "v_mqsad_pk_u16_u8": 2,
    "v_mqsad_u32_u8": 4,
}
_NO_SOURCE = frozenset({"v_nop", "v_clrexcp", "s_getpc_b64"})
_NO_RESULT = frozenset({"s_setpc_b64", "s_rfe_b64", "s_cbranch_join", "s_set_gpr_idx_idx"})
_SCALAR_RESULT = frozenset({"v_readlane_b32", "v_readfirstlane_b32"})
_CARRY_OUT = re.compile(r"v_(add|sub|subrev|addc|subb|subbrev)_co_u32")
_CARRY_IN = re.compile(r"v_(addc|subb|subbrev)_co_u32|v_cndmask_b32")
_ONE_SOURCE = re.compile(
    r"v_(mov|cvt|not|bfrev|ff|frexp|rcp|rsq|sqrt|exp|log|sin|cos|fract|trunc|ceil|rndne|floor"
    r"|sat_pk|screen_partition)"
)
_PACKS = re.compile(r"v_cvt_(sr_|pk_(?!f32_)|pk[a-z])")
_ACCUMULATES = re.compile(r"v_(fmac|mac|pk_fmac|dot\w+c)_")
_THREE_SOURCES = re.compile(
    r"v_(mad|fma|med3|min3|max3|bfe|bfi|perm|alignbit|alignbyte|lerp|sad|msad|qsad|mqsad|div_|cube|lshl_add|add_lshl"
    r"|add3|lshl_or|and_or|or3|xad|cvt_pk_u8|cndmask|dot|pk_mad|pk_fma|interp)"
)


def disassemble(instruction: Instruction) -> str:
    """The instruction as text, such as "v_add_f32 v0, s2, v1"."""
    operands = _PRINTERS[instruction.format](instruction)
    text = ", ".join(part for part in operands[0] if part)
    return " ".join(part for part in (instruction.mnemonic, text, *operands[1]) if part)


_Printed = tuple[list[str], list[str]]


def _registers(mnemonic: str) -> tuple[int, int]:
    """Registers of the result and of each source."""
    if mnemonic in _RESULTS:
        return _RESULTS[mnemonic], 1
    bits = [int(number) for number in _TYPE.findall(mnemonic)]
    if not bits:
        return 1, 1
    return max(1, bits[0] // 32), max(1, bits[-1] // 32)


def _source(instruction: Instruction, code: int, index: int) -> str:
    count = _SOURCES.get(instruction.mnemonic, (_registers(instruction.mnemonic)[1],) * 3)[index]
    if re.match(r"v_(lshlrev|lshrrev|ashrrev)_[bi]64", instruction.mnemonic) and index == 0:
        count = 1
    if code == LITERAL:
        return _literal(instruction)
    if code == SDWA and instruction.sdwa is not None:
        inner = instruction.sdwa
        return scalar(inner["src0"], count) if inner["s0"] else vector(inner["src0"], count)
    if code == DPP and instruction.dpp is not None:
        return vector(instruction.dpp["src0"], count)
    return operand(code, count)


def _literal(instruction: Instruction) -> str:
    """Hexadecimal, unless the number would have fitted an inline constant."""
    value = instruction.literal or 0
    signed = (value ^ 1 << 31) - (1 << 31)
    return str(signed) if -16 <= signed <= 64 else f"{value:#x}"


def _scalar_alu(instruction: Instruction) -> _Printed:
    fields, mnemonic = instruction.fields, instruction.mnemonic
    sources = [name for name in ("ssrc0", "ssrc1") if name in fields]
    parts = []
    if "sdst" in fields and mnemonic not in _NO_RESULT:
        parts.append(scalar(fields["sdst"], _registers(mnemonic)[0]))
    if mnemonic not in _NO_SOURCE:
        parts += [_source(instruction, fields[name], index) for index, name in enumerate(sources)]
    if mnemonic == "s_set_gpr_idx_on":
        parts[-1] = _indexed_operands(fields["ssrc1"])
    return parts, []


def _indexed_operands(enables: int) -> str:
    """The operands that the index is added to."""
    names = ("SRC0", "SRC1", "SRC2", "DST")
    if enables >> len(names):
        return str(enables)
    return f"gpr_idx({','.join(name for index, name in enumerate(names) if enables >> index & 1)})"


def _scalar_immediate(instruction: Instruction) -> _Printed:
    value = instruction.fields["simm16"]
    if instruction.mnemonic.startswith(("s_branch", "s_cbranch")):
        return [str(value)], []
    if instruction.mnemonic in {"s_endpgm", "s_barrier", "s_wakeup", "s_icache_inv", "s_set_gpr_idx_off"}:
        return [], []
    if instruction.mnemonic == "s_set_gpr_idx_mode":
        return [_indexed_operands(value)], []
    if instruction.mnemonic == "s_waitcnt":
        return [], [_wait_counts(value)]
    return [str(value) if value < 64 else f"{value:#x}"], []


def _wait_counts(value: int) -> str:
    """`vmcnt` has six bits in two places, `expcnt` three, `lgkmcnt` four; a counter at its maximum is free."""
    counts = {"vmcnt": (value & 15 | value >> 10 & 0x30, 63), "expcnt": (value >> 4 & 7, 7)}
    counts["lgkmcnt"] = (value >> 8 & 15, 15)
    return " ".join(f"{name}({count})" for name, (count, most) in counts.items() if count != most) or str(value)


def _scalar_constant(instruction: Instruction) -> _Printed:
    fields = instruction.fields
    value = f"{fields['simm16']:#x}"
    if instruction.mnemonic == "s_setreg_imm32_b32":
        return [_hardware_register(fields["simm16"]), _literal(instruction)], []
    if instruction.mnemonic == "s_setreg_b32":
        return [_hardware_register(fields["simm16"]), scalar(fields["sdst"])], []
    if instruction.mnemonic == "s_getreg_b32":
        return [scalar(fields["sdst"]), _hardware_register(fields["simm16"])], []
    count = 2 if instruction.mnemonic.endswith("b64") else 1
    return [scalar(fields["sdst"], count), value], []


def _hardware_register(value: int) -> str:
    return f"hwreg({value & 63}, {value >> 6 & 31}, {(value >> 11) + 1})"


def _scalar_memory(instruction: Instruction) -> _Printed:
    fields, mnemonic = instruction.fields, instruction.mnemonic
    words = _WORDS.search(mnemonic)
    if words is None:
        return ([scalar(fields["sdata"], 2)] if "time" in mnemonic else []), []
    base = scalar(fields["sbase"], 4 if "buffer" in mnemonic else 2)
    if not fields["imm"] and not fields["soffset_en"]:
        distance = scalar(fields["offset"] & 0x7F)
    elif fields["soffset_en"]:
        distance = scalar(fields["soffset"]) + (f" offset:{fields['offset']:#x}" if fields["imm"] else "")
    else:
        distance = f"{fields['offset']:#x}"
    flags = ["glc"] if fields["glc"] else []
    return [scalar(fields["sdata"], int(words[1] or 1)), base, distance], flags


def _short_vector(instruction: Instruction) -> _Printed:
    fields, mnemonic = instruction.fields, instruction.mnemonic
    if mnemonic in _NO_SOURCE:
        return [], []
    parts = []
    if instruction.format == "VOPC":
        sdwa = instruction.sdwa
        parts.append(scalar(sdwa["sdst"], 2) if sdwa is not None and sdwa["sd"] else "vcc")
    elif mnemonic in _SCALAR_RESULT:
        parts.append(scalar(fields["vdst"]))
    else:
        accumulation = mnemonic == "v_accvgpr_mov_b32"
        parts.append(vector(fields["vdst"], _registers(mnemonic)[0], accumulation))
    if _CARRY_OUT.fullmatch(mnemonic):
        parts.append("vcc")
    source = _source(instruction, fields["src0"], 0)
    parts.append(source.replace("v", "a", 1) if mnemonic == "v_accvgpr_mov_b32" else source)
    if "vsrc1" in fields:
        parts += _short_second_source(instruction)
    if _CARRY_IN.fullmatch(mnemonic):
        parts.append("vcc")
    return parts, _second_word(instruction)


def _short_second_source(instruction: Instruction) -> list[str]:
    register, mnemonic = instruction.fields["vsrc1"], instruction.mnemonic
    sdwa = instruction.sdwa
    if sdwa is not None and sdwa["s1"]:
        second = scalar(register)
    else:
        second = vector(register, _SOURCES.get(mnemonic, (0, _registers(mnemonic)[1]))[1])
    constant = _literal(instruction)
    if mnemonic in {"v_fmamk_f32", "v_madmk_f16"}:
        return [constant, second]
    return [second, constant] if mnemonic in {"v_fmaak_f32", "v_madak_f16"} else [second]


def _second_word(instruction: Instruction) -> list[str]:
    """The DPP or SDWA controls."""
    if instruction.dpp is not None:
        fields = instruction.dpp
        masks = f"row_mask:{fields['row_mask']:#x} bank_mask:{fields['bank_mask']:#x}"
        bound = ["bound_ctrl:1"] if fields["bound_ctrl"] else []
        return [_dpp_control(fields["dpp_ctrl"]), masks, *bound]
    if instruction.sdwa is not None:
        names = ("BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3", "WORD_0", "WORD_1", "DWORD", "7")
        controls = [f"{name}:{names[instruction.sdwa[name]]}" for name in ("dst_sel",) if name in instruction.sdwa]
        if "dst_unused" in instruction.sdwa:
            controls.append(f"dst_unused:UNUSED_{('PAD', 'SEXT', 'PRESERVE', '3')[instruction.sdwa['dst_unused']]}")
        used = ("src0_sel", "src1_sel") if "vsrc1" in instruction.fields else ("src0_sel",)
        return controls + [f"{name}:{names[instruction.sdwa[name]]}" for name in used]
    return []


def _dpp_control(control: int) -> str:
    if control < 0x100:
        return "quad_perm:[" + ",".join(str(control >> 2 * index & 3) for index in range(4)) + "]"
    for first, name in ((0x101, "row_shl"), (0x111, "row_shr"), (0x121, "row_ror"), (0x150, "row_newbcast")):
        if first <= control < first + 15 + (first == 0x150):
            return f"{name}:{control - first + (first != 0x150)}"
    named = {0x130: "wave_shl:1", 0x134: "wave_rol:1", 0x138: "wave_shr:1", 0x13C: "wave_ror:1", 0x140: "row_mirror"}
    named |= {0x141: "row_half_mirror", 0x142: "row_bcast:15", 0x143: "row_bcast:31"}
    return named.get(control, f"dpp_ctrl:{control:#x}")


def _source_count(mnemonic: str) -> int:
    if mnemonic in _NO_SOURCE:
        return 0
    if _ONE_SOURCE.match(mnemonic) and not _PACKS.match(mnemonic):
        return 1
    return 3 if _THREE_SOURCES.match(mnemonic) and not _ACCUMULATES.match(mnemonic) else 2


def _long_vector(instruction: Instruction) -> _Printed:
    fields, mnemonic = instruction.fields, instruction.mnemonic
    if mnemonic.startswith("v_accvgpr_"):
        write = mnemonic.startswith("v_accvgpr_write")
        source = operand(fields["src0"], 1)
        return [vector(fields["vdst"], 1, write), source if write else source.replace("v", "a", 1)], []
    count = _registers(mnemonic)[0]
    if mnemonic.startswith("v_cmp"):
        parts = [scalar(fields["vdst"], 2)]
    elif mnemonic in _SCALAR_RESULT:
        parts = [scalar(fields["vdst"])]
    else:
        parts = [vector(fields["vdst"], count)]
    if "sdst" in fields:
        parts.append(scalar(fields["sdst"], 2))
    number = 3 if _CARRY_IN.fullmatch(mnemonic) else _source_count(mnemonic)
    for index in range(number):
        code = fields[f"src{index}"]
        if index == 2 and _CARRY_IN.fullmatch(mnemonic):
            parts.append(operand(code, 2))
        else:
            parts.append(_modified(fields, index, _source(instruction, code, index)))
    return parts, _modifiers(instruction, number)


def _modified(fields: object, index: int, text: str) -> str:
    values = fields if isinstance(fields, dict) else {}
    if values.get("abs", 0) >> index & 1:
        text = f"|{text}|"
    return f"-{text}" if "neg_hi" not in values and values.get("neg", 0) >> index & 1 else text


def _modifiers(instruction: Instruction, number: int) -> list[str]:
    fields = instruction.fields
    flags = (
        _packed_modifiers(instruction, number) if instruction.format == "VOP3P" else _chosen_halves(instruction, number)
    )
    if fields.get("clamp"):
        flags.append("clamp")
    return [*flags, ("", "mul:2", "mul:4", "div:2")[fields.get("omod", 0)]]


def _packed_modifiers(instruction: Instruction, number: int) -> list[str]:
    fields, every = instruction.fields, (1 << number) - 1
    all_high = 0 if instruction.mnemonic.startswith("v_fma_mix") else every
    flags = []
    for name, usual in (("op_sel", 0), ("op_sel_hi", all_high), ("neg_lo", 0), ("neg_hi", 0)):
        value = fields["neg" if name == "neg_lo" else name] & every
        if value != usual:
            flags.append(_bit_list(name, value, number))
    return flags


def _chosen_halves(instruction: Instruction, number: int) -> list[str]:
    """A bit for each source, then bit 3 for the destination; v_cvt_sr names a byte with two."""
    value = instruction.fields.get("op_sel", 0)
    if instruction.mnemonic.startswith("v_cvt_sr_"):
        number = 3
    value = value & ((1 << number) - 1) | value >> 3 << number
    return [_bit_list("op_sel", value, number + 1)] if value else []


def _bit_list(name: str, value: int, count: int) -> str:
    return f"{name}:[" + ",".join(str(value >> index & 1) for index in range(count)) + "]"


_MATRIX = re.compile(r"v_s?mfma\w*?_[fi](\d+)_(\d+)x(\d+)x(\d+)_(?:(\d+)b_)?([a-z]+)(\d+)")


def _matrix(instruction: Instruction) -> _Printed:
    fields = instruction.fields
    found = _MATRIX.match(instruction.mnemonic)
    result, rows, columns, depth, blocks, bits = (int(found[g] or 1) if found else 1 for g in (1, 2, 3, 4, 5, 7))
    inputs = max(1, rows * depth * blocks * bits // (64 * 32))
    output = max(1, rows * columns * blocks * result // (64 * 32))
    sparse = instruction.mnemonic.startswith("v_smfmac")
    first, second = (inputs // 2, inputs) if sparse else (inputs, inputs)
    accumulator = 1 if sparse else output
    parts = [vector(fields["vdst"], output, bool(fields["acc_cd"]))]
    accumulations = (fields["acc"] & 1, fields["acc"] >> 1, 0 if sparse else fields["acc_cd"])
    for index, count in enumerate((first, second, accumulator)):
        code = fields[f"src{index}"]
        in_registers = code >= VGPR_BASE
        parts.append(
            vector(code - VGPR_BASE, count, bool(accumulations[index])) if in_registers else operand(code, count)
        )
    return parts, [f"{name}:{fields[name]}" for name in ("cbsz", "abid", "blgp") if fields[name]]


def _data_registers(mnemonic: str) -> int:
    words = _WORDS.search(mnemonic)
    if words is not None:
        return int(words[1] or 1)
    return 2 if mnemonic.endswith(("_x2", "_f64")) else 1


def _local(instruction: Instruction) -> _Printed:
    fields, mnemonic = instruction.fields, instruction.mnemonic
    bits = re.search(r"_[fiub](\d+)(?:_d16(?:_hi)?)?$", mnemonic)
    count = max(1, int(bits[1]) // 32) if bits else 1
    pair = re.match(r"ds_(read|write|wrxchg)2", mnemonic) is not None
    loads = mnemonic.startswith(("ds_read", "ds_swizzle", "ds_permute", "ds_bpermute")) or "_rtn_" in mnemonic
    compares = "cmpst" in mnemonic or "mskor" in mnemonic
    accumulation = bool(fields["acc"])
    parts = []
    if loads or mnemonic in {"ds_consume", "ds_append"}:
        parts.append(vector(fields["vdst"], count * (2 if pair else 1), accumulation))
    if mnemonic not in {"ds_nop", "ds_consume", "ds_append", "ds_read_addtid_b32", "ds_write_addtid_b32"}:
        parts.append(vector(fields["addr"], 1))
    if not mnemonic.startswith(("ds_read", "ds_swizzle", "ds_nop", "ds_consume", "ds_append")):
        parts.append(vector(fields["data0"], count, accumulation))
        if (pair and not mnemonic.startswith("ds_read")) or compares:
            parts.append(vector(fields["data1"], count, accumulation))
    if pair:
        flags = [f"{name}:{fields[name]}" for name in ("offset0", "offset1") if fields[name]]
    else:
        offset = fields["offset0"] | fields["offset1"] << 8
        flags = [f"offset:{offset}"] if offset else []
    return parts, flags + (["gds"] if fields["gds"] else [])


def _cache_flags(instruction: Instruction) -> list[str]:
    return [name for name in ("sc0", "nt", "sc1") if instruction.fields.get(name)]


def _flat(instruction: Instruction) -> _Printed:
    fields, mnemonic = instruction.fields, instruction.mnemonic
    form, accumulation = instruction.format, bool(fields["acc"])
    count = _data_registers(mnemonic)
    scalar_base = fields["saddr"] != 0x7F and form != "FLAT"
    if form == "SCRATCH":
        address = vector(fields["addr"], 1) if fields["sve"] else "off"
    else:
        address = vector(fields["addr"], 1 if scalar_base else 2)
    base = [] if form == "FLAT" else [scalar(fields["saddr"], 1 if form == "SCRATCH" else 2) if scalar_base else "off"]
    data = vector(fields["data"], count * (2 if "cmpswap" in mnemonic else 1), accumulation)
    result = vector(fields["vdst"], count, accumulation)
    if "_load" in mnemonic:
        parts = [*([] if "_lds" in mnemonic else [result]), address, *base]
    elif "_atomic" in mnemonic:
        parts = [*([result] if fields["sc0"] else []), address, data, *base]
    else:
        parts = [address, data, *base]
    offset = [f"offset:{fields['offset']}"] if fields["offset"] else []
    return parts, offset + _cache_flags(instruction)


def _buffer(instruction: Instruction) -> _Printed:
    fields, mnemonic = instruction.fields, instruction.mnemonic
    if mnemonic in {"buffer_wbl2", "buffer_inv"}:
        return [], _cache_flags(instruction)
    count = _data_registers(mnemonic) * (2 if "cmpswap" in mnemonic else 1)
    components = re.search(r"_format_(?:d16_)?(?:hi_)?([xyzw]+)$", mnemonic)
    if components is not None:
        count = len(components[1]) if "d16" not in mnemonic else (len(components[1]) + 1) // 2
    addressed = fields["offen"] + fields["idxen"]
    parts = [] if fields.get("lds") else [vector(fields["vdata"], count, bool(fields["acc"]))]
    parts.append(vector(fields["vaddr"], addressed) if addressed else "off")
    parts += [scalar(fields["srsrc"], 4), operand(fields["soffset"], 1)]
    flags = [name for name in ("idxen", "offen") if fields[name]]
    offset = [f"offset:{fields['offset']}"] if fields["offset"] else []
    data_format = [f"format:[{fields['dfmt']},{fields['nfmt']}]"] if "dfmt" in fields else []
    return parts, data_format + flags + offset + _cache_flags(instruction) + (["lds"] if fields.get("lds") else [])


_PRINTERS: dict[str, Callable[[Instruction], _Printed]] = {
    "SOP1": _scalar_alu,
    "SOP2": _scalar_alu,
    "SOPC": _scalar_alu,
    "SOPK": _scalar_constant,
    "SOPP": _scalar_immediate,
    "SMEM": _scalar_memory,
    "VOP1": _short_vector,
    "VOP2": _short_vector,
    "VOPC": _short_vector,
    "VOP3": _long_vector,
    "VOP3SD": _long_vector,
    "VOP3P": _long_vector,
    "MFMA": _matrix,
    "DS": _local,
    "FLAT": _flat,
    "GLOBAL": _flat,
    "SCRATCH": _flat,
    "MUBUF": _buffer,
    "MTBUF": _buffer,
}

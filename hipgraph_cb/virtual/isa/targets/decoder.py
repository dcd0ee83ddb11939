"""Machine code -> Instruction, for targets whose tables hold the form of every operation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from hipgraph_cb.virtual.isa.core.instruction import DPP, LITERAL, SDWA, Instruction, UnknownInstruction
from hipgraph_cb.virtual.isa.targets.form import Form, Format, Registers, Rows, forms
from hipgraph_cb.virtual.isa.targets.soundness import (
    SOURCES,
    FirstWord,
    refuse_dpp,
    refuse_missing_operands,
    refuse_other_bits,
    refuse_sdwa,
)

DPP8, DPP8_FETCH_INACTIVE = 233, 234
# fields that count groups of scalar registers, where they are too narrow to number them all
_WHOLE_REGISTER = 7
_UNITS = {"sbase": 2, "srsrc": 4, "ssamp": 4}
DPP16_FIELDS = (
    ("src0", 0, 8),
    ("dpp_ctrl", 8, 9),
    ("fi", 18, 1),
    ("bound_ctrl", 19, 1),
    ("src0_neg", 20, 1),
    ("src0_abs", 21, 1),
    ("src1_neg", 22, 1),
    ("src1_abs", 23, 1),
    ("bank_mask", 24, 4),
    ("row_mask", 28, 4),
)
_SELECTORS = (
    ("src0_sel", 16, 3),
    ("src0_sext", 19, 1),
    ("src0_neg", 20, 1),
    ("src0_abs", 21, 1),
    ("s0", 23, 1),
    ("src1_sel", 24, 3),
    ("src1_sext", 27, 1),
    ("src1_neg", 28, 1),
    ("src1_abs", 29, 1),
    ("s1", 31, 1),
)
# the SDWA word of an operation with a vector result, and of a comparison
SDWA_FIELDS = (
    (
        ("src0", 0, 8),
        ("dst_sel", 8, 3),
        ("dst_unused", 11, 2),
        ("clamp", 13, 1),
        ("omod", 14, 2),
        *_SELECTORS,
    ),
    (("src0", 0, 8), ("sdst", 8, 7), ("sd", 15, 1), *_SELECTORS),
)


class Decoder:
    """Decodes one family of targets.

    Args:
        targets: the processors whose code it reads.
        formats: in the order in which formats with the same prefix are tried.
        rows: of the generated tables, by format.
        registers: the scalar registers.
        controls: the DPP controls that there are.
        eights: whether there is DPP among eight lanes.
    """

    def __init__(
        self,
        targets: Iterable[str],
        formats: tuple[Format, ...],
        rows: Mapping[str, Rows],
        *,
        registers: Registers,
        controls: Iterable[int],
        eights: bool = True,
    ) -> None:
        self.targets = frozenset(targets)
        self._registers, self._controls, self._eights = registers, frozenset(controls), eights
        self.forms = {name: forms(table) for name, table in rows.items()}
        self.formats = formats
        self._by_prefix = _by_prefix(formats)

    @property
    def opcodes(self) -> dict[str, dict[int, str]]:
        """Format -> number -> mnemonic."""
        return {name: {number: form.mnemonic for number, form in table.items()} for name, table in self.forms.items()}

    def decode(self, code: bytes, offset: int, target: str, *, address: int | None = None) -> Instruction:
        """Decode the instruction at byte `offset` of `code`; its address is `address`, or `offset` without one.

        Raises:
            UnknownInstruction: the bytes are not an instruction, `code` ends within it, or the target has no tables.
        """
        where = offset if address is None else address
        if target not in self.targets:
            raise UnknownInstruction(f"there is no decoder for {target}", word=None, address=where, format=None)
        word = _first(code, offset, where)
        candidates = self._by_prefix[word >> 23]
        for kind in candidates:
            form = self.forms[kind.name].get(kind.opcode_of(word)) if kind.belongs(word) else None
            if form is not None:
                return self._decode(code, offset, FirstWord(word, where, kind.name, target), kind, form)
        if not candidates:
            what = f"{word:#010x} belongs to no instruction format of {target}"
            raise UnknownInstruction(what, word=word, address=where, format=None)
        kind = candidates[-1]
        what = f"{target} has no {kind.name} opcode {kind.opcode_of(word)} (in {word:#010x})"
        raise UnknownInstruction(what, word=word, address=where, format=kind.name)

    def _decode(self, code: bytes, offset: int, word: FirstWord, kind: Format, form: Form) -> Instruction:
        bits = _read(code, offset, kind.words, word)
        fields = _fields(kind, bits)
        refuse_other_bits(form, bits, fields, word)
        refuse_missing_operands(form.operands, fields, self._registers, word)
        if fields.get("lds") and fields.get("acc"):
            word.refuse(f"({form.mnemonic}) can't load into LDS and accumulation registers")
        second = self._second(bits, fields, word) if kind.name == "VOPD" else None
        follows = self._what_follows(form, fields, second, word)
        extra = _read(code, offset + 4 * kind.words, 1, word) if follows else None
        dpp = _dpp(fields["src0"], extra) if extra is not None and follows == "dpp" else None
        if dpp is not None:
            refuse_dpp(kind, form, fields, dpp, self._controls, word)
        sdwa = _extract(SDWA_FIELDS[kind.name == "VOPC"], extra) if extra is not None and follows == "sdwa" else None
        if sdwa is not None:
            refuse_sdwa(form, sdwa, word)
        literal = extra if follows == "literal" else None
        size = 4 * kind.words + (0 if extra is None else 4)
        words = tuple(int.from_bytes(code[offset + at : offset + at + 4], "little") for at in range(0, size, 4))
        parts = () if second is None else _parts(word.address, form, second, fields, literal)
        return Instruction(
            word.address,
            size,
            kind.name,
            form.mnemonic,
            fields,
            literal,
            words,
            dpp,
            sdwa,
            operands=form.operands,
            parts=parts,
        )

    def _second(self, bits: int, fields: dict[str, int], word: FirstWord) -> Form:
        """The form of a VOPD instruction's second operation."""
        form = self.forms["VOPDY"].get(fields["opy"])
        if form is None:
            word.refuse(f"has no second operation {fields['opy']}")
        refuse_other_bits(form, bits, fields, word)
        fields["vdsty"] = fields["vdsty"] << 1 | ~fields["vdstx"] & 1
        refuse_missing_operands(form.operands, fields, self._registers, word)
        return form

    def _what_follows(self, form: Form, fields: Mapping[str, int], second: Form | None, word: FirstWord) -> str | None:
        """What the word behind the instruction is, if one belongs to it."""
        operands = form.operands if second is None else (*form.operands, *second.operands)
        sources = [
            fields[part.field] for part in operands if part.field in SOURCES and part.kinds[:1] not in ("m", "i")
        ]
        lanes = [source for source in sources if source in (DPP, DPP8, DPP8_FETCH_INACTIVE)]
        if lanes:
            others = fields.get("src0") not in lanes or len(lanes) > 1 or LITERAL in sources
            if "d" not in form.flags or others or (lanes[0] != DPP and not self._eights):
                word.refuse(f"({form.mnemonic}) can't take a source from another lane so")
            return "dpp"
        if "s" in form.flags and fields.get("src0") == SDWA:
            return "sdwa"
        if SDWA in sources:
            word.refuse(f"({form.mnemonic}) can't take a part of a source so")
        if "L" in form.flags or (second is not None and "L" in second.flags) or LITERAL in sources:
            return "literal"
        return "addresses" if fields.get("nsa") else None


def _by_prefix(formats: tuple[Format, ...]) -> tuple[tuple[Format, ...], ...]:
    """The formats of each value of a word's upper nine bits: those with the longest prefix."""
    table: list[tuple[Format, ...]] = []
    for upper in range(512):
        fitting = [kind for kind in formats if f"{upper:09b}".startswith(kind.prefix)]
        longest = max((len(kind.prefix) for kind in fitting), default=0)
        table.append(tuple(kind for kind in fitting if len(kind.prefix) == longest))
    return tuple(table)


def _fields(kind: Format, bits: int) -> dict[str, int]:
    fields = kind.values(bits)
    for name, _, width in kind.fields:
        if name in _UNITS and width < _WHOLE_REGISTER:
            fields[name] *= _UNITS[name]
    if "op_sel_hi2" in fields:
        fields["op_sel_hi"] |= fields.pop("op_sel_hi2") << 2
    return fields


def _extract(fields: tuple[tuple[str, int, int], ...], word: int) -> dict[str, int]:
    return {name: word >> low & (1 << width) - 1 for name, low, width in fields}


def _dpp(source: int, word: int) -> dict[str, int]:
    if source == DPP:
        return _extract(DPP16_FIELDS, word)
    return {"src0": word & 0xFF, "dpp8": word >> 8, "fi": int(source == DPP8_FETCH_INACTIVE)}


def _parts(
    address: int, first: Form, second: Form, fields: Mapping[str, int], literal: int | None
) -> tuple[Instruction, ...]:
    """The two operations of a VOPD instruction, as the short instructions that they are."""
    found = []
    for form, letter in ((first, "x"), (second, "y")):
        names = {f"vdst{letter}": "vdst", f"src{letter}0": "src0", f"vsrc{letter}1": "vsrc1"}
        operands = tuple(replace(part, field=names.get(part.field, part.field)) for part in form.operands)
        own = {name: fields[field] for field, name in names.items() if any(o.field == name for o in operands)}
        short = "VOP2" if "vsrc1" in own else "VOP1"
        mnemonic = form.mnemonic.replace("v_dual_", "v_")
        found.append(Instruction(address, 0, short, mnemonic, own, literal, operands=operands))
    return tuple(found)


def _read(code: bytes, offset: int, words: int, word: FirstWord) -> int:
    if offset < 0 or offset + 4 * words > len(code):
        what = f"the code ends within the {word.format} instruction {word.value:#010x}"
        raise UnknownInstruction(what, word=word.value, address=word.address, format=word.format)
    return int.from_bytes(code[offset : offset + 4 * words], "little")


def _first(code: bytes, offset: int, address: int) -> int:
    if offset < 0 or offset + 4 > len(code):
        raise UnknownInstruction("the code ends here", word=None, address=address, format=None)
    return int.from_bytes(code[offset : offset + 4], "little")

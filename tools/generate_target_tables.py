"""Write `tables_generated.py` of a target family: the form of every operation, found by asking LLVM's disassembler.

Run by hand with the development package rocm-llvm-python==7.2.2.562.46 installed (LLVM 22), for example
`python tools/generate_target_tables.py gfx11`.

Only facts are taken: which number is which mnemonic, which fields it has, how many registers an operand has, which
bits must be zero and what may follow. Each opcode of each format is disassembled with its operands in different
registers; a field that must be zero is found by leaving it out, a bit by setting it.
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path

from isa_families import FAMILIES, Family
from llvm_disassembler import Disassembler

TARGETS = Path(__file__).parents[1] / "hipgraph_cb" / "virtual" / "isa" / "targets"
WIDTH = 116
VECTOR, LITERAL, DPP16, SDWA, EXEC = 256, 255, 250, 249, 126
# formats that have more to their text than operands: only their mnemonics count
OUTLINES = ("MIMG", "SAMPLE", "EXP", "LDSDIR", "VINTERP")
_SUFFIX = re.compile(r"_(e64_dpp|e32|e64|dpp)$")
_RANGE = re.compile(r"^(v|s|a|ttmp)(?:\[(\d+):(\d+)\]|(\d+)(\.l)?)$")


# registers that operands are given while an opcode is tried, by field; none is within 16 of another of its kind
NUMBERS = {
    "vdst": 10, "src0": 40, "src1": 70, "src2": 100, "vsrc1": 70,
    "sdst": 4, "ssrc0": 24, "ssrc1": 44, "sbase": 28, "sdata": 64,
    "addr": 130, "data": 160, "data0": 160, "data1": 190, "vaddr": 130, "vdata": 160,
    "srsrc": 44, "saddr": 24, "soffset": 84,
    "srcx0": 40, "vsrcx1": 70, "srcy0": 41, "vsrcy1": 71, "vdstx": 10, "vdsty": 7,
}  # fmt: skip
UNITS = {"sbase": 2, "srsrc": 4}
SOURCES = ("src0", "src1", "src2")
KINDS = {"v": VECTOR + 40, "s": 24, "c": 129, "l": LITERAL}


class Prober:
    """Finds the forms of one format."""

    def __init__(self, family: Family, llvm32: Disassembler, llvm64: Disassembler, form) -> None:
        self.family, self.llvm, self.llvm64, self.form = family, llvm32, llvm64, form
        self.places = {name: (low, abs(width)) for name, low, width in form.fields}
        self.units = {name: UNITS[name] if self.places[name][1] < 7 else 1 for name in UNITS if name in self.places}
        self.registers = [name for name in self.places if name in NUMBERS]
        self.choices: dict[str, list[str]] = defaultdict(list)

    def encode(self, opcode: int, values: Mapping[str, int]) -> int:
        form = self.form
        bits = int(form.prefix, 2) << 32 - len(form.prefix) | opcode << form.opcode[0] | form.fixed[2] << form.fixed[0]
        for name, value in values.items():
            bits |= value << self.places[name][0]
        return bits

    def fills(self) -> Iterator[dict[str, int]]:
        """Values of the register fields: all of them, then with some left out; sources as vectors, then as scalars."""
        options = []
        for name in self.registers:
            number = NUMBERS[name] // self.units.get(name, 1)
            if name in SOURCES or name in ("srcx0", "srcy0"):
                options.append((VECTOR + number, number + 2 & ~3, 0))
            elif name == "saddr":
                options.append((*self.family.no_base, number, 0))
            elif name == "soffset":
                options.append((number, 0))
            elif name == "vdst" and self.form.name in ("VOP3", "VOP1"):
                options.append((number, EXEC, 0))
            else:
                options.append((number, 0))
        rows = list(product(*options))
        rows.sort(
            key=lambda row: (sum(value == 0 for value in row), [o.index(v) for o, v in zip(options, row, strict=False)])
        )
        for row in rows:
            yield dict(zip(self.registers, row, strict=True))

    def probe(self, opcode: int):
        settings = self.family.probed.get(self.form.name, ({},))
        for values, others in product(self.fills(), settings):
            tried = {**values, **others}
            bits = self.encode(opcode, tried)
            size, text = self.llvm.text(bits)
            if not size:
                size, text = self.llvm64.text(bits)
            if size:
                return self.describe(opcode, tried, bits, size, text) if self.owner(text, tried) else None
        return None

    def owner(self, text: str, values) -> bool:
        """Whether an operation that two formats might hold belongs to this one."""
        mnemonic, operands = self.operands(text, values)
        named = " ".join([mnemonic, *(name for name, *_ in operands)])
        return re.search(self.family.chosen.get(self.form.name, ""), named) is not None

    def describe(self, opcode, values, bits, size, text):
        mnemonic, operands = self.operands(text, values)
        if self.form.name == "VOP3":
            self.choices[self.chosen_halves(bits)].append(mnemonic)
        wide = self.llvm64.text(bits)[1]
        if wide and wide != text:
            operands = self.masks(operands, self.operands(wide, values)[1])
        if self.form.name == "SOPP" and not operands and self.llvm.text(bits | 1)[0]:
            operands = [("simm16", 0, "o")]
        named = {name for name, _, kinds in operands if kinds != "i" and name != "offset"}
        mask = 0 if self.form.name in OUTLINES else self.unused(opcode, values, bits, size, text, named)
        operands = self.returned(opcode, values, operands)
        result = []
        for name, count, kinds in operands:
            if name in SOURCES or name in ("ssrc0", "ssrc1", "soffset", "srcx0", "srcy0"):
                kinds += self.kinds(opcode, values, name, text)
            result.append(":".join([name, str(count), kinds] if kinds else [name, str(count)]))
        if self.form.name in OUTLINES:
            result = []
        return (" ".join(result), mask, bits & mask, self.flags(opcode, values, bits, size, text)), mnemonic

    def chosen_halves(self, bits: int) -> str:
        """Which bit of op_sel each entry of its list in the text shows; "-" for an entry that is always 0."""
        places: dict[int, str] = {}
        count = 0
        for bit in range(4):
            match = re.search(r"op_sel:\[([01,]+)\]", self.llvm.text(bits ^ 1 << self.places["op_sel"][0] + bit)[1])
            if match:
                entries = match[1].split(",")
                count = len(entries)
                places |= {index: str(bit) for index, entry in enumerate(entries) if entry == "1"}
        return "".join(places.get(index, "-") for index in range(count))

    def returned(self, opcode, values, operands):
        """An atomic's result is there with the cache bit that asks for it: kind "g"."""
        bit = self.family.returns.get(self.form.name)
        if bit is None or not operands or any(name == "vdst" for name, *_ in operands):
            return operands
        size, text = self.llvm.text(self.encode(opcode, values) ^ 1 << self.places[bit][0])
        more = self.operands(text, values)[1] if size else []
        if len(more) != len(operands) + 1:
            return operands
        return [("vdst", more[0][1], "g"), *operands]

    def kinds(self, opcode, values, name, text) -> str:
        found = ""
        for kind, code in KINDS.items():
            if code >> self.places[name][1] or (code == LITERAL and self.no_literals()):
                continue
            tried = self.encode(opcode, {**values, name: code})
            if any(llvm.text(tried)[0] for llvm in (self.llvm, self.llvm64)):
                found += kind
        return found

    def operands(self, text: str, values):
        if self.form.name == "VOPD":
            text = text.split(" :: ")[0]
        elif self.form.name == "VOPDY":
            text = text.split(" :: ")[1]
        mnemonic, _, rest = text.partition(" ")
        mnemonic = _SUFFIX.sub("", mnemonic)
        found = []
        rest = re.split(r" (?=;|[a-z_0-9]+:|glc|slc|dlc|gds|offen|idxen|tfe|clamp)", rest)[0]
        for token in re.split(r",\s*(?![^\[(]*[\])])", rest) if rest else ():
            found.append(self.operand(token.strip(), values, self.later(found)))
        return mnemonic, [item for item in found if item]

    def later(self, found) -> bool:
        """Whether an operand whose text says little is the later of two: an address's offset, or a literal."""
        return {"SCRATCH": "addr", "SOPK": "simm16"}.get(self.form.name) in {name for name, *_ in found}

    def operand(self, token, values, later):
        if token == "gds":
            return None
        match = _RANGE.match(token)
        if match:
            first = int(match[2] or match[4])
            count = int(match[3]) - first + 1 if match[2] else 1
            for name, value in values.items():
                number = value * self.units.get(name, 1) if name != "vdsty" else 2 * value + 1
                vector = (name[0] in "vad" and name != "sdata") or (name in SOURCES and value >= VECTOR)
                vector |= name.startswith("src") and value >= VECTOR
                if (number & 0xFF if vector else number) == first and name in self.registers:
                    kinds = "a" if match[1] == "a" else "s" if name in ("vdst", "sdst") and match[1] != "v" else ""
                    return name, "h" if match[5] else count, kinds
        if token == "exec" and values.get("vdst") == EXEC:
            return "vdst", 2, "s"
        if token in ("vcc_lo", "vcc"):
            return "vcc", 0, ""
        if token == "off":
            if self.form.name in ("MUBUF", "MTBUF", "VBUFFER"):
                return "vaddr", 1, ""
            return (
                ("addr", 1, "")
                if self.form.name == "SCRATCH" and not later
                else ("saddr", 1 if self.form.name == "SCRATCH" else 2, "")
            )
        if token.isdigit() and "sdata" in self.places:
            return "sdata", 0, "i"
        if (token.startswith("gpr_idx") or token == "0x2c") and "ssrc1" in self.places:
            return "ssrc1", 0, "i"
        if token.startswith("0x") and self.form.name == "SMEM":
            return "offset", 0, ""
        if token.startswith("sendmsg") and "ssrc0" in self.places:
            return "ssrc0", 0, "m"
        if token == "0" and self.form.name in ("MUBUF", "MTBUF"):
            return "soffset", 1, ""
        if (token == "0x0" and self.form.name in ("SOP2", "VOP2", "VOPD", "VOPDY")) or (
            token == "0" and self.form.name == "SOPK" and later
        ):
            return "literal", 1, ""
        if "simm16" in self.places:
            return "simm16", 0, "x" if token.startswith("0x") else ""
        return f"?{token.replace(' ', '_')}", 0, ""

    def masks(self, narrow, wide):
        return [
            (name, 0 if count == 1 and other == 2 else count, kinds)
            for (name, count, kinds), (_, other, _) in zip(narrow, wide, strict=True)
        ]

    def unused(self, opcode, values, bits, size, text, named) -> int:
        fixed = 0
        low, width = self.form.opcode
        taken = ((1 << width) - 1) << low | ((1 << len(self.form.prefix)) - 1) << 32 - len(self.form.prefix)
        taken |= ((1 << self.form.fixed[1]) - 1) << self.form.fixed[0]
        for name in named:
            if name in self.places:
                low, width = self.places[name]
                taken |= ((1 << width) - 1) << low
        half = {"VOPD": "x", "VOPDY": "y"}.get(self.form.name)
        if half is not None:
            taken = (
                ~sum(((1 << width) - 1) << low for name, (low, width) in self.places.items() if half in name) | taken
            )
        for bit in range(32 * self.form.words):
            if taken >> bit & 1:
                continue
            results = [llvm.text(bits ^ 1 << bit) for llvm in (self.llvm, self.llvm64)]
            if not any(self.same(text, other) for size, other in results if size):
                fixed |= 1 << bit
        return fixed

    def same(self, text: str, other: str) -> bool:
        """Whether these are one operation, none of whose operands ceased to be a half of a register."""
        halves = [len(re.findall(r"v\d+\.[lh]", line)) for line in (text, other)]
        return text.split()[0] == other.split()[0] and halves[0] == halves[1]

    def no_literals(self) -> bool:
        return self.form.words == 2 and not self.family.long_literals

    def flags(self, opcode, values, bits, size, text) -> str:
        flags = ""
        if size > 4 * self.form.words:
            return "L"
        for flag, code in (("d", DPP16), ("l", LITERAL), ("s", SDWA)):
            if self.no_literals() or (flag == "s" and self.family.long_literals):
                continue
            for source in ("src0", "src1", "src2", "ssrc0", "ssrc1", "srcx0"):
                if source in values:
                    follow = {DPP16: 0xFF00E400, SDWA: 0x06060600, LITERAL: 0}[code] << 32 * self.form.words
                    longer, _ = self.llvm.text(self.encode(opcode, {**values, source: code}) | follow)
                    if longer == 4 * self.form.words + 4:
                        flags += flag
                        break
        if self.form.words == 1 and ("d" in flags or "s" in flags):
            source, word, signs = (DPP16, 0xFF00E400, (20, 22)) if "d" in flags else (SDWA, 0x06060600, (20, 28))
            for flag, bit in zip("nm", signs, strict=True):
                code = self.encode(opcode, {**values, "src0": source}) | (word | 1 << bit) << 32
                flags += flag if self.llvm.text(code)[0] else ""
        if "s" in flags and self.form.name != "VOPC":
            for flag, bit in (("c", 13), ("o", 14)):
                code = self.encode(opcode, {**values, "src0": SDWA}) | (0x06060600 | 1 << bit) << 32
                flags += flag if self.llvm.text(code)[0] else ""
        if "offset0:" in self.llvm.text(bits | 0x105)[1]:
            flags += "2"
        return flags


def rows(family: Family):
    """Format name, and its shapes: operands, fixed bits, their values, flags -> opcode -> mnemonic."""
    llvm32, llvm64 = Disassembler(family.processor, family.features), Disassembler(family.processor, family.wide)
    chosen: set[int] = set()
    for form in (*family.formats, *family.second):
        prober = Prober(family, llvm32, llvm64, form)
        shapes: dict[tuple[str, int, int, str], dict[int, str]] = defaultdict(dict)
        for opcode in range(1 << form.opcode[1]):
            word = prober.encode(opcode, {}) & 0xFFFFFFFF
            if _belongs_elsewhere(family, form, word) or word in chosen:
                continue
            found = prober.probe(opcode)
            if found is not None and not (form.name in OUTLINES and found[1].startswith("v_fma_mix")):
                shape, mnemonic = found
                shapes[shape][opcode] = mnemonic
                if form.name in family.chosen:
                    chosen.add(word)
        yield form.name, shapes, prober.choices


def _belongs_elsewhere(family: Family, form, word: int) -> bool:
    """Whether a format with a longer prefix has the word."""
    longer = [other.prefix for other in family.formats if len(other.prefix) > len(form.prefix)]
    return any(f"{word:032b}".startswith(prefix) for prefix in longer)


def wrapped(items: Iterator[str], indent: str) -> Iterator[str]:
    line = indent
    for item in items:
        if len(line) + len(item) + 2 > WIDTH:
            yield line
            line = indent
        line += f" {item},"
    yield line


def render(family: Family) -> str:
    lines = [
        f'"""Forms of the operations of {family.processor}. Generated by tools/generate_target_tables.py."""',
        "",
        "# format: rows of operands, unused bits, flags, and the mnemonics with these by opcode (see targets/form.py)",
        "FORMS = {",
    ]
    choices: dict[str, list[str]] = {}
    for name, shapes, chosen in rows(family):
        choices |= chosen
        lines.append(f'  "{name}": (')
        for (operands, mask, value, flags), mnemonics in shapes.items():
            lines.append(f'    ("{operands}", {mask:#x}, {value:#x}, "{flags}", {{')
            lines += wrapped((f'{op}: "{text}"' for op, text in mnemonics.items()), "     ")
            lines.append("    }),")
        lines.append("  ),")
    lines += ["}", "", "# hardware registers, messages and buffer formats by number", "NAMES = {"]
    for kind, table in named(family):
        lines += [f'  "{kind}": {{', *wrapped((f'{number}: "{text}"' for number, text in table.items()), "   "), "  },"]
    lines += ["}", "", "# bits of op_sel in the order of the text, and the operations that show these", "HALVES = {"]
    for places, mnemonics in choices.items():
        if places:
            lines += [f'  "{places}": (', *wrapped((f'"{text}"' for text in mnemonics), "   "), "  ),"]
    return "\n".join([*lines, "}", ""])


def named(family: Family) -> Iterator[tuple[str, dict[int, str]]]:
    """What LLVM calls the values of some fields."""
    llvm = Disassembler(family.processor, family.features)
    for kind, (bits, low, width, pattern) in family.named.items():
        found = {}
        for number in range(1 << width):
            match = re.search(pattern, llvm.text(bits | number << low)[1])
            if match:
                found[number] = match[1]
        yield kind, found


if __name__ == "__main__":
    for family in sys.argv[1:]:
        (TARGETS / family / "tables_generated.py").write_text(render(FAMILIES[family]))

"""Write `tests/fixtures/isa/PROCESSOR_encodings.txt`: encodings of a processor, and what LLVM says of each.

Run by hand with the development package rocm-llvm-python installed: `python tools/sample_encodings.py gfx1100 600`
writes one encoding of each operation and 600 random ones. Half of these are random in the fields of an operation,
which are mostly sound, half in every bit. A path and a seed may follow, for other ones.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from isa_families import TRUE16
from llvm_disassembler import Disassembler

from hipgraph_cb.virtual.isa.targets.decoder import Decoder
from hipgraph_cb.virtual.isa.targets.families import target_of
from hipgraph_cb.virtual.isa.targets.form import Form, Format

FIXTURES = Path(__file__).parents[1] / "tests" / "fixtures" / "isa"
WORDS = 5
SOURCES = ("src0", "src1", "src2", "srcx0", "srcy0")


def encoding(random_bits: random.Random, kind: Format, opcode: int, form: Form) -> int:
    """An instruction of the operation with random fields."""
    bits = random_bits.getrandbits(32 * WORDS)
    if random_bits.random() < 0.9:
        bits = bits & ~form.fixed | form.value
    for name, low, width in kind.fields:
        if name in SOURCES and not form.fixed >> low & 1 and random_bits.random() < 0.5:
            code = random_bits.choice((256, 256, 0, 128)) + random_bits.randrange(128)
            code = random_bits.choice((code, code, code, 255, 250, 233))
            bits = bits & ~((1 << width) - 1 << low) | code << low
    for low, width, value in (
        (*kind.opcode, opcode),
        kind.fixed,
        (32 - len(kind.prefix), len(kind.prefix), int(kind.prefix, 2)),
    ):
        bits = bits & ~((1 << width) - 1 << low) | value << low
    return bits


def decoder_of(processor: str) -> Decoder:
    decoder: Decoder = import_module(f"hipgraph_cb.virtual.isa.targets.{target_of(processor).family}.decode").DECODER
    return decoder


def operations(decoder: Decoder) -> Iterator[tuple[Format, int, Form]]:
    for kind in decoder.formats:
        for opcode, form in decoder.forms[kind.name].items():
            yield kind, opcode, form


def encodings(processor: str, count: int, seed: int) -> Iterator[int]:
    random_bits = random.Random(seed)
    every = list(operations(decoder_of(processor)))
    by_format: dict[str, list[tuple[Format, int, Form]]] = {}
    for row in every:
        by_format.setdefault(row[0].name, []).append(row)
    for row in every:
        yield encoding(random_bits, *row)
    for _ in range(count // 2):
        yield encoding(random_bits, *random_bits.choice(by_format[random_bits.choice(sorted(by_format))]))
        yield random_bits.getrandbits(32 * WORDS)


def crashes(bits: int) -> bool:
    """Whether LLVM's disassembler might crash on gfx9's code: literals where none may be, selectors of no part."""
    word = bits & 0xFFFFFFFF
    if word >> 26 == 0b110100:  # the long vector formats
        return 255 in (word & 0xFF, *(bits >> low & 0x1FF for low in (32, 41, 50)))
    if word >> 26 in (0b111000, 0b111010):  # buffers
        return bits >> 56 & 0xFF == 255
    second = bits >> 32
    return (
        word >> 31 == 0
        and word & 0x1FF == 249
        and (7 in (second >> 8 & 7, second >> 16 & 7, second >> 24 & 7) or second >> 11 & 3 == 3)
    )


def lines(processor: str, count: int, seed: int) -> Iterator[str]:
    """Encodings in hexadecimal with LLVM's text, or with "-" where it calls them invalid."""
    llvm = Disassembler(processor, TRUE16 if processor.startswith("gfx12") else "")
    for bits in encodings(processor, count, seed):
        if processor.startswith("gfx9") and crashes(bits):
            continue
        size, text = llvm.text(bits, WORDS)
        code = bits.to_bytes(4 * WORDS, "little")
        yield f"{(code[:size] if size else code).hex()} {text or '-'}\n"


if __name__ == "__main__":
    processor, count, *rest = sys.argv[1:]
    path = Path(rest[0]) if rest else FIXTURES / f"{processor}_encodings.txt"
    path.write_text("".join(lines(processor, int(count), seed=int(rest[1]) if rest else 1)))

"""Instructions as LLVM sees them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from support.tools import run_tool

FIXTURES = Path(__file__).parents[1] / "fixtures"
_LISTED = re.compile(r"\s+(\S.*?)\s*// ([0-9A-F]{12}): ((?:[0-9A-F]{8} ?)+)")
_ENCODING_SUFFIX = re.compile(r"_(e32|e64|e64_dpp|dpp|sdwa)(?= |$)")


class Listed(NamedTuple):
    """One line of LLVM's listing: the bytes, the mnemonic and the whole text without encoding suffix."""

    code: bytes
    address: int
    mnemonic: str
    text: str


def without_encoding(text: str) -> str:
    return re.sub(r"\s+", " ", _ENCODING_SUFFIX.sub("", text)).strip()


def disassembled(path: Path, processor: str = "gfx942") -> Iterator[Listed]:
    """What llvm-objdump-19 decodes of a code object."""
    listing = run_tool("llvm-objdump-19", "-d", f"--mcpu={processor}", str(path))
    for line in listing.splitlines():
        found = _LISTED.match(line)
        if found is None or found[1].startswith(".long"):
            continue
        text = without_encoding(found[1])
        code = b"".join(int(word, 16).to_bytes(4, "little") for word in found[3].split())
        yield Listed(code, int(found[2], 16), text.split()[0], text)


def opcode_list() -> Iterator[tuple[str, int, bytes, str]]:
    """Every opcode of gfx942 that LLVM 19 decodes: format, number, an encoding of it, LLVM's text for that."""
    for line in (FIXTURES / "isa" / "gfx942_opcodes.txt").read_text().splitlines():
        form, number, code, text = line.split(" ", 3)
        yield form, int(number), bytes.fromhex(code), without_encoding(text)

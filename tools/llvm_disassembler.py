"""LLVM's disassembler, as the development package rocm-llvm-python has it (LLVM 22)."""

from __future__ import annotations

import ctypes
from importlib.metadata import files, version

PACKAGE, SOURCE_VERSION = "rocm-llvm-python", "7.2.2.562.46"
_LONGEST = 1024


class Disassembler:
    """LLVM's, for one processor."""

    def __init__(self, processor: str, features: str = "") -> None:
        if version(PACKAGE) != SOURCE_VERSION:
            raise SystemExit(f"needs {PACKAGE}=={SOURCE_VERSION}, found {version(PACKAGE)}")
        library = next(path for path in files(PACKAGE) or () if path.name == "librocmllvm.so")
        self._llvm = ctypes.CDLL(str(library.locate()))
        for part in ("TargetInfo", "Target", "TargetMC", "Disassembler"):
            getattr(self._llvm, f"LLVMInitializeAMDGPU{part}")()
        make = self._llvm.LLVMCreateDisasmCPUFeatures
        make.restype = ctypes.c_void_p
        names = [name.encode() for name in ("amdgcn-amd-amdhsa", processor, features)]
        self._context = ctypes.c_void_p(make(*names, None, 0, None, None))
        self._llvm.LLVMDisasmInstruction.restype = ctypes.c_size_t

    def text(self, bits: int, words: int = 5) -> tuple[int, str]:
        """Bytes of the instruction and its text; no bytes where LLVM calls it, or an operand of it, invalid."""
        code, out = bits.to_bytes(4 * words, "little"), ctypes.create_string_buffer(_LONGEST)
        size = self._llvm.LLVMDisasmInstruction(
            self._context, code, ctypes.c_uint64(len(code)), ctypes.c_uint64(0), out, ctypes.c_size_t(_LONGEST)
        )
        text = out.value.decode().strip().replace("\t", " ")
        invalid = "/*" in text and not text.startswith("s_delay_alu")
        return (0, "") if size == 0 or invalid else (size, text)

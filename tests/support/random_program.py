"""Random C: programs that mean the same on the host and on the virtual GPU, and what is needed to run them on both.

Programs have no undefined behaviour: integers wrap (-fwrapv), shift counts are masked, divisors and conversions from
floating point are guarded, contraction is off. Every operation on numbers is correctly rounded on both sides, so
results are compared bit for bit; NaNs only as NaN.

What clang 19 gets wrong for AMDGPU is kept from it by hiding values behind empty assembly:
- it divides unsigned numbers by its 24-bit method when they have many equal upper bits, although these may be ones;
- it drops the upper half of x | ~y when y is known to fit 32 bits;
- it makes (_Float16)(a * b) of two floats one v_fma_mixlo_f16 that adds +0, which loses the sign of -0;
- it turns 0 - x into -x, and x < 0 ? x : 0 into v_min, which gives -0 for -0.
"""

from __future__ import annotations

import ctypes
import random
import subprocess
from pathlib import Path

import numpy as np
from support.tools import require_tool
from support.virtual_gpu import VirtualGpu

INTEGERS = ("i32", "u32", "i64", "u64", "i16", "u8")
FLOATS = ("f32", "f64", "f16")
WORDS_IN = 12  # 32-bit words of input a lane
RESULTS = 8  # 64-bit words of output a lane

PRELUDE = r"""
typedef int i32; typedef unsigned u32; typedef long i64; typedef unsigned long u64;
typedef short i16; typedef unsigned char u8; typedef float f32; typedef double f64; typedef _Float16 f16;
#ifdef __AMDGCN__
#define GLOBAL __attribute__((address_space(1)))
#else
#define GLOBAL
#endif
static f32 f32_of(u32 x) { union { u32 u; f32 f; } v; v.u = x; return v.f; }
static f64 f64_of(u64 x) { union { u64 u; f64 f; } v; v.u = x; return v.f; }
static f16 f16_of(u32 x) { union { unsigned short u; f16 f; } v; v.u = (unsigned short)x; return v.f; }
static u64 bits_f32(f32 x) { union { u32 u; f32 f; } v; v.f = x; return x != x ? 0x7fc00000u : v.u; }
static u64 bits_f64(f64 x) { union { u64 u; f64 f; } v; v.f = x; return x != x ? 0x7ff8000000000000ul : v.u; }
static u64 bits_f16(f16 x) { union { unsigned short u; f16 f; } v; v.f = x; return x != x ? 0x7e00u : v.u; }
#ifdef __AMDGCN__
#define HIDE(x) __asm__ volatile("" : "+v"(x))
#else
#define HIDE(x)
#endif
#define DIVISION(T, WIDE) \
  static T div_##T(T a, T b) { WIDE x = a, y = b; HIDE(x); HIDE(y); \
    return b == 0 || b == (T)-1 ? (T)(a ^ b) : (T)((T)x / (T)y); } \
  static T mod_##T(T a, T b) { WIDE x = a, y = b; HIDE(x); HIDE(y); \
    return b == 0 || b == (T)-1 ? (T)(a + b) : (T)((T)x % (T)y); } \
  static T not_##T(T a) { WIDE x = a; HIDE(x); return (T)~x; }
DIVISION(i32, i32) DIVISION(u32, u32) DIVISION(i64, i64) DIVISION(u64, u64) DIVISION(i16, i32) DIVISION(u8, i32)
static f16 min_f16(f16 x, f16 y) { HIDE(x); HIDE(y); return x < y ? x : y; }
static f32 min_f32(f32 x, f32 y) { HIDE(x); HIDE(y); return x < y ? x : y; }
static f64 min_f64(f64 x, f64 y) { HIDE(x); HIDE(y); return x < y ? x : y; }
static f16 sub_f16(f16 x, f16 y) { HIDE(x); return x - y; }
static f32 sub_f32(f32 x, f32 y) { HIDE(x); return x - y; }
static f64 sub_f64(f64 x, f64 y) { HIDE(x); return x - y; }
static f16 f16_from_f32(f32 x) { HIDE(x); return (f16)x; }
static i64 i64_from(f64 x) { return x > -9e18 && x < 9e18 ? (i64)x : 7; }
static i32 i32_from(f64 x) { return x > -2e9 && x < 2e9 ? (i32)x : 9; }
static u32 u32_from(f64 x) { return x > -0.5 && x < 4e9 ? (u32)x : 11; }
static i32 i32_from_f32(f32 x) { return x > -2e9f && x < 2e9f ? (i32)x : 13; }
"""

KERNEL = r"""
#ifdef __AMDGCN__
__attribute__((amdgpu_kernel)) void NAME(GLOBAL u64 *out, GLOBAL const u32 *in, u32 n) {
  u32 i = __builtin_amdgcn_workgroup_id_x() * __builtin_amdgcn_workgroup_size_x() + __builtin_amdgcn_workitem_id_x();
  if (i < n) body_NAME(out + 8ul * i, in + 12ul * i);
}
#else
void NAME(u64 *out, const u32 *in, u32 n) { for (u32 i = 0; i < n; i++) body_NAME(out + 8ul * i, in + 12ul * i); }
#endif
"""

_ARGUMENTS = {
    "i32": "(i32)in[0]",
    "u32": "in[1]",
    "i64": "(i64)((u64)in[3] << 32 | in[2])",
    "u64": "((u64)in[5] << 32 | in[4])",
    "i16": "(i16)in[0]",
    "u8": "(u8)in[1]",
    "f32": "f32_of(in[6])",
    "f64": "f64_of((u64)in[9] << 32 | in[8])",
    "f16": "f16_of(in[10])",
}


_RESULTS = """u64 t = 0; for (int k = 0; k < 8; k++) t = t * 31 + (u32)table[k];
  out[0] = (u64)i32_a ^ (u64)i32_b << 32;
  out[1] = u32_a + (u64)u32_b * 3;
  out[2] = (u64)(i64_a ^ i64_b);
  out[3] = u64_a + u64_b;
  out[4] = bits_f32(f32_a) | bits_f32(f32_b) << 32;
  out[5] = bits_f64(f64_a) ^ bits_f64(f64_b) << 1;
  out[6] = bits_f16(f16_a) | bits_f16(f16_b) << 16 | (u64)(unsigned short)i16_a << 32 | (u64)u8_a << 48;
  out[7] = t;"""


class Writer:
    """Writes one random function body."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.variables: dict[str, list[str]] = {kind: [] for kind in INTEGERS + FLOATS}
        self.count = 0

    def pick(self, *choices: str) -> str:
        return self.random.choice(choices)

    def expression(self, kind: str, depth: int) -> str:
        if depth == 0 or self.random.random() < 0.1:
            return self.leaf(kind)
        if kind in FLOATS:
            return self.float_expression(kind, depth)
        return self.integer_expression(kind, depth)

    def leaf(self, kind: str) -> str:
        if self.variables[kind] and self.random.random() < 0.75:
            return self.random.choice(self.variables[kind])
        if kind in FLOATS:
            number = self.pick("0.0", "-0.0", "1.0", "-2.5", "0.1", "1e3", "3.0517578125e-05", "65504.0", "0.3333")
            return f"(({kind}){number})"
        return f"(({kind}){self.pick('0', '1', '-1', '7', '255', '-128', '65537', '0x7fffffff', '123456789')})"

    def integer_expression(self, kind: str, depth: int) -> str:
        first, second = self.expression(kind, depth - 1), self.expression(kind, depth - 1)
        bits = {"i16": 15, "u8": 7}.get(kind, 31 if kind.endswith("32") else 63)
        forms = [
            *(f"({kind})({first} {operator} {second})" for operator in ("+", "-", "*", "&", "|", "^")),
            f"({kind})({first} << ({second} & {bits}))",
            f"({kind})({first} >> ({second} & {bits}))",
            f"div_{kind}({first}, {second})",
            f"mod_{kind}({first}, {second})",
            f"not_{kind}({first})",
            f"({kind})(-{first})",
            f"({self.condition(depth - 1)} ? {first} : {second})",
            f"({kind}){self.expression(self.random.choice(INTEGERS), depth - 1)}",
            f"({kind}){self.conversion(depth - 1)}",
            f"({kind})__builtin_popcount((u32){first})",
            f"({kind})(({first}) < ({second}) ? {first} : {second})",
        ]
        return self.random.choice(forms)

    def conversion(self, depth: int) -> str:
        """A guarded conversion from floating point."""
        function = self.pick("i64_from", "i32_from", "u32_from", "i32_from_f32")
        return f"{function}({self.expression('f32' if function.endswith('f32') else 'f64', depth)})"

    def float_expression(self, kind: str, depth: int) -> str:
        first, second = self.expression(kind, depth - 1), self.expression(kind, depth - 1)
        forms = [
            *(f"({first} {operator} {second})" for operator in ("+", "+", "*", "*", "/")),
            *(f"sub_{kind}({first}, {second})" for _ in range(2)),
            f"(-{first})",
            f"({self.condition(depth - 1)} ? {first} : {second})",
            f"min_{kind}({first}, {second})",
            self.narrowed(kind, depth - 1),
            f"({kind}){self.expression(self.pick('i32', 'u32', 'i16', 'u8'), depth - 1)}",
        ]
        if kind != "f16":
            forms.append(f"({kind}){self.expression(self.pick('i64', 'u64'), depth - 1)}")
            forms.append(f"__builtin_fabs{'f' if kind == 'f32' else ''}({first})")
        return self.random.choice(forms)

    def narrowed(self, kind: str, depth: int) -> str:
        """A conversion between floating-point types."""
        other = self.random.choice(FLOATS)
        conversion = "f16_from_f32" if (kind, other) == ("f16", "f32") else f"({kind})"
        return f"{conversion}({self.expression(other, depth)})"

    def condition(self, depth: int) -> str:
        kind = self.random.choice(INTEGERS + FLOATS)
        operator = self.pick("<", "<=", "==", "!=", ">", ">=")
        text = f"({self.expression(kind, max(depth, 0))} {operator} {self.expression(kind, max(depth, 0))})"
        if self.random.random() < 0.2:
            text = f"({text} {self.pick('&&', '||')} {self.condition(0)})"
        return text

    def statement(self, depth: int) -> str:
        choice = self.random.random()
        if depth == 0 or choice < 0.5:
            return self.assignment()
        if choice < 0.7:
            other = f" else {{ {self.block(depth - 1)} }}" if self.random.random() < 0.5 else ""
            return f"if {self.condition(1)} {{ {self.block(depth - 1)} }}{other}"
        self.count += 1
        name = f"k{self.count}"
        if choice < 0.85:
            limit = f"({self.expression('u32', 1)} & {self.pick('3', '7', '15')})"
            stop = f"if {self.condition(0)} {self.pick('break', 'continue')}; " if self.random.random() < 0.4 else ""
            return (
                f"for (u32 {name} = 0; {name} < {limit} && {name} < 16; {name}++) {{ {stop}{self.block(depth - 1)} }}"
            )
        cases = " ".join(f"case {value}: {self.block(depth - 1)} {self.pick('break;', '')}" for value in (0, 1, 2, 5))
        return f"switch ({self.expression('u32', 1)} & 7) {{ {cases} default: {self.assignment()} }}"

    def assignment(self) -> str:
        if self.random.random() < 0.2:
            place = f"table[{self.expression('u32', 1)} & 7]"
            return f"{place} {self.pick('=', '+=', '^=')} {self.expression('i32', 2)};"
        kind = self.random.choice([kind for kind in INTEGERS + FLOATS if self.variables[kind]])
        return f"{self.random.choice(self.variables[kind])} = {self.expression(kind, 3)};"

    def block(self, depth: int) -> str:
        return " ".join(self.statement(depth) for _ in range(self.random.randint(1, 3)))

    def function(self, name: str) -> str:
        lines = []
        for kind, argument in _ARGUMENTS.items():
            self.variables[kind] = [f"{kind}_a", f"{kind}_b"]
            other = f"({kind})in[7]" if kind in INTEGERS else f"({kind})((i32)in[11] >> 16)"
            lines.append(f"{kind} {kind}_a = {argument}, {kind}_b = {other};")
        lines.append("i32 table[8]; for (int k = 0; k < 8; k++) table[k] = (i32)in[k] + k;")
        self.variables["i32"].append("table[u32_a & 7]")
        lines += [self.statement(2) for _ in range(self.random.randint(4, 9))]
        self.variables["i32"].pop()
        lines.append(_RESULTS)
        body = "\n  ".join(lines)
        return f"static void body_{name}(GLOBAL u64 *out, GLOBAL const u32 *in) {{\n  {body}\n}}\n" + KERNEL.replace(
            "NAME", name
        )


def program(seeds: list[int]) -> str:
    """One translation unit with a kernel `p<seed>` for each seed."""
    return PRELUDE + "".join(Writer(seed).function(f"p{seed}") for seed in seeds)


_COMMON = ["-std=gnu11", "-fwrapv", "-ffp-contract=off", "-fno-strict-aliasing", "-w"]


def compile_for_host(source: Path) -> ctypes.CDLL:
    require_tool("clang-19")
    output = source.with_suffix(".so")
    precise = ["-Xclang", "-ffloat16-excess-precision=none"]
    link = ["-shared", "-fPIC", "-nostdlib", "-fuse-ld=lld"]
    command = ["clang-19", "-O1", *_COMMON, *precise, *link, str(source), "-lgcc", "-o", str(output)]
    subprocess.run(command, check=True)
    return ctypes.CDLL(str(output))


def compile_for_gpu(source: Path, level: str, processor: str = "gfx942") -> VirtualGpu:
    output = source.with_suffix(f".{level}.hsaco")
    target = ["--target=amdgcn-amd-amdhsa", f"-mcpu={processor}", "-nogpulib", "-ffreestanding", "-nostdlib"]
    command = ["clang-19", "-x", "c", *target, f"-{level}", "-mcode-object-version=5", *_COMMON]
    subprocess.run([*command, str(source), "-o", str(output)], check=True)
    return VirtualGpu(output.read_bytes())


_EDGES = [0, 1, 2, 7, 0x7F, 0x80, 0xFF, 0x3C00, 0x7C00, 0x7E00, 0xFC00, 0x8000, 0xFFFF, 0x7FFFFFFF, 0x80000000]
_EDGES += [0xFFFFFFFF, 0x3F800000, 0x7F800000, 0xFF800000, 0x7FC00000, 0x007FFFFF, 0x00000001, 0x7FF00000, 0x3FF00000]
_EDGES += [0x4B000000, 0xC2280000, 0x80000001, 0x33800000, 0x477FE000]


def inputs(seed: int, lanes: int) -> np.ndarray:
    """Input words: a third edge values, a third small numbers, a third anything."""
    rng = np.random.default_rng(seed)
    words = rng.integers(0, 1 << 32, (lanes, WORDS_IN), dtype=np.uint32)
    kind = rng.integers(0, 3, words.shape)
    edges = np.array(_EDGES, np.uint32)[rng.integers(0, len(_EDGES), words.shape)]
    words[kind == 0] = edges[kind == 0]
    words[kind == 1] %= 100
    return words


def run_on_host(library: ctypes.CDLL, name: str, words: np.ndarray) -> np.ndarray:
    out = np.zeros((len(words), RESULTS), np.uint64)
    getattr(library, name)(ctypes.c_void_p(out.ctypes.data), ctypes.c_void_p(words.ctypes.data), len(words))
    return out


def run_on_gpu(gpu: VirtualGpu, name: str, words: np.ndarray, block: int) -> np.ndarray:
    lanes = len(words)
    given, out = gpu.upload(words, "in"), gpu.upload(np.zeros((lanes, RESULTS), np.uint64), "out")
    gpu.launch(name, (-(-lanes // block) * block,), (block,), [out, given, lanes])
    return gpu.read(out, lanes * RESULTS, np.uint64).reshape(lanes, RESULTS)

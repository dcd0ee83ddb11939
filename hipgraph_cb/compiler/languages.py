"""The languages of kernels: how a compiler is called for each."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from hipgraph_cb.code_object.target_id import TargetId
from hipgraph_cb.compiler.toolchain import Toolchain
from hipgraph_cb.errors import InvalidArgumentError

INCLUDE = Path(__file__).parent / "include"


class Language(NamedTuple):
    """A language.

    Attributes:
        suffixes: of its files.
        flags: what the compiler is given, before the options of the caller.
    """

    name: str
    suffixes: tuple[str, ...]
    flags: Callable[[Toolchain, TargetId], list[str]]


def _hip(toolchain: Toolchain, target: TargetId) -> list[str]:
    flags = [
        "-x",
        "hip",
        f"--offload-arch={target}",
        "--offload-device-only",
        "--no-gpu-bundle-output",
        "-fuse-cuid=none",
        "-std=c++17",
    ]
    if toolchain.rocm is not None:
        return [*flags, f"--rocm-path={toolchain.rocm}", "-include", "hip/hip_runtime.h"]
    ours = ["-isystem", str(INCLUDE), "-include", str(INCLUDE / "hip_device.h")]
    return [*flags, "-nogpuinc", "-nogpulib", "-fdeclspec", *ours]


def _opencl(toolchain: Toolchain, target: TargetId) -> list[str]:
    flags = ["-x", "cl", "-cl-std=CL2.0", "-Xclang", "-finclude-default-header", *_bare(target)]
    if toolchain.rocm is not None:
        return [*flags, f"--rocm-path={toolchain.rocm}"]
    return [*flags, "-nogpulib", "-include", str(INCLUDE / "opencl_device.h")]


def _plain_c(toolchain: Toolchain, target: TargetId) -> list[str]:
    # Kernels are hidden otherwise, and AMD's HIP finds dynamic symbols only.
    return ["-x", "c", "-ffreestanding", "-fvisibility=protected", "-nogpulib", *_bare(target)]


def _assembly(toolchain: Toolchain, target: TargetId) -> list[str]:
    # Features are a matter of the source, which may name its target.
    return ["-x", "assembler", "--target=amdgcn-amd-amdhsa", f"-mcpu={target.processor}"]


def _bare(target: TargetId) -> list[str]:
    return ["--target=amdgcn-amd-amdhsa", f"-mcpu={target}"]


LANGUAGES = {
    each.name: each
    for each in (
        Language("hip", (".hip", ".cpp", ".cu"), _hip),
        Language("opencl", (".cl",), _opencl),
        Language("c", (".c",), _plain_c),
        Language("asm", (".s", ".asm"), _assembly),
    )
}


def language_of(path: Path) -> Language:
    """The language that a file's name says.

    Raises:
        InvalidArgumentError: it says none.
    """
    for language in LANGUAGES.values():
        if path.suffix.lower() in language.suffixes:
            return language
    raise InvalidArgumentError(
        "compile: the name does not say the language",
        found=str(path),
        allowed=", ".join(suffix for language in LANGUAGES.values() for suffix in language.suffixes),
        next_step="give language=",
    )


def language_named(name: object) -> Language:
    """A language by its name.

    Raises:
        InvalidArgumentError: there is none.
    """
    language = LANGUAGES.get(name) if isinstance(name, str) else None
    if language is None:
        raise InvalidArgumentError("compile: no such language", found=repr(name), allowed=", ".join(LANGUAGES))
    return language

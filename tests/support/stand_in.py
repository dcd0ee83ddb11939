"""Libraries to link test programs against: the names and symbol versions of AMD's, and nothing in them."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

from hipgraph_cb.virtual.hip.symbol_versions import VERSIONS, symbol_version


def stand_in_for_hip(folder: Path, functions: Iterable[str]) -> Path:
    """A libamdhip64.so.6 with these functions."""
    versions: dict[str, list[str]] = {version: [] for version in VERSIONS}
    for name in functions:
        versions[symbol_version(name)].append(name)
    return stand_in(folder, "libamdhip64.so.6", versions)


def stand_in_for_hsa(folder: Path, functions: Iterable[str]) -> Path:
    """A libhsa-runtime64.so.1 with these functions."""
    return stand_in(folder, "libhsa-runtime64.so.1", {"ROCR_1": list(functions)})


def stand_in(folder: Path, soname: str, versions: Mapping[str, list[str]]) -> Path:
    """Compile one: symbol version, oldest first -> its functions."""
    library = folder / "stand-in" / soname
    library.parent.mkdir(exist_ok=True)
    source, script = folder / f"{soname}.c", folder / f"{soname}.map"
    source.write_text("".join(f"void {name}(void) {{}}\n" for names in versions.values() for name in names))
    nodes = []
    for (version, names), previous in zip(versions.items(), ("", *versions), strict=False):
        exported = f" global:{''.join(f' {name};' for name in names)}" if names else ""
        nodes.append(f"{version} {{{exported} }} {previous};")
    script.write_text("\n".join(nodes))
    build = ["clang-19", "-shared", "-fPIC", "-nostdlib", "-fuse-ld=lld", "-Wno-builtin-requires-header", source]
    subprocess.run([*build, "-o", library, f"-Wl,-soname,{soname}", f"-Wl,--version-script={script}"], check=True)
    return library

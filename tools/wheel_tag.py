"""What a wheel is tagged with: the build backend runs this hook for each wheel, `pip install .` included.

A wheel with machine code, `*.x86-64.so`, is for the platform of that code, and is tagged so. The libraries need nothing
but the processor's own instructions, or functions of any glibc. `HIPGRAPH_CB_WHEEL=pure`, and any other platform, gives
the wheel without them: numpy does the work of the lane loops, and `hipgraph-cb run` is refused.
"""

from __future__ import annotations

import os
import platform
import sys
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

NATIVE_CODE = "hipgraph_cb/**/*.x86-64.so"
NATIVE_TAG = "py3-none-manylinux_2_17_x86_64.manylinux2014_x86_64"
CHOICES = ("native", "pure")


def chosen_kind() -> str:
    is_native = sys.platform.startswith("linux") and platform.machine() == "x86_64"
    kind = os.environ.get("HIPGRAPH_CB_WHEEL") or ("native" if is_native else "pure")
    if kind not in CHOICES:
        raise ValueError(f"HIPGRAPH_CB_WHEEL is {kind!r}; allowed: {', '.join(CHOICES)}")
    return kind


class WheelTag(BuildHookInterface):  # type: ignore[type-arg]
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if chosen_kind() == "native":
            build_data["tag"] = NATIVE_TAG
            build_data["pure_python"] = False
        else:
            self.build_config.target_config.setdefault("exclude", []).append(NATIVE_CODE)

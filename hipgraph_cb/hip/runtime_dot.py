"""The graphs of a program as the runtime itself draws them, to be held beside our own drawing."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hipgraph_cb.abi.hip.enums import DebugDotFlag
from hipgraph_cb.backend.lifetime import Handle
from hipgraph_cb.hip.graph_nodes import add_section
from hipgraph_cb.hip.partition import Section, Step
from hipgraph_cb.hip.prepared import PreparedNodes

if TYPE_CHECKING:
    from hipgraph_cb.hip.api import HipApi
    from hipgraph_cb.hip.commands import CommandArguments
    from hipgraph_cb.hip.joins import Joiner


def runtime_dot(api: HipApi, steps: Sequence[Step], joiner: Joiner, arguments: CommandArguments) -> str:
    """Build every graph once more and let hipGraphDebugDotPrint draw it; a drawing for each. Raises HipError."""
    drawings = []
    with tempfile.TemporaryDirectory(prefix="hipgraph_cb") as folder:
        path = Path(folder) / "graph.dot"
        for section in steps:
            if not isinstance(section, Section):
                continue
            graph = Handle(api, api.call("hipGraphCreate", 0), "hipGraphDestroy")
            try:
                nodes = PreparedNodes(api, section.scope, arguments, whole=False)
                add_section(api, graph.native, section, joiner, arguments, nodes)
                api.call("hipGraphDebugDotPrint", graph.native, os.fsencode(path), DebugDotFlag.VERBOSE)
            finally:
                graph.release()
            drawings.append(path.read_text(encoding="utf-8", errors="replace"))
    return "".join(drawings)

"""Functions that AMD's libamdhip64 exports and that have no meaning on this device: they answer hipErrorNotSupported.

A program that was linked against AMD's library is loaded all the same, and learns at the call what is not there.
"""

from __future__ import annotations

from functools import partial
from itertools import chain

from hipgraph_cb.abi.hip.codes import Code
from hipgraph_cb.virtual.callbacks import CallError
from hipgraph_cb.virtual.exported import ApiFunction
from hipgraph_cb.virtual.hip.absent import group_of
from hipgraph_cb.virtual.hip.function_table import FUNCTIONS, INT
from hipgraph_cb.virtual.hip.objects.runtime import HipRuntime
from hipgraph_cb.virtual.hip.symbol_versions import REFUSED


def _refuse(runtime: HipRuntime, *, name: str) -> None:
    group = group_of(name)
    reason = "" if group is None else f" ({group.title}: {group.reason})"
    raise CallError(Code.NOT_SUPPORTED, f"the virtual GPU does not have {name}{reason}")


def refused_functions() -> dict[str, ApiFunction]:
    """Their table; C arguments are left alone."""
    names = chain.from_iterable(names.split() for names in REFUSED.values())
    return {
        name: ApiFunction(name, partial(_refuse, name=name), (), INT, None, False, True, Code.NOT_SUPPORTED)
        for name in names
        if name not in FUNCTIONS
    }

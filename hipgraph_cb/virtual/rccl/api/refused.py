"""Functions that AMD's library exports and this one has no meaning for: they answer ncclInvalidUsage.

A program that was linked against AMD's library is loaded all the same, and learns at the call what is not there.
"""

from __future__ import annotations

from functools import partial

from hipgraph_cb.abi.rccl import Result
from hipgraph_cb.virtual.callbacks import CallError
from hipgraph_cb.virtual.rccl.function_table import api
from hipgraph_cb.virtual.rccl.objects.runtime import RcclRuntime

REFUSED = {
    "ncclRedOpCreatePreMulSum": "reductions are sum, prod, min, max and avg",
    "ncclRedOpDestroy": "reductions of a program's own are not there",
    "ncclCommShrink": "make a communicator of the ranks that are left, or split one",
    "ncclCommInitRankScalable": "one unique id is enough for ranks of one process",
    "ncclAllToAllv": "send and receive the blocks, in one group",
    "ncclGroupSimulateEnd": "it would tell nothing about hardware",
    "mscclLoadAlgo": "there are no algorithms of a program's own",
    "mscclRunAlgo": "there are no algorithms of a program's own",
    "mscclUnloadAlgo": "there are no algorithms of a program's own",
}
"""By name, with the reason or what does instead."""


def _refuse(runtime: RcclRuntime, *, name: str) -> None:
    raise CallError(Result.INVALID_USAGE, f"the virtual librccl does not have {name}: {REFUSED[name]}")


for _name in REFUSED:
    api(_name)(partial(_refuse, name=_name))

"""User objects: something of the program that graphs hold on to, with the function that ends it.

As by AMD's runtime, giving up more than is held, or what is gone, is accepted and does nothing.
"""

from __future__ import annotations

import ctypes
from collections import Counter
from dataclasses import dataclass

from hipgraph_cb.virtual.hip.function_table import HANDLE, POINTER, UINT, api
from hipgraph_cb.virtual.hip.native import require, store_pointer
from hipgraph_cb.virtual.hip.objects.runtime import HipRuntime

_NO_DESTRUCTOR_SYNC = 1
_MOVE = 1
_DESTRUCTOR = ctypes.CFUNCTYPE(None, ctypes.c_size_t)


@dataclass(eq=False)
class UserObject:
    """A pointer, the function to call when nobody holds it any more, and by how many it is held."""

    pointer: int
    destructor: int
    holders: int
    handle: int = 0

    def retain(self, count: int) -> None:
        self.holders += count

    def release(self, runtime: HipRuntime, count: int) -> None:
        self.holders -= count
        if self.holders == 0:
            runtime.user_objects.pop(self.handle)
            _DESTRUCTOR(self.destructor)(self.pointer)


@api("hipUserObjectCreate", POINTER, POINTER, POINTER, UINT, UINT)
def user_object_create(runtime: HipRuntime, out: int, pointer: int, destructor: int, holders: int, flags: int) -> None:
    require(out and destructor and holders and flags == _NO_DESTRUCTOR_SYNC)
    made = UserObject(pointer, destructor, holders)
    made.handle = runtime.user_objects.add(made)
    store_pointer(out, made.handle)


@api("hipUserObjectRetain", HANDLE, UINT)
def user_object_retain(runtime: HipRuntime, handle: int, count: int) -> None:
    require(handle and count)
    held = runtime.user_objects.get(handle)
    if held is not None:
        held.retain(count)


@api("hipUserObjectRelease", HANDLE, UINT, releases=True)
def user_object_release(runtime: HipRuntime, handle: int, count: int) -> None:
    require(handle and count)
    held = runtime.user_objects.get(handle)
    if held is not None and count <= held.holders:
        held.release(runtime, count)


@api("hipGraphRetainUserObject", HANDLE, HANDLE, UINT, UINT)
def graph_retain_user_object(runtime: HipRuntime, graph: int, handle: int, count: int, flags: int) -> None:
    """With the flag `move` the graph takes the caller's holds over."""
    require(graph and handle and count and flags in (0, _MOVE))
    owner, held = runtime.graphs[graph], runtime.user_objects[handle]
    if flags != _MOVE:
        held.retain(count)
    owner.possessions[held] += count


@api("hipGraphReleaseUserObject", HANDLE, HANDLE, UINT, releases=True)
def graph_release_user_object(runtime: HipRuntime, graph: int, handle: int, count: int) -> None:
    require(graph and handle and count)
    owner, held = runtime.graphs[graph], runtime.user_objects.get(handle)
    if held is None or owner.possessions[held] < count:
        return
    owner.possessions -= Counter({held: count})
    held.release(runtime, count)

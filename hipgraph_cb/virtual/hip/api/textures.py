"""Formats of texels, and textures and displays that compiled code registers or asks for: there are none."""

from __future__ import annotations

from hipgraph_cb.abi.hip.codes import Code
from hipgraph_cb.virtual.callbacks import CallError
from hipgraph_cb.virtual.hip.function_table import HANDLE, INT, POINTER, UINT, api
from hipgraph_cb.virtual.hip.native import require, store_int
from hipgraph_cb.virtual.hip.objects.runtime import HipRuntime

_RETURN_ITS_PLACE = bytes.fromhex("4889f8c3")  # mov rax, rdi; ret


@api("hipCreateChannelDesc", POINTER, *[INT] * 5, result=POINTER, remembers=False, fallback=_RETURN_ITS_PLACE)
def create_channel_descriptor(runtime: HipRuntime, out: int, x: int, y: int, z: int, w: int, kind: int) -> int:
    """Returns a structure: its place is a first argument that the header does not show."""
    for index, value in enumerate((x, y, z, w, kind)):
        store_int(out + 4 * index, value)
    return out


@api("__hipRegisterSurface", HANDLE, *[POINTER] * 3, INT, INT, result=None, on_error=0, remembers=False)
@api("__hipRegisterTexture", HANDLE, *[POINTER] * 3, INT, INT, result=None, on_error=0, remembers=False)
def register_texture(runtime: HipRuntime, handle: int, *variable: int) -> None:
    """A program is loaded all the same; what would use the texture is refused."""


@api("hipGLGetDevices", POINTER, POINTER, UINT, INT)
def gl_get_devices(runtime: HipRuntime, count_out: int, devices: int, room: int, which: int) -> None:
    require(count_out)
    raise CallError(Code.NO_DEVICE, "no display belongs to the virtual GPU")

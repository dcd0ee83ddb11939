"""What native code answers when Python has closed the library: destructors of C and C++ still call it then.

There is nothing left to destroy, to free or to wait for, so that succeeds, and so does asking for the device, which is
the first one. Every other function returns hipErrorDeinitialized.
"""

from __future__ import annotations

from hipgraph_cb.virtual.entries import Fallback

_DONE = """
hipFree hipFreeArray hipArrayDestroy hipFreeAsync hipFreeHost hipHostFree hipHostUnregister
hipMemPoolDestroy hipMemPoolTrimTo hipMemRelease hipMemUnmap hipMemAddressFree hipIpcCloseMemHandle
hipStreamDestroy hipEventDestroy hipGraphDestroy hipGraphExecDestroy hipGraphDestroyNode hipUserObjectRelease
hipGraphReleaseUserObject hipModuleUnload hipLibraryUnload __hipUnregisterFatBinary hipCtxDestroy
hipDevicePrimaryCtxRelease hipDevicePrimaryCtxReset hipDeviceReset hipProfilerStop
hipDeviceSynchronize hipCtxSynchronize hipStreamSynchronize hipStreamSynchronize_spt hipEventSynchronize
hipStreamQuery hipStreamQuery_spt hipEventQuery
hipSetDevice hipCtxSetCurrent hipCtxPushCurrent hipGetLastError hipPeekAtLastError hipExtGetLastError
"""
_STORE_ZERO = {
    # test %rdi, %rdi; jz over; movl $0, (%rdi); over: xor %eax, %eax; ret
    "hipGetDevice hipCtxGetDevice": b"\x48\x85\xff\x74\x06\xc7\x07\0\0\0\0\x31\xc0\xc3",
    # the same of eight bytes
    "hipCtxGetCurrent hipCtxPopCurrent": b"\x48\x85\xff\x74\x07\x48\xc7\x07\0\0\0\0\x31\xc0\xc3",
    # and through the second argument, %rsi
    "hipStreamIsCapturing hipStreamIsCapturing_spt hipStreamGetDevice": (
        b"\x48\x85\xf6\x74\x06\xc7\x06\0\0\0\0\x31\xc0\xc3"
    ),
}

FALLBACKS: dict[str, Fallback] = {
    **dict.fromkeys(_DONE.split(), 0),
    **{name: code for names, code in _STORE_ZERO.items() for name in names.split()},
}

"""The same HIP call through two callers: ctypes, as a C program makes it, and hip-python.

`caller.hipGraphAddMemsetNode(graph, 0, 0, params)` takes the C arguments without those that the function only writes,
and returns the code followed by what was written, as numbers. Structures are ctypes structures, lists of handles come
from `handles`, files and names are bytes.
"""

from __future__ import annotations

import ctypes

import numpy as np

from hipgraph_cb.abi.hip.structures import (
    HostNodeParams,
    KernelNodeParams,
    Memcpy3DParams,
    MemsetParams,
    PointerAttributes,
)

# For each function its C parameters: `.` is given, `k` a copy direction, `c` a capture mode, `a` a function attribute,
# `*` a pointer or size that is written, `i` an int that is written, a class a structure that is written.
SIGNATURES = {
    "hipDeviceSynchronize": "",
    "hipGetDeviceCount": "i",
    "hipSetDevice": ".",
    "hipGetLastError": "",
    "hipPeekAtLastError": "",
    "hipRuntimeGetVersion": "i",
    "hipMalloc": "*.",
    "hipHostMalloc": "*..",
    "hipFree": ".",
    "hipHostFree": ".",
    "hipMemset": "...",
    "hipMemcpy": "...k",
    "hipMemcpyDtoH": "...",
    "hipMemcpyHtoD": "...",
    "hipMemcpyDtoDAsync": "....",
    "hipMemcpy3D": ".",
    "hipDrvMemcpy3D": ".",
    "hipMemsetAsync": "....",
    "hipPointerGetAttributes": [PointerAttributes, "."],
    "hipDevicePrimaryCtxRetain": "*.",
    "hipStreamCreate": "*",
    "hipStreamDestroy": ".",
    "hipStreamSynchronize": ".",
    "hipStreamQuery": ".",
    "hipStreamWaitEvent": "...",
    "hipStreamBeginCapture": ".c",
    "hipStreamEndCapture": ".*",
    "hipStreamIsCapturing": ".i",
    "hipEventCreate": "*",
    "hipEventDestroy": ".",
    "hipEventRecord": "..",
    "hipModuleLoad": "*.",
    "hipModuleLoadData": "*.",
    "hipModuleUnload": ".",
    "hipModuleGetFunction": "*..",
    "hipModuleLaunchKernel": "...........",
    "hipGraphCreate": "*.",
    "hipGraphDestroy": ".",
    "hipGraphClone": "*.",
    "hipGraphNodeFindInClone": "*..",
    "hipGraphAddDependencies": "....",
    "hipGraphRemoveDependencies": "....",
    "hipGraphNodeGetType": ".i",
    "hipGraphDestroyNode": ".",
    "hipGraphAddEmptyNode": "*...",
    "hipGraphAddKernelNode": "*....",
    "hipGraphAddMemsetNode": "*....",
    "hipGraphAddMemcpyNode": "*....",
    "hipGraphAddMemcpyNode1D": "*......k",
    "hipGraphAddHostNode": "*....",
    "hipGraphAddEventRecordNode": "*....",
    "hipGraphAddEventWaitNode": "*....",
    "hipGraphAddChildGraphNode": "*....",
    "hipDrvGraphAddMemsetNode": "*.....",
    "hipDrvGraphAddMemcpyNode": "*.....",
    "hipGraphChildGraphNodeGetGraph": ".*",
    "hipGraphKernelNodeGetParams": [".", KernelNodeParams],
    "hipGraphMemsetNodeGetParams": [".", MemsetParams],
    "hipGraphMemcpyNodeGetParams": [".", Memcpy3DParams],
    "hipGraphHostNodeGetParams": [".", HostNodeParams],
    "hipGraphKernelNodeSetParams": "..",
    "hipGraphMemsetNodeSetParams": "..",
    "hipGraphMemcpyNodeSetParams": "..",
    "hipGraphMemcpyNodeSetParams1D": "....k",
    "hipGraphInstantiateWithFlags": "*..",
    "hipGraphExecGetFlags": ".*",
    "hipGraphExecDestroy": ".",
    "hipGraphExecKernelNodeSetParams": "...",
    "hipGraphExecMemsetNodeSetParams": "...",
    "hipGraphExecMemcpyNodeSetParams": "...",
    "hipGraphExecMemcpyNodeSetParams1D": ".....k",
    "hipGraphNodeSetEnabled": "...",
    "hipGraphNodeGetEnabled": "..i",
    "hipGraphUpload": "..",
    "hipGraphLaunch": "..",
    "hipGraphDebugDotPrint": "...",
}


def handles(*nodes: int):
    """An array of handles."""
    return (ctypes.c_void_p * len(nodes))(*nodes)


def structure(which, /, **fields):
    """A ctypes structure with these fields; a tuple fills a structure inside in its order."""
    made = which()
    for name, value in fields.items():
        if isinstance(value, tuple):
            inner = getattr(made, name)
            for (field, *_), part in zip(inner._fields_, value, strict=False):
                setattr(inner, field, part)
        else:
            setattr(made, name, value)
    return made


def address_of(argument) -> int:
    """The C value of an argument; what it points to must stay alive elsewhere."""
    if argument is None:
        return 0
    if isinstance(argument, np.ndarray):
        return argument.ctypes.data
    if isinstance(argument, (ctypes.Structure, ctypes.Array)):
        return ctypes.addressof(argument)
    return int(argument)


class Caller:
    """What both callers have: calls by name, and calls that have to succeed."""

    name = ""

    def __getattr__(self, function):
        signature = SIGNATURES[function]

        def call(*arguments):
            return self.call(function, signature, list(arguments))

        setattr(self, function, call)
        return call

    def done(self, function, *arguments):
        """What a call that has to succeed wrote."""
        code, *written = getattr(self, function)(*arguments)
        assert code == 0, f"{function} returned {code}"
        return written[0] if len(written) == 1 else tuple(written)

    # What hip-python can only ask with luck (it gives these functions no room for their lists) goes through ctypes.

    @property
    def library(self):
        return ctypes.CDLL("libamdhip64.so")

    def node_count(self, graph):
        count = ctypes.c_size_t(0)
        code = self.library.hipGraphGetNodes(ctypes.c_size_t(graph), None, ctypes.byref(count))
        return code, count.value

    def instantiate(self, graph):
        """The plain form with a log: the code, the executable graph, the error node and the log."""
        made, node, log = ctypes.c_size_t(0), ctypes.c_size_t(77), ctypes.create_string_buffer(b"untouched", 64)
        code = self.library.hipGraphInstantiate(
            ctypes.byref(made), ctypes.c_size_t(graph), ctypes.byref(node), log, ctypes.c_size_t(64)
        )
        return code, made.value, node.value, log.value

    def update(self, executable, graph):
        """hipGraphExecUpdate: the code, the reason, and the node that is blamed."""
        node, reason = ctypes.c_size_t(77), ctypes.c_int(-1)
        code = self.library.hipGraphExecUpdate(
            ctypes.c_size_t(executable), ctypes.c_size_t(graph), ctypes.byref(node), ctypes.byref(reason)
        )
        return code, reason.value, node.value


class CtypesCaller(Caller):
    """As a C program calls."""

    name = "ctypes"

    def call(self, function, signature, arguments):
        passed, written, kept = [], [], []
        for kind in signature:
            if isinstance(kind, str) and kind not in "*i":
                value = arguments.pop(0)
                if isinstance(value, bytes):
                    value = ctypes.create_string_buffer(value)
                kept.append(value)
                passed.append(ctypes.c_size_t(address_of(value)))
            else:
                out = {"*": ctypes.c_size_t, "i": ctypes.c_int}.get(kind, kind)()
                written.append(out)
                passed.append(ctypes.byref(out))
        code = getattr(self.library, function)(*passed)
        return (code, *(out if isinstance(out, ctypes.Structure) else out.value for out in written))


class HipPythonCaller(Caller):
    """As a hip-python program calls."""

    name = "hip-python"

    def call(self, function, signature, arguments):
        from hip import hip

        enums = {"k": hip.hipMemcpyKind, "c": hip.hipStreamCaptureMode}
        given = [kind for kind in signature if isinstance(kind, str) and kind not in "*i"]
        passed, kept = [], list(arguments)
        for kind, value in zip(given, arguments, strict=True):
            if kind in enums:
                passed.append(enums[kind](value))
            else:
                passed.append(value if isinstance(value, bytes) else address_of(value))
        code, *written = getattr(hip, function)(*passed)
        del kept
        return (int(code), *map(_number, written))


def _number(value):
    """What hip-python gives, as a number; its structures are left, with fields that `int` takes."""
    if value is None:
        return 0
    return value if hasattr(value, "c_sizeof") and _has_fields(value) else int(value)


def _has_fields(value):
    return any(hasattr(value, name) for name in ("func", "dst", "extent", "fn", "devicePointer"))


class RawLibrary:
    """The library by ctypes with all C arguments, `raw.hipMalloc(byref(out), 16)`: returns the code."""

    def __getattr__(self, function):
        native = getattr(ctypes.CDLL("libamdhip64.so"), function)

        def call(*arguments):
            kept = [ctypes.create_string_buffer(each) if isinstance(each, bytes) else each for each in arguments]
            return native(*[_passed(each) for each in kept])

        setattr(self, function, call)
        return call

    def made(self, function, *arguments):
        """What a function that has to succeed writes through its first pointer."""
        out = ctypes.c_size_t(0)
        code = getattr(self, function)(out, *arguments)
        assert code == 0, f"{function} returned {code}"
        return out.value


def _passed(argument):
    if isinstance(argument, ctypes._SimpleCData):
        return ctypes.byref(argument)
    return ctypes.c_size_t(address_of(argument))

"""What AMD's HIP runtime was seen to do and this one does not, on purpose: shown by `hipgraph-cb doctor`."""

from __future__ import annotations

from types import MappingProxyType

NOT_COPIED = MappingProxyType(
    {
        "memset nodes of rows": (
            "AMD's launcher counts bytes where its kernel counts elements, and writes too much in each row when an "
            "element has 2 or 4 bytes; here exactly the rows are written"
        ),
        "capture after a spoilt capture": (
            "AMD's runtime keeps stale nodes, so the same stream cannot be captured again (1, then 904); here it can"
        ),
        "DOT output": "with the flags 4 and 0x200 AMD's output lacks a quotation mark; here it is always valid",
        "wrong direction in a box": (
            "AMD's runtime crashes when a hipMemcpy3DParms whose kind does not fit its addresses is launched; here the "
            "launch returns hipErrorInvalidMemcpyDirection"
        ),
        "freed memory in nodes": (
            "AMD's runtime crashes in hipGraphInstantiate (memset) or hipGraphLaunch (memcpy); here both return "
            "hipErrorInvalidValue"
        ),
        "invalid handles": (
            "AMD's runtime crashes on a func that is not a hipFunction_t and on a graph that was destroyed; here they "
            "are hipErrorInvalidDeviceFunction and hipErrorInvalidValue"
        ),
        "truncated code objects": "AMD's runtime crashes; here hipModuleLoadData returns hipErrorInvalidImage",
        "calls that crash": (
            "AMD's runtime crashes on hipStreamUpdateCaptureDependencies and hipStreamWaitEvent (with a flag) of "
            "the null stream, on hipMemcpyParam2D of NULL, on hipHostUnregister of an address inside a range, on "
            "hipMemsetD16 of an odd address, and 7.2.4 on hipGraphKernelNodeCopyAttributes onto another node; "
            "here hipMemsetD16 fills, and the others are refused"
        ),
        "registered memory": (
            "AMD's runtime gives kernels the host's own address; here hipHostGetDevicePointer gives the address of a "
            "copy, since kernels reach device memory only"
        ),
        "virtual memory": (
            "AMD's hipMemMap succeeds whatever it is given and maps nothing then, hipMemAddressFree frees from the "
            "middle, hipMemUnmap unmaps parts, hipMemRelease takes a released handle, and hipFree takes mapped memory "
            "and does nothing; here they return hipErrorInvalidValue. The size and the start of mapped memory, which "
            "AMD's runtime gives as -1 and 256, are those of the mapping, and an alignment is kept"
        ),
        "copies to pageable memory in graphs": (
            "AMD's hipGraphLaunch waits for them; here they are done behind the launch, as the documentation of "
            "graphs has it"
        ),
        "faults": (
            "after one AMD's 6.4.3 aborts the process and 7.2.4 fails every call with its code for ever; here the "
            "device is usable again once it was reported, unless the setting after_fault says sticky or abort"
        ),
        "unloaded modules": (
            "AMD's runtime executes what is in the freed memory; here the wait behind the launch returns "
            "hipErrorIllegalAddress"
        ),
    }
)

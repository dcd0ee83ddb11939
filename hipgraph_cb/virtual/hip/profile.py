"""Where AMD's runtimes 6.4.3 and 7.2.4 were measured to differ, as data. Settings choose one."""

from __future__ import annotations

from dataclasses import dataclass

from hipgraph_cb.abi.hip.codes import Code
from hipgraph_cb.virtual.hip.symbol_versions import is_in

_DECLARED_ONLY = (
    "hipDeviceGetTexture1DLinearMaxWidth hipGraphAddExternalSemaphoresSignalNode hipGraphAddExternalSemaphoresWaitNode "
    "hipGraphExecExternalSemaphoresSignalNodeSetParams hipGraphExecExternalSemaphoresWaitNodeSetParams "
    "hipGraphExternalSemaphoresSignalNodeGetParams hipGraphExternalSemaphoresSignalNodeSetParams "
    "hipGraphExternalSemaphoresWaitNodeGetParams hipGraphExternalSemaphoresWaitNodeSetParams"
)


@dataclass(frozen=True)
class Profile:
    """The behaviour of one version.

    Attributes:
        version: what hipRuntimeGetVersion says: major * 10^7 + minor * 10^5 + patch.
        bad_node_shape: the code for a kernel node with a grid or block of 0, a block above 1024, or a dimension of
            2^32. A launch by function handle is hipErrorInvalidValue in both.
        last_error_is_sticky: a good call leaves the last error alone.
        forgotten_codes: results that never become the last error.
        later_codes: result codes that this version has no text for.
        driver_fill_has_its_own_structure: hipDrvGraphAddMemsetNode takes a HIP_MEMSET_NODE_PARAMS (else a
            hipMemsetParams).
        end_of_null_capture: what hipStreamEndCapture of the null stream returns without a place for the graph.
        frees_null_in_order: hipFreeAsync takes NULL.
        capture_takes_callbacks: hipStreamAddCallback becomes a node (else it spoils the capture).
        event_questions_spoil_captures: hipEventQuery and hipEventSynchronize are unsafe calls.
        loses_kernels_changed_while_off: a kernel node whose parameters are set while it is switched off does nothing,
            until they are set while it is on.
        other_limits: the code for device limits that there are none of.
        tells_ipc_capability: hipPointerGetAttribute knows whether memory may be shared with processes.
        copied_attributes_of_other_nodes: hipGraphKernelNodeCopyAttributes onto a node that is no kernel.
        unknown_attributes: device attributes that this version refuses, and others know.
        after_fault: what AMD's runtime does after a fault; the setting of that name chooses what this one does.
        newest_symbols: the newest symbol version of its library: newer functions are not exported.
        functions_to_come: functions with an older symbol version that it does not export all the same.
        driver_copy_accepts_no_width, driver_copy_accepts_unified: HIP_MEMCPY3D with width 0, with type Unified.
        copy_accepts_no_pitch: hipMemcpy3DParms with pitch 0 and xsize 0.
        launch_on_unknown_stream: what hipGraphLaunch of an empty graph returns for a handle that is not a stream.
        copy_params_of_1d_nodes: hipGraphMemcpyNodeGetParams fills them in (else zeros).
        bad_reservation: the code for reserving no bytes, parts of pages, or with an alignment that is none.
        creates_host_and_uncached_memory: hipMemCreate takes host memory and uncached memory.
        created_on_unknown_device: the code for memory of a device that there is none of.
        imports_through_pointer: hipMemImportFromShareableHandle gets the address of a file descriptor (else itself).
        checks_access: hipMemSetAccess takes devices and the three permissions only.
    """

    version: int
    bad_node_shape: int
    last_error_is_sticky: bool
    forgotten_codes: frozenset[int]
    later_codes: frozenset[int]
    driver_fill_has_its_own_structure: bool
    end_of_null_capture: int
    frees_null_in_order: bool
    capture_takes_callbacks: bool
    event_questions_spoil_captures: bool
    loses_kernels_changed_while_off: bool
    other_limits: int
    tells_ipc_capability: bool
    copied_attributes_of_other_nodes: int
    unknown_attributes: frozenset[int]
    after_fault: str
    newest_symbols: str
    functions_to_come: frozenset[str]
    driver_copy_accepts_no_width: bool
    driver_copy_accepts_unified: bool
    copy_accepts_no_pitch: bool
    copy_params_of_1d_nodes: bool
    launch_on_unknown_stream: int
    bad_reservation: int
    creates_host_and_uncached_memory: bool
    created_on_unknown_device: int
    imports_through_pointer: bool
    checks_access: bool

    def has(self, function: str) -> bool:
        """The version exports the function."""
        return is_in(function, self.newest_symbols) and function not in self.functions_to_come


PROFILES = {
    "6.4": Profile(
        version=60443484,
        bad_node_shape=Code.INVALID_VALUE,
        last_error_is_sticky=False,
        forgotten_codes=frozenset(),
        later_codes=frozenset((Code.INVALID_CHANNEL_DESCRIPTOR,)),
        driver_fill_has_its_own_structure=True,
        end_of_null_capture=Code.INVALID_VALUE,
        frees_null_in_order=False,
        capture_takes_callbacks=True,
        event_questions_spoil_captures=False,
        loses_kernels_changed_while_off=False,
        other_limits=Code.INVALID_VALUE,
        tells_ipc_capability=False,
        copied_attributes_of_other_nodes=Code.INVALID_CONTEXT,
        unknown_attributes=frozenset((92,)),
        after_fault="abort",
        newest_symbols="hip_6.4",
        functions_to_come=frozenset(_DECLARED_ONLY.split()),
        driver_copy_accepts_no_width=True,
        driver_copy_accepts_unified=False,
        copy_accepts_no_pitch=False,
        copy_params_of_1d_nodes=False,
        launch_on_unknown_stream=Code.SUCCESS,
        bad_reservation=Code.OUT_OF_MEMORY,
        creates_host_and_uncached_memory=False,
        created_on_unknown_device=Code.INVALID_VALUE,
        imports_through_pointer=True,
        checks_access=False,
    ),
    "7.2": Profile(
        version=70253211,
        bad_node_shape=Code.INVALID_CONFIGURATION,
        last_error_is_sticky=True,
        forgotten_codes=frozenset((Code.NOT_READY,)),
        later_codes=frozenset(),
        driver_fill_has_its_own_structure=False,
        end_of_null_capture=Code.ILLEGAL_STATE,
        frees_null_in_order=True,
        capture_takes_callbacks=False,
        event_questions_spoil_captures=True,
        loses_kernels_changed_while_off=True,
        other_limits=Code.UNSUPPORTED_LIMIT,
        tells_ipc_capability=True,
        copied_attributes_of_other_nodes=Code.INVALID_VALUE,
        unknown_attributes=frozenset(),
        after_fault="sticky",
        newest_symbols="hip_7.2",
        functions_to_come=frozenset(),
        driver_copy_accepts_no_width=False,
        driver_copy_accepts_unified=True,
        copy_accepts_no_pitch=True,
        copy_params_of_1d_nodes=True,
        launch_on_unknown_stream=Code.CONTEXT_IS_DESTROYED,
        bad_reservation=Code.INVALID_VALUE,
        creates_host_and_uncached_memory=True,
        created_on_unknown_device=Code.INVALID_DEVICE,
        imports_through_pointer=False,
        checks_access=True,
    ),
}

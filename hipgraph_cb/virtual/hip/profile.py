"""Where AMD's runtimes 6.4.3 and 7.2.4 were measured to differ, as data. Settings choose one."""

from __future__ import annotations

from dataclasses import dataclass

from hipgraph_cb.abi.hip.codes import Code


@dataclass(frozen=True)
class Profile:
    """The behaviour of one version.

    Attributes:
        version: what hipRuntimeGetVersion says: major * 10^7 + minor * 10^5 + patch.
        bad_launch_shape: the code for a grid or block of 0, a block above 1024, or a dimension of 2^32.
        last_error_is_sticky: a good call leaves the last error alone.
        forgotten_codes: results that never become the last error.
        driver_node_needs_context: hipDrvGraphAdd*Node refuses a NULL context.
        driver_copy_accepts_no_width, driver_copy_accepts_unified: HIP_MEMCPY3D with width 0, with type Unified.
        copy_accepts_no_pitch: hipMemcpy3DParms with pitch 0 and xsize 0.
        launch_on_unknown_stream: what hipGraphLaunch of an empty graph returns for a handle that is not a stream.
        copy_params_of_1d_nodes: hipGraphMemcpyNodeGetParams fills them in (else zeros).
    """

    version: int
    bad_launch_shape: int
    last_error_is_sticky: bool
    forgotten_codes: frozenset[int]
    driver_node_needs_context: bool
    driver_copy_accepts_no_width: bool
    driver_copy_accepts_unified: bool
    copy_accepts_no_pitch: bool
    copy_params_of_1d_nodes: bool
    launch_on_unknown_stream: int


PROFILES = {
    "6.4": Profile(
        version=60443484,
        bad_launch_shape=Code.INVALID_VALUE,
        last_error_is_sticky=False,
        forgotten_codes=frozenset(),
        driver_node_needs_context=True,
        driver_copy_accepts_no_width=True,
        driver_copy_accepts_unified=False,
        copy_accepts_no_pitch=False,
        copy_params_of_1d_nodes=False,
        launch_on_unknown_stream=Code.SUCCESS,
    ),
    "7.2": Profile(
        version=70253211,
        bad_launch_shape=Code.INVALID_CONFIGURATION,
        last_error_is_sticky=True,
        forgotten_codes=frozenset((Code.NOT_READY,)),
        driver_node_needs_context=False,
        driver_copy_accepts_no_width=False,
        driver_copy_accepts_unified=True,
        copy_accepts_no_pitch=True,
        copy_params_of_1d_nodes=True,
        launch_on_unknown_stream=Code.CONTEXT_IS_DESTROYED,
    ),
}

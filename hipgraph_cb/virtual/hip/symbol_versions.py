"""Which symbol version AMD's libamdhip64 gives each function.

A client that was linked against AMD's library asks for these names. Functions not listed carry `hip_4.2`, the oldest.
The versions are those of the linker script of AMD's runtime (see THIRD_PARTY.md).
"""

from __future__ import annotations

OLDEST = "hip_4.2"

_LISTED = {
    "hip_4.3": """hipGraphCreate hipGraphDestroy hipGraphAddKernelNode hipGraphAddMemsetNode
        hipGraphAddMemcpyNode hipGraphAddMemcpyNode1D hipGraphInstantiate hipGraphLaunch
        hipStreamIsCapturing hipStreamBeginCapture hipStreamEndCapture hipGraphExecDestroy
        hipGLGetDevices hipDrvMemcpy2DUnaligned hipArrayDestroy
        hipMemcpy2DToArrayAsync""",
    "hip_4.4": """hipGraphGetNodes hipGraphGetRootNodes hipGraphKernelNodeGetParams
        hipGraphKernelNodeSetParams hipGraphMemcpyNodeGetParams hipGraphMemcpyNodeSetParams
        hipGraphMemsetNodeGetParams hipGraphMemsetNodeSetParams hipGraphAddDependencies
        hipStreamWaitValue32 hipStreamWaitValue64 hipStreamWriteValue32 hipStreamWriteValue64
        hipGraphExecKernelNodeSetParams hipGraphAddEmptyNode""",
    "hip_4.5": """hipStreamUpdateCaptureDependencies hipGraphRemoveDependencies hipGraphGetEdges
        hipGraphNodeGetDependencies hipGraphNodeGetDependentNodes hipGraphNodeGetType
        hipGraphDestroyNode hipGraphClone hipGraphNodeFindInClone hipGraphAddChildGraphNode
        hipGraphChildGraphNodeGetGraph hipGraphExecChildGraphNodeSetParams
        hipGraphAddMemcpyNodeFromSymbol hipGraphMemcpyNodeSetParamsFromSymbol
        hipGraphExecMemcpyNodeSetParamsFromSymbol hipGraphAddMemcpyNodeToSymbol
        hipGraphMemcpyNodeSetParamsToSymbol hipGraphExecMemcpyNodeSetParamsToSymbol
        hipGraphExecMemcpyNodeSetParams hipGraphMemcpyNodeSetParams1D
        hipGraphExecMemcpyNodeSetParams1D hipGraphAddEventRecordNode hipGraphEventRecordNodeGetEvent
        hipGraphEventRecordNodeSetEvent hipGraphExecEventRecordNodeSetEvent hipGraphAddEventWaitNode
        hipGraphEventWaitNodeGetEvent hipGraphEventWaitNodeSetEvent
        hipGraphExecEventWaitNodeSetEvent hipGraphAddHostNode hipGraphHostNodeGetParams
        hipGraphHostNodeSetParams hipGraphExecHostNodeSetParams hipGraphExecUpdate
        hipGraphInstantiateWithFlags hipGraphExecMemsetNodeSetParams hipDeviceGetGraphMemAttribute
        hipDeviceSetGraphMemAttribute hipDeviceGraphMemTrim hipStreamGetCaptureInfo
        hipStreamGetCaptureInfo_v2""",
    "hip_5.0": """hipPointerGetAttribute hipDrvPointerGetAttributes hipThreadExchangeStreamCaptureMode
        hipGraphKernelNodeSetAttribute hipGraphKernelNodeGetAttribute""",
    "hip_5.1": """hipDeviceGetUuid hipDeviceGetDefaultMemPool hipDeviceSetMemPool hipDeviceGetMemPool
        hipMallocAsync hipFreeAsync hipMemPoolTrimTo hipMemPoolSetAttribute hipMemPoolGetAttribute
        hipMemPoolSetAccess hipMemPoolGetAccess hipMemPoolCreate hipMemPoolDestroy
        hipMallocFromPoolAsync
        hipMemAddressFree hipMemAddressReserve hipMemCreate hipMemExportToShareableHandle hipMemGetAccess
        hipMemGetAllocationGranularity hipMemGetAllocationPropertiesFromHandle hipMemImportFromShareableHandle
        hipMemMap hipMemRelease hipMemRetainAllocationHandle hipMemSetAccess hipMemUnmap""",
    "hip_5.2": """hipMemcpy_spt hipMemcpyAsync_spt hipStreamSynchronize_spt hipMemset_spt hipStreamQuery_spt
        hipStreamGetFlags_spt hipStreamGetPriority_spt hipStreamWaitEvent_spt hipEventRecord_spt
        hipLaunchKernel_spt hipLaunchCooperativeKernel_spt hipMemcpyToSymbol_spt hipMemcpyFromSymbol_spt hipMemcpy2D_spt
        hipMemcpy3D_spt hipMemset2D_spt hipMemset3D_spt
        hipMemcpy2DFromArray_spt hipMemcpy2DToArray_spt""",
    "hip_5.3": """hipDeviceSetLimit hipGraphLaunch_spt hipStreamBeginCapture_spt hipStreamEndCapture_spt
        hipStreamIsCapturing_spt hipMemsetAsync_spt hipDrvGetErrorName hipDrvGetErrorString
        hipUserObjectCreate hipUserObjectRelease hipUserObjectRetain hipGraphRetainUserObject
        hipGraphReleaseUserObject hipLaunchHostFunc hipLaunchHostFunc_spt hipGraphDebugDotPrint
        hipGraphKernelNodeCopyAttributes hipGraphNodeGetEnabled hipGraphNodeSetEnabled
        hipGraphUpload hipStreamGetCaptureInfo_spt hipStreamGetCaptureInfo_v2_spt
        hipStreamAddCallback_spt hipMemset2DAsync_spt hipMemset3DAsync_spt hipMemcpy3DAsync_spt
        hipMemcpy2DAsync_spt hipRegisterTracerCallback hipMemcpyFromSymbolAsync_spt hipMemcpyToSymbolAsync_spt
        hipMemcpy2DFromArrayAsync_spt hipMemcpy2DToArrayAsync_spt hipMemcpyFromArray_spt""",
    "hip_5.5": """hipModuleLaunchCooperativeKernel hipGraphAddMemAllocNode hipGraphMemAllocNodeGetParams
        hipGraphAddMemFreeNode hipGraphMemFreeNodeGetParams hipGraphAddNode""",
    "hip_5.6": """hipDrvGraphAddMemcpyNode hipDrvGraphAddMemsetNode hipArray3DGetDescriptor
        hipArrayGetDescriptor hipArrayGetInfo""",
    "hip_6.0": """hipChooseDeviceR0600 hipGetDevicePropertiesR0600 hipExtGetLastError
        hipDrvGraphMemcpyNodeSetParams hipDrvGraphMemcpyNodeGetParams""",
    "hip_6.1": "hipGraphInstantiateWithParams hipGetProcAddress hipStreamBeginCaptureToGraph",
    "hip_6.2": """hipGetFuncBySymbol hipDrvGraphExecMemcpyNodeSetParams hipDrvGraphExecMemsetNodeSetParams
        hipSetValidDevices hipGraphExecGetFlags hipGraphNodeSetParams hipGraphExecNodeSetParams
        hipDrvGraphAddMemFreeNode
        hipMemcpy2DArrayToArray hipMemcpyAtoA hipMemcpyAtoD hipMemcpyAtoHAsync hipMemcpyDtoA hipMemcpyHtoAAsync""",
    "hip_6.4": """hipEventRecordWithFlags hipGraphAddBatchMemOpNode hipGraphBatchMemOpNodeGetParams
        hipGraphBatchMemOpNodeSetParams hipGraphExecBatchMemOpNodeSetParams hipStreamBatchMemOp""",
    "hip_6.5": "hipLaunchKernelExC hipDrvLaunchKernelEx",
    "hip_7.1": """hipModuleGetFunctionCount hipMemsetD2D8 hipMemsetD2D8Async hipMemsetD2D16
        hipMemsetD2D16Async hipMemsetD2D32 hipMemsetD2D32Async hipModuleLoadFatBinary hipStreamGetId
        hipStreamGetAttribute hipStreamSetAttribute hipMemcpy3DPeer hipMemcpy3DPeerAsync
        hipGetDriverEntryPoint hipGetDriverEntryPoint_spt hipMemPrefetchAsync_v2 hipMemAdvise_v2""",
    "hip_7.2": """hipLibraryLoadData hipLibraryUnload hipLibraryGetKernel hipLibraryGetKernelCount
        hipKernelGetName hipLibraryLoadFromFile hipStreamCopyAttributes hipLibraryEnumerateKernels
        hipKernelGetLibrary hipOccupancyAvailableDynamicSMemPerBlock hipGetProcAddress_spt
        hipKernelGetParamInfo hipMemSetMemPool hipMemGetMemPool hipMemGetDefaultMemPool
        hipKernelGetFunction hipKernelGetAttribute hipKernelSetAttribute hipLibraryGetGlobal""",
}

REFUSED = {
    "hip_4.2": """hipBindTexture hipBindTexture2D hipBindTextureToArray hipBindTextureToMipmappedArray
        hipCreateSurfaceObject hipCreateTextureObject hipDestroySurfaceObject hipDestroyTextureObject
        hipDeviceGetTexture1DLinearMaxWidth hipExtLaunchMultiKernelMultiDevice hipExtStreamCreateWithCUMask
        hipExtStreamGetCUMask hipFreeMipmappedArray hipGetMipmappedArrayLevel hipGetTextureAlignmentOffset
        hipGetTextureObjectResourceDesc hipGetTextureObjectResourceViewDesc hipGetTextureObjectTextureDesc
        hipGetTextureReference hipLaunchCooperativeKernelMultiDevice hipMallocMipmappedArray
        hipMipmappedArrayCreate hipMipmappedArrayDestroy hipMipmappedArrayGetLevel hipModuleGetTexRef
        hipTexObjectCreate hipTexObjectDestroy hipTexObjectGetResourceDesc hipTexObjectGetResourceViewDesc
        hipTexObjectGetTextureDesc hipTexRefGetAddress hipTexRefGetAddressMode hipTexRefGetArray
        hipTexRefGetBorderColor hipTexRefGetFilterMode hipTexRefGetFlags hipTexRefGetFormat
        hipTexRefGetMaxAnisotropy hipTexRefGetMipMappedArray hipTexRefGetMipmapFilterMode
        hipTexRefGetMipmapLevelBias hipTexRefGetMipmapLevelClamp hipTexRefSetAddress hipTexRefSetAddress2D
        hipTexRefSetAddressMode hipTexRefSetArray hipTexRefSetBorderColor hipTexRefSetFilterMode
        hipTexRefSetFlags hipTexRefSetFormat hipTexRefSetMaxAnisotropy hipTexRefSetMipmapFilterMode
        hipTexRefSetMipmapLevelBias hipTexRefSetMipmapLevelClamp hipTexRefSetMipmappedArray hipUnbindTexture""",
    "hip_4.3": """hipDestroyExternalMemory hipDestroyExternalSemaphore hipExternalMemoryGetMappedBuffer
        hipGraphicsGLRegisterBuffer hipGraphicsMapResources hipGraphicsResourceGetMappedPointer
        hipGraphicsUnmapResources hipGraphicsUnregisterResource hipImportExternalMemory hipImportExternalSemaphore
        hipSignalExternalSemaphoresAsync hipWaitExternalSemaphoresAsync""",
    "hip_4.5": "hipGraphicsGLRegisterImage hipGraphicsSubResourceGetMappedArray",
    "hip_5.1": """hipMemMapArrayAsync hipMemPoolExportPointer hipMemPoolExportToShareableHandle
        hipMemPoolImportFromShareableHandle hipMemPoolImportPointer""",
    "hip_5.3": """hipGraphAddExternalSemaphoresSignalNode
        hipGraphAddExternalSemaphoresWaitNode hipGraphExecExternalSemaphoresSignalNodeSetParams
        hipGraphExecExternalSemaphoresWaitNodeSetParams hipGraphExternalSemaphoresSignalNodeGetParams
        hipGraphExternalSemaphoresSignalNodeSetParams hipGraphExternalSemaphoresWaitNodeGetParams
        hipGraphExternalSemaphoresWaitNodeSetParams""",
    "hip_5.5": "hipModuleLaunchCooperativeKernelMultiDevice",
    "hip_6.4": "hipLinkAddData hipLinkAddFile hipLinkComplete hipLinkCreate hipLinkDestroy",
    "hip_6.5": "hipMemGetHandleForAddressRange",
    "hip_7.1": "hipMemcpy3DBatchAsync hipMemcpyBatchAsync",
    "hip_7.2": """hipExtDisableLogging hipExtEnableLogging hipExtSetLoggingParams hipMemPrefetchBatchAsync
        hipMipmappedArrayGetMemoryRequirements""",
}
"""What AMD's library exports and this one refuses."""

VERSIONS = (OLDEST, *_LISTED)
"""Every version name, oldest first."""

_OF_FUNCTION = {
    name: version for listed in (_LISTED, REFUSED) for version, names in listed.items() for name in names.split()
}


def is_in(function: str, newest: str) -> bool:
    """A library whose newest symbol version is `newest` exports the function."""
    return VERSIONS.index(symbol_version(function)) <= VERSIONS.index(newest)


def symbol_version(function: str) -> str:
    """The symbol version of a function of libamdhip64."""
    return _OF_FUNCTION.get(function, OLDEST)

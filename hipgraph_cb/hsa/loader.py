"""The loader extension of AMD's HSA: where code objects lie in device memory."""

from __future__ import annotations

import ctypes
from typing import Any

from hipgraph_cb.abi.hsa.attributes import Extension, LoadedCodeObjectInfo
from hipgraph_cb.abi.hsa.status import Status
from hipgraph_cb.abi.hsa.structures import LOADER_PREFIX, LoaderTable
from hipgraph_cb.errors import UnavailableError
from hipgraph_cb.hsa.api import HsaApi
from hipgraph_cb.hsa.functions import U64, IterateLoadedCodeObjects, LoadedCodeObjectCallback, LoadedCodeObjectGetInfo
from hipgraph_cb.runtime.loaded_code import CodeRange


def code_ranges(api: HsaApi, executable: int) -> tuple[CodeRange, ...]:
    """Where the code objects of an executable lie.

    Raises:
        HsaError: the extension is missing or refuses.
    """
    table = LoaderTable()
    api.call("hsa_system_get_major_extension_table", Extension.AMD_LOADER, 1, ctypes.sizeof(table), ctypes.byref(table))
    if not table.executable_iterate_loaded_code_objects or not table.loaded_code_object_get_info:
        raise UnavailableError("the HSA library does not say where code objects are loaded")
    iterate = IterateLoadedCodeObjects(table.executable_iterate_loaded_code_objects)
    get_info = LoadedCodeObjectGetInfo(table.loaded_code_object_get_info)
    found: list[int] = []

    def note(_executable: int, loaded: int, _data: object) -> int:
        found.append(loaded)
        return int(Status.SUCCESS)

    _check(api, "executable_iterate_loaded_code_objects", iterate(executable, LoadedCodeObjectCallback(note), None))

    def info(loaded: int, attribute: LoadedCodeObjectInfo, kind: type[Any] = U64) -> int:
        value = kind()
        _check(api, "loaded_code_object_get_info", get_info(loaded, attribute, ctypes.addressof(value)))
        return int(value.value)

    return tuple(
        CodeRange(
            info(loaded, LoadedCodeObjectInfo.LOAD_BASE),
            info(loaded, LoadedCodeObjectInfo.LOAD_SIZE),
            info(loaded, LoadedCodeObjectInfo.LOAD_DELTA, ctypes.c_int64),
        )
        for loaded in found
    )


def _check(api: HsaApi, name: str, status: int) -> None:
    if status:
        raise api.error(LOADER_PREFIX + name, status)

"""Options of dispatches as attributes of kernel nodes."""

from __future__ import annotations

import ctypes
import math
from typing import TYPE_CHECKING, Any

from hipgraph_cb.abi.hip.codes import Code
from hipgraph_cb.abi.hip.enums import LaunchAttribute
from hipgraph_cb.errors import OutOfRangeError
from hipgraph_cb.hip.api import bindings

if TYPE_CHECKING:
    from hipgraph_cb.hip.api import HipApi
    from hipgraph_cb.hip.commands import CommandArguments
    from hipgraph_cb.recording.commands import Dispatch

USE_NODE_PRIORITY = 8
"""hipGraphInstantiateFlagUseNodePriority."""
_SETTER = "hipGraphKernelNodeSetAttribute"
_VALUE = ctypes.c_int * 16
"""A hipLaunchAttributeValue: 64 bytes, of which the first number counts here."""


def set_options(api: HipApi, node: Any, command: Dispatch, arguments: CommandArguments, where: str) -> None:
    """Give the node of a dispatch its options.

    Raises:
        OutOfRangeError: a cooperative launch of more workgroups than the device holds at once.
        HipError: HIP refused one.
    """
    if command.cooperative:
        _check_resident(command, arguments, where)
        code = _set(api, node, LaunchAttribute.COOPERATIVE, 1, where)
        if code:
            raise api.error(_SETTER, code, where)
    if command.priority:
        # A hint. AMD's runtimes 6.4.3 and 7.2.4 have no such attribute of nodes, and refuse every value.
        code = _set(api, node, LaunchAttribute.PRIORITY, command.priority, where)
        if code not in (Code.SUCCESS, Code.INVALID_VALUE):
            raise api.error(_SETTER, code, where)


def _set(api: HipApi, node: Any, attribute: LaunchAttribute, number: int, where: str) -> Any:
    value = _VALUE(number)
    name = bindings().hipLaunchAttributeID(int(attribute))
    try:
        (code,) = api.function(_SETTER)(node, name, ctypes.addressof(value))
    except (RuntimeError, ValueError) as error:
        raise api.failure(_SETTER, error, where) from error
    return code


def _check_resident(dispatch: Dispatch, arguments: CommandArguments, where: str) -> None:
    command: Any = dispatch  # whose shape is in no slot
    executable, size = arguments.executable(command.executable), math.prod(command.workgroup_size)
    room = executable.resident_workgroups(command.export, size, command.dynamic_lds)
    count = math.prod(command.workgroup_count)
    if count > room:
        raise OutOfRangeError(
            "a cooperative launch has more workgroups than the device holds at once",
            where=where,
            found=f"{count} workgroups of {size} work-items",
            allowed=f"{room} workgroups",
            next_step="launch fewer workgroups, each of which does more",
        )

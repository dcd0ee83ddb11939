"""A kernel launched at once, its arguments given by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hipgraph_cb.runtime.device import Device
from hipgraph_cb.runtime.executable import Export


def launch_by_name(
    device: Device, kernel: Export, count: Sequence[int], size: int, values: Mapping[str, object]
) -> None:
    """Parameters that `values` lacks are zero; each of `values` must be one of the kernel's."""
    unknown = values.keys() - {parameter.name for parameter in kernel.parameters}
    assert not unknown, unknown
    arguments = [values.get(parameter.name, 0) for parameter in kernel.parameters]
    with device.command_buffer() as commands:
        commands.dispatch(kernel, workgroup_count=count, workgroup_size=size, args=arguments)
    commands.replay()

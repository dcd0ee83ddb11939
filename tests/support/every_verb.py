"""A program that makes the backend call everything it calls."""

from hipgraph_cb import Slot

RELEASES = {
    "hipFree": "hipMalloc",
    "hipStreamDestroy": "hipStreamCreateWithFlags",
    "hipModuleUnload": "hipModuleLoadData",
    "hipGraphDestroy": "hipGraphCreate",
    "hipGraphExecDestroy": "hipGraphInstantiate",
    "hipEventDestroy": "hipEventCreate",
}
"""Function that gives back -> function that makes."""


def every_verb(open_device, code_object):
    """Everything once: buffers, an executable, all verbs, joins, slots, rebinding, streams, times, waits, closing."""
    with open_device() as device:
        x, y, z = device.from_host(bytes(64)), device.allocate(64), device.allocate(64)
        executable = device.load(code_object)
        with device.command_buffer(label="all verbs", join="empty") as cb:
            cb.fill_buffer(x, 1)
            cb.update_buffer(y, bytes(64))
            cb.execution_barrier()
            cb.copy_buffer(x, z)
            cb.dispatch(executable["scale_and_offset"], 1, bindings=[x, y], constants=[1, 2])
        with device.stream() as stream:
            cb.replay(stream=stream)
            cb.replay(stream=stream, mode="stream")
            stream.synchronize()
        cb.program.profile(1)
        with device.command_buffer(label="slots", binding_capacity=1) as slots:
            slots.fill_buffer(Slot(0, 0, 64), 1)
            slots.execution_barrier()
            slots.update_buffer(Slot(0), bytes(32))
            slots.execution_barrier()
            slots.dispatch(executable["workgroup_ids"], 1, args=[Slot(0)])
        for buffer, mode in ((y, "graph"), (x, "stream"), (z, "graph")):
            slots.replay(bindings=[buffer], mode=mode)
        return z.to_host()

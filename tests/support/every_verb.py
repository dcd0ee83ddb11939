"""A program that makes the backend call everything it calls."""

from hipgraph_cb import Slot

RELEASES = {
    "hip": {
        "hipFree": ("hipMalloc",),
        "hipStreamDestroy": ("hipStreamCreateWithFlags",),
        "hipModuleUnload": ("hipModuleLoadData",),
        "hipGraphDestroy": ("hipGraphCreate",),
        "hipGraphExecDestroy": ("hipGraphInstantiate",),
        "hipEventDestroy": ("hipEventCreate", "hipEventCreateWithFlags"),
    },
    "hsa": {
        "hsa_amd_memory_pool_free": ("hsa_amd_memory_pool_allocate",),
        "hsa_queue_destroy": ("hsa_queue_create",),
        "hsa_signal_destroy": ("hsa_signal_create",),
        "hsa_executable_destroy": ("hsa_executable_create_alt",),
        "hsa_code_object_reader_destroy": ("hsa_code_object_reader_create_from_memory",),
    },
}
"""By backend: function that gives back -> functions that make."""


def every_verb(open_device, code_object):
    """Everything once: buffers, an executable, all verbs, joins, slots, rebinding, streams, times, waits, closing."""
    with open_device() as device:
        x, y, z = device.from_host(bytes(64)), device.allocate(64), device.allocate(64)
        executable = device.load(code_object)
        if device.backend == "hsa":
            assert executable.code_ranges
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
            device.synchronize()  # else it is a matter of time which calls the next replay makes
        _with_memory_of_others(device, x)
        return z.to_host()


def _with_memory_of_others(device, theirs):
    """Imported memory in a buffer and in a slot, and a graph that is made anew for other bindings."""
    ours = device.import_buffer(theirs.address, size=64)
    with device.command_buffer(label="imported", binding_capacity=1, update="reinstantiate", fill="kernel") as cb:
        cb.fill_buffer(ours, 1)
        cb.fill_buffer(Slot(0, 0, 64), 2)
    for buffer in (device.allocate(64), device.import_buffer(device.allocate(64)), device.allocate(64)):
        cb.replay(bindings=[buffer])
        device.synchronize()


def parts_and_events(open_device, code_object):
    """Events, nested recordings and indirect dispatches, in graphs and call by call, rebound and launched in parts."""
    with open_device() as device:
        w, x, y, z = (device.from_host(bytes(64)) for _ in range(4))
        counts = device.from_host(b"".join(count.to_bytes(4, "little") for count in (2, 1, 1)))
        executable = device.load(code_object)
        event, other = device.event("ready"), device.event()
        with device.command_buffer(label="first") as first:
            first.signal_event(other)
        with device.command_buffer(label="inner", binding_capacity=1) as inner:
            inner.fill_buffer(Slot(0, 0, 64), 1)
            inner.wait_events([event, other])
            inner.dispatch(executable["scale_and_offset"], 1, bindings=[x, Slot(0)], constants=[1, 2])
        with device.command_buffer(label="outer", binding_capacity=1) as outer:
            outer.fill_buffer(x, 1)
            outer.signal_event(event)
            outer.execute_commands(inner, bindings=[Slot(0)])
            outer.dispatch_indirect(executable["workgroup_ids"], counts, args=[z])
            outer.wait_events([event])
            outer.reset_event(event)
            outer.copy_buffer(Slot(0, 0, 16), z.view(16, 16))
        first.replay()
        with device.command_buffer(label="joined", join="kernel") as joined:
            joined.fill_buffer(w, 1)
            joined.fill_buffer(x, 1)
            joined.execution_barrier()
            joined.copy_buffer(w, y)
        joined.replay()
        for buffer, mode in ((y, "graph"), (w, "graph"), (y, "stream")):
            outer.replay(bindings=[buffer], mode=mode)
            device.synchronize()
        return z.to_host()


SCENARIOS = {"every verb": every_verb, "parts and events": parts_and_events}

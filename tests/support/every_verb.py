"""A program that makes the backend call everything it calls."""

from pathlib import Path

from support.containers import Export, wrapped

from hipgraph_cb import Slot

FIXTURES = Path(__file__).parents[1] / "fixtures" / "constants"

RELEASES = {
    "hip": {
        "hipFree": ("hipMalloc",),
        "hipHostFree": ("hipHostMalloc",),
        "hipStreamDestroy": ("hipStreamCreateWithFlags",),
        "hipModuleUnload": ("hipModuleLoadData",),
        "hipGraphDestroy": ("hipGraphCreate",),
        "hipGraphExecDestroy": ("hipGraphInstantiate", "hipGraphInstantiateWithFlags"),
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
        _with_memory_of_the_host(device)
        _with_options(device, executable["nothing"])
        return z.to_host()


def _with_memory_of_others(device, theirs):
    """Imported memory in a buffer and in a slot, and a graph that is made again for other bindings."""
    ours = device.import_buffer(theirs.address, size=64)
    with device.command_buffer(label="imported", binding_capacity=1, update="reinstantiate", fill="kernel") as cb:
        cb.fill_buffer(ours, 1)
        cb.fill_buffer(Slot(0, 0, 64), 2)
    for buffer in (device.allocate(64), device.import_buffer(device.allocate(64)), device.allocate(64)):
        cb.replay(bindings=[buffer])
        device.synchronize()


def _with_memory_of_the_host(device):
    """A host buffer that is copied to and from, also by rows, and a transient buffer."""
    host, z = device.host_buffer(64, "host"), device.allocate(64)
    host.array[:] = 7
    with device.command_buffer(label="host", binding_capacity=1) as cb:
        cb.copy_buffer(host, z)
        cb.execution_barrier()
        cb.copy_buffer(z, Slot(0, 0, 64))
        cb.execution_barrier()
        cb.copy_buffer_2d(Slot(0), z, width=4, height=2, source_pitch=8)
        cb.fill_buffer_2d(Slot(0, 32), 1, width=4, height=2, pitch=8)
        cb.execution_barrier()
        cb.copy_buffer(z, cb.transient(64, "t"))
    for mode in ("graph", "stream"):
        cb.replay(bindings=[host], mode=mode)
        device.synchronize()


def _with_options(device, kernel):
    """Dispatches with options; cooperative ones where the backend takes them."""
    with device.command_buffer(label="options") as cb:
        cb.dispatch(kernel, 1, args=[], priority=1)
        cb.dispatch(kernel, 1, args=[], cooperative=device.backend == "hip")
    for mode in ("graph", "stream"):
        cb.replay(mode=mode)
        device.synchronize()


def parts_and_events(open_device, code_object):
    """Events, nested recordings, indirect dispatches, host calls: in graphs, call by call, rebound, in parts."""
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
            outer.host_call(lambda: None)
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


def changes(open_device, code_object):
    """Numbers in slots, commands that are given other arguments and switched off, programs of other recordings."""
    with open_device() as device:
        x, y, z = device.from_host(bytes(range(64))), device.from_host(bytes(64)), device.from_host(bytes(64))
        executable = device.load(code_object)
        with device.command_buffer(label="numbers", binding_capacity=3) as numbers:
            count, add, pattern = (Slot(index, type="u32") for index in range(3))
            numbers.fill_buffer(y, pattern)
            numbers.dispatch(executable["scale_and_offset"], 1, args=[x, z.view(0, 16), 1, add])
            numbers.execution_barrier()
            numbers.dispatch(executable["workgroup_ids"], count, args=[z.view(32, 32)])
        for table in ([1, 2, 3], {0: 0}, {0: 2, 1: 5}, {2: 7}):
            numbers.replay(bindings=table)
            device.synchronize()
        recordings = []
        for value in (1, 2):
            with device.command_buffer(label="changed") as changed:
                changed.fill_buffer(y, value)
                changed.update_buffer(x, bytes([value]))
                changed.execution_barrier()
                changed.copy_buffer(y.view(0, 16), z.view(16, 16))
                changed.dispatch(executable["scale_and_offset"], 1, args=[x, z.view(0, 16), 0, value])
            recordings.append(changed.recording)
        program = changed.program
        program.update(recordings[0])
        program.update(recordings[1])
        program[1].enabled = False
        program.replay()
        program[1].enabled = True
        program[0].update(pattern=5)
        program[3].update(args={3: 6})
        program.replay()
        device.synchronize()
        return z.view(0, 16).to_host()


def constants(open_device, code_object):
    """Two modules with constants, some for variables and some for what they leave undefined."""
    with open_device() as device:
        code = (FIXTURES / f"constants.{device.target.processor}.hsaco").read_bytes()
        exports = [Export("show", (1, 1, 1), 0, 1, module=1), Export("scale", (4, 1, 1), 0, 2)]
        values = {"factor": bytes([3, 0, 0, 0]), "pair": bytes(8), "offset": 5, "unset": 7}
        executable, out = device.load(wrapped(b"HIP1", exports, [code, code]), constants=values), device.allocate(16)
        with device.command_buffer(label="constants") as cb:
            cb.dispatch(executable["scale"], 1, bindings=[device.from_host(bytes(range(16))), out])
        cb.replay()
        device.synchronize()
        return out.to_host()


SCENARIOS = {
    "every verb": every_verb,
    "parts and events": parts_and_events,
    "changes": changes,
    "constants": constants,
}

"""What a replay costs in calls, and how long things are kept."""

import gc
import subprocess
import sys
import weakref

import pytest
from support.collection import collect
from support.every_verb import SCENARIOS
from support.steps import steps

from hipgraph_cb import Slot
from hipgraph_cb.errors import DeadlineExceededError
from hipgraph_cb.hip.device import HipDevice


def fill(device, buffer, **options):
    with device.command_buffer(**options) as cb:
        cb.fill_buffer(buffer, 1)
    return cb


def test_a_replay_without_slots_is_one_launch(counting, device):
    cb = fill(device, device.allocate(16))
    counting.calls.clear()
    cb.replay()
    assert counting.calls == ["hipGraphLaunch"]


def test_the_source_graph_goes_where_nothing_can_change(counting, device):
    fill(device, device.allocate(16))
    assert counting.kinds["graph"] == 0


def test_only_nodes_whose_memory_changed_are_reported(counting, device):
    x, y, z = (device.allocate(16) for _ in range(3))
    with device.command_buffer(binding_capacity=2) as cb:
        cb.fill_buffer(Slot(0), 1)
        cb.fill_buffer(Slot(1), 1)
        cb.fill_buffer(Slot(1), 2)
    cb.replay(bindings=[x, y])
    for table, changes in (([x, y], 0), ([z, y], 1), ([z, x], 2), ([x, z], 3)):
        counting.calls.clear()
        cb.replay(bindings=table)
        assert counting.calls.count("hipGraphExecMemsetNodeSetParams") == changes


def test_what_is_off_gets_its_parameters_when_it_is_switched_on(counting, device):
    """AMD's 7.2.4 never runs a kernel node again that got them while it was off."""
    x, y = device.allocate(16), device.allocate(16)
    with device.command_buffer(binding_capacity=1) as cb:
        cb.fill_buffer(Slot(0), 1)
        cb.fill_buffer(Slot(0), 2)
    cb.replay(bindings=[x])
    counting.calls.clear()
    cb.program[0].enabled = False
    cb.replay(bindings=[y])
    cb.program[0].enabled = True
    change, switch = "hipGraphExecMemsetNodeSetParams", "hipGraphNodeSetEnabled"
    assert [name for name in counting.calls if name in (change, switch)] == [switch, change, switch, change]


def test_a_graph_made_again_for_each_table_takes_the_one_before_with_it_when_it_is_done(counting, device):
    x, y = device.allocate(16), device.allocate(16)
    with device.command_buffer(binding_capacity=1, update="reinstantiate") as cb:
        cb.fill_buffer(Slot(0), 1)
    counting.busy = True
    for table in ([x], [x], [y], [x]):
        cb.replay(bindings=table)
    assert counting.calls.count("hipGraphInstantiate") == 3
    assert counting.kinds["graph"] == 0
    assert counting.kinds["executable graph"] == 3
    counting.busy = False
    device.synchronize()
    assert counting.kinds["executable graph"] == 1


def test_a_closed_program_is_kept_until_its_launch_is_done(counting, device):
    cb = fill(device, device.allocate(16))
    counting.busy = True
    cb.replay()
    cb.program.close()
    assert counting.kinds["executable graph"] == 1
    counting.busy = False
    device.synchronize()
    assert counting.kinds["executable graph"] == 0


@pytest.mark.parametrize("mode", ["graph", "stream"])
def test_host_bytes_are_kept_until_the_launch_that_reads_them_is_done(counting, device, mode):
    """HIP is given their address: it reads them when the launch runs."""
    with device.command_buffer(binding_capacity=1) as cb:
        cb.update_buffer(Slot(0), bytes(range(16)))
    counting.busy = True
    cb.replay(bindings=[device.allocate(16)], mode=mode)
    recording = weakref.ref(cb.recording)
    cb.program.close()
    del cb
    collect()
    assert recording() is not None
    counting.busy = False
    device.synchronize()
    assert recording() is None


def test_memory_that_a_launch_was_bound_to_is_kept_until_it_is_done(counting, device):
    first, second = device.allocate(16), device.allocate(16)
    with device.command_buffer(binding_capacity=1) as cb:
        cb.fill_buffer(Slot(0), 1)
    counting.busy = True
    cb.replay(bindings=[first])
    handle = weakref.ref(first.handle)
    first.close()
    cb.replay(bindings=[second])
    collect()
    assert handle() is not None
    counting.busy = False
    device.synchronize()
    assert handle() is None


def test_ten_thousand_rebinds_leave_nothing_waiting(counting, device):
    buffers = [device.allocate(16) for _ in range(2)]
    with device.command_buffer(binding_capacity=1) as cb:
        cb.fill_buffer(Slot(0), 1)
    for index in range(10_000):
        cb.replay(bindings=[buffers[index % 2]])
    device.synchronize()
    assert len(device.backlog) == 0
    assert counting.kinds == {"allocation": 2, "stream": 1, "graph": 1, "executable graph": 1}


def test_a_rebind_costs_what_changes_and_not_how_long_the_recording_is(counting, device):
    x, y, z = (device.allocate(16) for _ in range(3))
    costs = {}
    for length in (64, 512):
        with device.command_buffer(binding_capacity=2) as cb:
            cb.fill_buffer(Slot(0, 0, 16), 1)
            for _ in range(length - 1):
                cb.fill_buffer(Slot(1, 0, 16), 2)
        cb.replay(bindings=[x, x])
        costs[length] = steps(lambda cb=cb: cb.replay(bindings=[y, x])), steps(lambda cb=cb: cb.replay(bindings=[y, z]))
    (one_of_few, few), (one_of_many, many) = costs.values()
    assert one_of_many <= one_of_few  # the very first call looks functions up
    assert many < 8.1 * few


def test_a_device_that_cannot_finish_says_so_and_stays_open(counting):
    device = HipDevice()
    device.timeout = 0.01
    cb = fill(device, device.allocate(16), label="endless")
    counting.busy = True
    cb.replay()
    with pytest.raises(DeadlineExceededError) as caught:
        device.close()
    assert "the last one is program `endless`" in str(caught.value)
    assert not device.closed
    counting.busy = False
    device.close()
    assert device.closed
    assert counting.live == {}


def test_letting_go_of_a_device_waits_for_its_work_and_gives_everything_back(counting):
    device = HipDevice()
    cb = fill(device, device.allocate(16))
    cb.replay()
    del device, cb
    collect()
    assert counting.live == {}


def test_a_second_device_is_made_current_before_it_is_used(counting, monkeypatch):
    monkeypatch.setattr(type(counting), "hipGetDeviceCount", lambda _self: (0, 2))
    with HipDevice(1) as device:
        cb = fill(device, device.allocate(16))
        counting.calls.clear()
        cb.replay()
        assert counting.calls == ["hipSetDevice", "hipGraphLaunch"]


ANY_DEVICE = {
    "hipExtGetLastError",
    "hipGetDeviceCount",
    "hipGetDeviceProperties",
    "hipPointerGetAttributes",
    "hipMemGetAddressRange",
    "hipMemcpy",
    "hipStreamQuery",
    "hipEventElapsedTime",
}
"""What does the same whichever device is the current one: the addresses and handles say which they mean."""


def call_of_the_user():
    """The outermost frame of the package: one call from outside."""
    frame, found = sys._getframe(), None
    while frame is not None:
        if frame.f_globals.get("__name__", "").startswith("hipgraph_cb."):
            found = frame
        frame = frame.f_back
    return found


@pytest.mark.parametrize("scenario", SCENARIOS.values(), ids=SCENARIOS)
def test_every_call_of_the_user_makes_the_device_current_before_anything_of_it_is_used(
    counting, code_object, monkeypatch, scenario
):
    """Any other call may come from another thread, or after somebody made another device the current one."""
    monkeypatch.setattr(type(counting), "hipGetDeviceCount", lambda _self: (0, 2))
    counting.device = 1
    current, elsewhere = [], set()
    counted = type(counting)._counted

    def watched(self, name):
        function = counted(self, name)

        def call(*arguments):
            if name == "hipSetDevice":
                current[:] = [call_of_the_user()]
            elif name not in ANY_DEVICE and call_of_the_user() not in current:
                elsewhere.add(name)
            return function(*arguments)

        return call

    monkeypatch.setattr(type(counting), "_counted", watched)
    scenario(lambda: HipDevice(1), code_object)
    assert elsewhere == set()


def test_the_backend_needs_no_hip_library_to_be_imported():
    modules = "hipgraph_cb.runtime.device, hipgraph_cb.hip.device"
    script = f"import sys, {modules}; print(sorted({{'numpy', 'hip'}} & set(sys.modules)))"
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert result.stdout == "[]\n"


def test_memory_goes_with_the_last_reference_and_waits_for_no_collection(counting, device, code_object):
    """A cycle of references would keep device memory until Python happens to collect it."""
    collect()
    gc.disable()
    try:
        executable, buffers = device.load(code_object), [device.allocate(64) for _ in range(3)]
        with device.command_buffer(binding_capacity=1) as cb:
            cb.fill_buffer(Slot(0), 1)
            cb.update_buffer(buffers[0], bytes(64))
            cb.dispatch(executable["scale_and_offset"], 1, bindings=[buffers[0], buffers[1]], constants=[1, 2])
        for mode in ("graph", "stream", "graph"):
            for buffer in (buffers[2], device.allocate(64)):
                cb.replay(bindings=[buffer], mode=mode)
        device.synchronize()
        assert counting.kinds["allocation"] > 3
        del cb, executable, buffers, buffer
        device.synchronize()
        assert counting.kinds == {"stream": 1}
    finally:
        gc.enable()

"""Every call that a group makes is failed in turn: nothing leaks, and the group can be used afterwards."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from support.collection import collect
from support.devices import OF_ONE_TARGET, no_peer_access
from support.every_verb import RELEASES
from support.failed_calls import CANNOT_FAIL, FAILURES, POLLS, fail_each_call

from hipgraph_cb import Slot, open_devices
from hipgraph_cb.errors import HipError, HsaError
from hipgraph_cb.opening import virtual_runtime


@pytest.fixture
def runtime(backend):
    collect()
    return virtual_runtime(backend)


def work(group, path):
    """Kernels on two devices, copies both ways, a transient buffer, a slot, a nested recording, an event, a stream."""
    kernels = group.load(path)
    x, y = (device.from_host(np.ones(8, np.uint32)) for device in group)
    w = group[0].from_host(np.ones(4, np.uint32))
    event = group[1].event()
    with group.command_buffer(label="nested") as nested:
        nested.fill_buffer(y.view(16, 16), 5)
    with group.command_buffer(label="both", binding_capacity=1) as cb:
        between = cb.transient(16, device=1)
        cb.dispatch(kernels.on(0)["scale_and_offset"], 1, args=[Slot(0, 0, 16), x.view(16, 16), 3, 1])
        cb.execution_barrier()
        cb.copy_buffer(x.view(16, 16), between)
        cb.execution_barrier()
        cb.dispatch(kernels.on(1)["scale_and_offset"], 1, args=[between, y.view(0, 16), 10, 0])
        cb.execute_commands(nested)
        cb.signal_event(event)
        cb.execution_barrier()
        cb.copy_buffer(y, x)
    cb.replay(bindings=[w])
    group.synchronize()
    with group.stream() as stream:
        cb.replay(stream, bindings=[w], mode="stream")
        stream.synchronize()
    result = x.to_host(np.uint32).tolist()
    for made in (cb.program, event, w, x, y, kernels):
        made.close()
    return result


EXPECTED = [40] * 4 + [5] * 4
"""10 * (3 * 1 + 1), and what the nested recording writes."""


def whole(backend, path):
    with open_devices(backend, devices=OF_ONE_TARGET[:2]) as group:
        assert work(group, path) == EXPECTED


@pytest.mark.long
def test_any_failed_call_leaves_nothing_behind(backend, runtime, quick_collection, code, caplog):
    fail_each_call(runtime, backend, lambda: whole(backend, code("gfx942")), caplog, every_call=True)


@pytest.mark.long
def test_any_failed_call_without_peer_access_leaves_nothing_behind(backend, runtime, quick_collection, code, caplog):
    with no_peer_access(backend):
        fail_each_call(runtime, backend, lambda: whole(backend, code("gfx942")), caplog, every_call=True)


@pytest.mark.parametrize("every_call", [False, pytest.param(True, marks=pytest.mark.long)])
def test_a_group_can_be_used_after_any_failed_call(backend, runtime, quick_collection, code, every_call):
    """In the ordinary suite one call of each function: neither the first nor the last where there are more."""
    error_code, _ = FAILURES[backend]
    failed = Counter()
    with runtime.count_calls() as all_calls:
        with open_devices(backend, devices=OF_ONE_TARGET[:2]) as group:
            work(group, code("gfx942"))
            before = Counter(all_calls)
            assert work(group, code("gfx942")) == EXPECTED
            for name, total in (Counter(all_calls) - before).items():
                if name in CANNOT_FAIL or name in POLLS:
                    continue
                for number in range(1, total + 1) if every_call else [(total + 1) // 2]:
                    with runtime.inject(name, number, error_code) as injection:
                        try:
                            work(group, code("gfx942"))
                        except (HipError, HsaError) as error:
                            assert error.code == error_code
                    failed[name] += injection.has_fired
                    if every_call:
                        assert work(group, code("gfx942")) == EXPECTED, f"{name}, call {number}"
            assert work(group, code("gfx942")) == EXPECTED
        collect()
    assert failed
    for release, makes in RELEASES[backend].items():
        assert all_calls[release] == sum(all_calls[make] - failed[make] for make in makes), release

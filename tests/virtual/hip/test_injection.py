"""Injected failures, call counts and the null runtime."""

from __future__ import annotations

import numpy as np
import pytest
from support.devices import VIRTUAL_GPUS
from support.hip_program import code_of, done

from hipgraph_cb.errors import InvalidArgumentError, NotFoundError


def test_the_planned_call_fails_and_no_other(hip, runtime):
    with runtime.inject("hipMalloc", 2, 2) as injection:
        results = [hip.hipMalloc(16) for _ in range(3)]
    assert [code_of(result) for result in results] == [0, 2, 0]
    assert (injection.calls, injection.has_fired) == (3, True)
    assert code_of(hip.hipGetLastError()) == 2
    for result in (results[0], results[2]):
        done(hip.hipFree(result[1]))


def test_a_failed_call_has_done_nothing(hip, runtime):
    before = done(hip.hipMemGetInfo())
    with runtime.inject("hipMalloc", 1, 2):
        hip.hipMalloc(1 << 20)
    assert done(hip.hipMemGetInfo()) == before


def test_a_plan_that_did_not_happen_says_so(hip, runtime):
    with runtime.inject("hipFree", 5, 1) as injection:
        done(hip.hipFree(None))
    assert (injection.calls, injection.has_fired) == (1, False)


def test_plans_nest(hip, runtime):
    with runtime.inject("hipMalloc", 1, 2), runtime.inject("hipGetDevice", 1, 100):
        assert (code_of(hip.hipMalloc(8)), code_of(hip.hipGetDevice())) == (2, 100)
    assert code_of(hip.hipGetDevice()) == 0


def test_calls_are_counted_in_order(hip, runtime):
    with runtime.count_calls() as count:
        block = done(hip.hipMalloc(8))
        done(hip.hipMemset(block, 0, 8))
        done(hip.hipMemset(block, 1, 8))
        done(hip.hipFree(block))
    assert count == {"hipMalloc": 1, "hipMemset": 2, "hipFree": 1}
    assert count.order == ["hipMalloc", "hipMemset", "hipMemset", "hipFree"]
    assert count["hipInit"] == 0


def test_counting_and_injecting_go_together(hip, runtime):
    with runtime.count_calls() as count, runtime.inject("hipMalloc", 1, 2):
        hip.hipMalloc(8)
    assert count == {"hipMalloc": 1}


def test_a_function_that_is_not_there_cannot_be_failed(runtime):
    with pytest.raises(NotFoundError) as caught, runtime.inject("hipNothing", 1, 1):
        pass
    assert str(caught.value) == "inject: the virtual library has no such function\n  found: 'hipNothing'"
    with pytest.raises(InvalidArgumentError), runtime.inject("hipMalloc", 0, 1):
        pass


def test_the_null_runtime_hands_out_handles_and_does_nothing(hip, runtime):
    with runtime.null_runtime():
        graph = done(hip.hipGraphCreate(0))
        node = done(hip.hipGraphAddEmptyNode(graph, None, 0))
        assert (int(graph), int(node)) == (0x1000, 0x1000)
        assert done(hip.hipGetDeviceCount()) == len(VIRTUAL_GPUS)
        assert code_of(hip.hipMemcpy(0x1000, np.zeros(4, np.uint8), 4, hip.hipMemcpyKind.hipMemcpyHostToDevice)) == 0
    assert code_of(hip.hipGraphAddEmptyNode(graph, None, 0)) == 1

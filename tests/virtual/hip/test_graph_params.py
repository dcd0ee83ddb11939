"""Parameters that nodes tell, updates of executable graphs, and the DOT print."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from support.hip_program import code_of, done


@pytest.fixture
def library(runtime):
    return ctypes.CDLL("libamdhip64.so")


@pytest.fixture
def block(program):
    return program.upload(np.zeros(64, np.uint8))


def handle(thing):
    return ctypes.c_void_p(int(thing))


def test_an_event_record_node_records_at_launch(hip, program, block):
    graph, event = done(hip.hipGraphCreate(0)), done(hip.hipEventCreate())
    done(hip.hipGraphAddEventRecordNode(graph, None, 0, event))
    executable = program.instantiate(graph)
    assert code_of(hip.hipEventElapsedTime(event, event)) == 400
    done(hip.hipGraphLaunch(executable, None))
    done(hip.hipDeviceSynchronize())
    assert hip.hipEventElapsedTime(event, event) == (0, 0.0)


def test_a_host_node_calls_its_function(hip, library, program):
    seen = []
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(seen.append)
    graph, params = done(hip.hipGraphCreate(0)), (ctypes.c_void_p * 2)(ctypes.cast(function, ctypes.c_void_p), 42)
    node = ctypes.c_void_p()
    assert library.hipGraphAddHostNode(ctypes.byref(node), handle(graph), None, ctypes.c_size_t(0), params) == 0
    executable = program.instantiate(graph)
    for _ in range(3):
        done(hip.hipGraphLaunch(executable, None))
    done(hip.hipDeviceSynchronize())
    assert seen == [42, 42, 42]

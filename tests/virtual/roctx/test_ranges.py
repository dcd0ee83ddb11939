"""The virtual ROCTX: levels of ranges, in each thread and in the process, and groups of recordings."""

from __future__ import annotations

import ctypes
import threading

import pytest
from support.devices import VIRTUAL_GPUS
from support.hip_program import done

from hipgraph_cb import Recording, open_device, recorded
from hipgraph_cb.virtual.install import install_roctx


@pytest.fixture(scope="module")
def roctx():
    open_device().close()
    install_roctx(VIRTUAL_GPUS)
    library = ctypes.CDLL("libroctx64.so.4")
    library.roctxRangeStartA.restype = ctypes.c_uint64
    library.roctxRangeStop.argtypes = [ctypes.c_uint64]
    library.roctxRangeStop.restype = library.roctxMarkA.restype = None
    return library


def test_ranges_of_a_thread_nest_and_tell_their_level(roctx):
    assert [roctx.roctxRangePushA(b"a"), roctx.roctxRangePushA(b"b"), roctx.roctxRangePop()] == [0, 1, 1]
    assert [roctx.roctxRangePop(), roctx.roctxRangePop()] == [0, -1]


def test_each_thread_has_ranges_of_its_own(roctx):
    levels = []
    roctx.roctxRangePushA(b"here")
    thread = threading.Thread(target=lambda: levels.append(roctx.roctxRangePushA(b"there")))
    thread.start()
    thread.join()
    assert levels == [0]
    assert roctx.roctxRangePop() == 0


def test_the_version_and_the_other_calls_are_answered(roctx):
    assert (roctx.roctx_version_major(), roctx.roctx_version_minor()) == (4, 1)
    roctx.roctxMarkA(b"here")
    assert [roctx.roctxNameOsThread(b"main"), roctx.roctxNameHipDevice(b"first", 0)] == [0, 0]
    assert ctypes.CDLL("librocprofiler-sdk-roctx.so.1").roctxRangePop() == -1


def test_ranges_become_groups_of_a_recording(roctx, tmp_path):
    from hip import hip

    place = done(hip.hipMalloc(64))
    with recorded(tmp_path / "step.hgcb"):
        done(hip.hipMemset(place, 1, 64))
        number = roctx.roctxRangeStartA(b"training")
        roctx.roctxRangePushA(b"forward")
        done(hip.hipMemsetAsync(place, 2, 64, None))
        done(hip.hipMemsetAsync(place, 3, 64, None))
        roctx.roctxRangePop()
        roctx.roctxRangePushA(b"backward")
        done(hip.hipMemsetAsync(place, 4, 64, None))
        roctx.roctxRangePop()
        roctx.roctxRangeStop(number)
        done(hip.hipMemset(place, 5, 64))
    done(hip.hipFree(place))
    assert Recording.load(tmp_path / "step.hgcb").group_paths == (
        (),
        ("training", "forward"),
        ("training", "forward"),
        ("training", "backward"),
        (),
    )

"""Making, asking, splitting and leaving communicators; what is refused, and with which code."""

from __future__ import annotations

import ctypes
import os
import threading

import pytest
from support.rccl_client import SUM, TYPE_NUMBERS

from hipgraph_cb.virtual.rccl.api.refused import REFUSED
from hipgraph_cb.virtual.rccl.function_table import FUNCTIONS

POINTER = ctypes.c_size_t
INVALID_ARGUMENT, INVALID_USAGE, IN_PROGRESS = 4, 5, 7
F32 = TYPE_NUMBERS["float32"]


class UniqueId(ctypes.Structure):
    _fields_ = (("internal", ctypes.c_ubyte * 128),)


@pytest.fixture
def rccl(library):
    return ctypes.CDLL("librccl.so.1")


@pytest.fixture
def hip(library):
    return ctypes.CDLL("libamdhip64.so")


def number(function, handle):
    out = ctypes.c_int()
    assert function(POINTER(handle), ctypes.byref(out)) == 0
    return out.value


def join(rccl, hip, unique_id, ranks, rank, device):
    assert hip.hipSetDevice(device) == 0
    out = POINTER()
    return rccl.ncclCommInitRank(ctypes.byref(out), ranks, unique_id, rank), out.value


def test_a_communicator_knows_its_ranks_its_rank_and_its_device(client, rccl):
    program = client((4, 0, 3))
    facts = [
        tuple(number(getattr(rccl, name), handle) for name in ("ncclCommCount", "ncclCommUserRank", "ncclCommCuDevice"))
        for handle in program.communicators
    ]
    assert facts == [(3, 0, 4), (3, 1, 0), (3, 2, 3)]
    assert number(rccl.ncclCommGetAsyncError, program.communicators[0]) == 0


def test_the_version_is_that_of_the_same_release_as_hip(rccl):
    out = ctypes.c_int()
    assert rccl.ncclGetVersion(ctypes.byref(out)) == 0
    assert out.value == 22707


def test_each_function_has_its_name_for_profilers(rccl):
    assert {f"p{name}" for name in FUNCTIONS if not name.startswith("p")} <= set(FUNCTIONS)
    assert rccl.pncclGroupStart() == 0 == rccl.pncclGroupEnd()


def test_an_error_has_a_text(rccl):
    rccl.ncclGetErrorString.restype = ctypes.c_char_p
    assert rccl.ncclGetErrorString(0) == b"no error"
    assert rccl.ncclGetErrorString(4) == b"invalid argument (run with NCCL_DEBUG=WARN for details)"
    assert rccl.ncclGetErrorString(99) == b"unknown result code"


def test_threads_join_by_a_unique_id_whatever_their_order(rccl, hip, library):
    unique_id = UniqueId()
    assert rccl.ncclGetUniqueId(ctypes.byref(unique_id)) == 0
    results = {}

    def run(rank):
        results[rank] = join(rccl, hip, unique_id, 3, rank, (3, 0, 4)[rank])

    threads = [threading.Thread(target=run, args=(rank,)) for rank in (2, 0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [results[rank][0] for rank in range(3)] == [0, 0, 0], library.fault_report()
    assert [number(rccl.ncclCommCuDevice, results[rank][1]) for rank in range(3)] == [3, 0, 4]
    for _, handle in results.values():
        assert rccl.ncclCommDestroy(POINTER(handle)) == 0


def test_one_thread_joins_for_all_ranks_in_a_group(rccl, hip):
    unique_id = UniqueId()
    rccl.ncclGetUniqueId(ctypes.byref(unique_id))
    assert rccl.ncclGroupStart() == 0
    results = [join(rccl, hip, unique_id, 2, rank, rank + 3) for rank in range(2)]
    assert [number(rccl.ncclCommGetAsyncError, handle) for _, handle in results] == [0, 0]
    assert rccl.ncclGroupEnd() == 0
    for code, handle in results:
        assert code == 0
        assert rccl.ncclCommDestroy(POINTER(handle)) == 0
    hip.hipSetDevice(0)


def test_a_communicator_that_does_not_block_is_in_progress_until_all_have_joined(rccl, hip):
    unique_id, config = UniqueId(), (ctypes.c_uint32 * 16)(64, 0, 0xCAFEBEEF, 22707, 0)
    rccl.ncclGetUniqueId(ctypes.byref(unique_id))
    handles, codes = [], []
    for rank in range(2):
        hip.hipSetDevice(rank + 3)
        handles.append(POINTER())
        codes.append(rccl.ncclCommInitRankConfig(ctypes.byref(handles[-1]), 2, unique_id, rank, config))
        expected = 0 if rank else IN_PROGRESS
        assert number(rccl.ncclCommGetAsyncError, handles[0].value) == expected
    assert codes == [IN_PROGRESS, 0]
    for handle in handles:
        rccl.ncclCommDestroy(handle)
    hip.hipSetDevice(0)


def test_an_id_of_another_process_is_refused_by_name(rccl, hip, library):
    unique_id, out = UniqueId(), POINTER()
    rccl.ncclGetUniqueId(ctypes.byref(unique_id))
    process = ctypes.c_uint64.from_buffer(unique_id, 16)
    assert process.value == os.getpid()
    process.value = 1
    assert rccl.ncclCommInitRank(ctypes.byref(out), 2, unique_id, 0) == INVALID_USAGE
    assert library.fault_report() == (
        f"ncclCommInitRank: the unique id was made by process 1, and this is process {os.getpid()}: "
        "the virtual librccl connects ranks of one process only; use a thread for each rank, or ncclCommInitAll"
    )
    assert rccl.ncclCommInitRank(ctypes.byref(out), 2, UniqueId(), 0) == INVALID_ARGUMENT


def test_two_ranks_on_one_device_are_refused(rccl, library):
    handles, devices = (POINTER * 2)(), (ctypes.c_int * 2)(3, 3)
    assert rccl.ncclCommInitAll(handles, 2, devices) == INVALID_USAGE
    assert library.fault_report() == "ncclCommInitAll: ranks 0 and 1 are both on device 3; each needs its own"
    devices = (ctypes.c_int * 2)(3, 64)
    assert rccl.ncclCommInitAll(handles, 2, devices) == 1
    assert rccl.ncclCommInitAll(handles, 0, None) == INVALID_ARGUMENT


def test_a_failure_in_a_group_fails_the_group_and_leaves_no_communicator(rccl, hip, library):
    unique_id = UniqueId()
    rccl.ncclGetUniqueId(ctypes.byref(unique_id))
    rccl.ncclGroupStart()
    code, handle = join(rccl, hip, unique_id, 2, 0, 3)
    assert code == 0
    assert join(rccl, hip, unique_id, 2, 1, 3)[0] == INVALID_USAGE
    assert rccl.ncclGroupEnd() == INVALID_USAGE
    assert rccl.ncclCommDestroy(POINTER(handle)) == INVALID_ARGUMENT
    hip.hipSetDevice(0)


def test_a_split_makes_a_clique_of_each_color_in_the_order_of_the_keys(client, rccl):
    program = client((0, 3, 4, 5))
    made = [POINTER() for _ in range(4)]
    colors, keys = (1, 0, 1, -1), (5, 0, 2, 0)
    program.group(
        lambda rank: rccl.ncclCommSplit(
            POINTER(program.communicators[rank]), colors[rank], keys[rank], ctypes.byref(made[rank]), None
        )
    )
    assert made[3].value == 0
    facts = [
        tuple(number(getattr(rccl, name), handle.value) for name in ("ncclCommCount", "ncclCommUserRank"))
        for handle in made[:3]
    ]
    assert facts == [(2, 1), (1, 0), (2, 0)]
    for handle in made[:3]:
        assert rccl.ncclCommDestroy(handle) == 0


def test_a_finalized_communicator_takes_no_calls(client, rccl, library):
    program = client((3,))
    memory = POINTER(program.allocate(0, 64))
    handles = POINTER(program.communicators[0]), POINTER(program.streams[0])
    assert rccl.ncclCommFinalize(handles[0]) == 0
    assert rccl.ncclAllReduce(memory, memory, POINTER(4), F32, SUM, *handles) == INVALID_USAGE
    assert library.fault_report() == "ncclAllReduce: rank 0: the communicator was finalized"


def test_wrong_arguments_are_refused_with_the_reason(client, rccl, library):
    program = client((3, 4))
    memory = POINTER(program.allocate(0, 64))
    own, other = (POINTER(stream) for stream in program.streams)
    communicator = POINTER(program.communicators[0])
    four = POINTER(4)
    for arguments, code, text in (
        ((memory, memory, four, 77, SUM, communicator, own), 4, "77 is no ncclDataType_t"),
        ((memory, memory, four, 10, SUM, communicator, own), 4, "the virtual librccl does not reduce ncclFloat8e4m3"),
        ((memory, memory, four, F32, 9, communicator, own), 4, "9 is no ncclRedOp_t"),
        (
            (memory, POINTER(), four, F32, SUM, communicator, own),
            4,
            "recvbuff is NULL: all_reduce sum of 4 f32, rank 0 of 2",
        ),
        ((memory, memory, four, F32, SUM, communicator, other), 5, "rank 0 is on device 3, and the stream on device 4"),
        ((memory, memory, four, F32, SUM, POINTER(5), own), 4, "0x5 is not an ncclComm_t, or was destroyed"),
    ):
        assert rccl.ncclAllReduce(*arguments) == code
        assert library.fault_report() == f"ncclAllReduce: {text}"
    assert rccl.ncclBroadcast(memory, memory, four, F32, 2, communicator, own) == INVALID_ARGUMENT
    assert rccl.ncclAllToAll(memory, memory, four, F32, communicator, own) == INVALID_USAGE
    assert library.fault_report() == "ncclAllToAll: ncclAllToAll cannot be in place: RCCL would mix the blocks"
    assert rccl.ncclGroupEnd() == INVALID_USAGE


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_there_is_refused_by_name(rccl, library, name):
    assert getattr(rccl, name)() == INVALID_USAGE
    assert library.fault_report() == f"{name}: the virtual librccl does not have {name}: {REFUSED[name]}"
    rccl.ncclGetLastError.restype = ctypes.c_char_p
    assert name in rccl.ncclGetLastError(None).decode()


def test_memory_of_a_program_is_allocated_and_registered(client, rccl):
    program = client((3,))
    memory, registration = POINTER(), POINTER(1)
    assert rccl.ncclMemAlloc(ctypes.byref(memory), POINTER(64)) == 0
    communicator = POINTER(program.communicators[0])
    assert rccl.ncclCommRegister(communicator, memory, POINTER(64), ctypes.byref(registration)) == 0
    assert registration.value == 0
    assert rccl.ncclCommDeregister(communicator, registration) == 0
    assert rccl.ncclMemFree(memory) == 0


def test_communicators_leave_no_device_memory_behind(client, library, rccl):
    before = library.machine.memory.live_bytes
    handles = (POINTER * 3)()
    assert rccl.ncclCommInitAll(handles, 3, (ctypes.c_int * 3)(0, 3, 4)) == 0
    for handle in handles:
        assert rccl.ncclCommDestroy(POINTER(handle)) == 0
    assert library.machine.memory.live_bytes == before

"""Collectives of a program that calls RCCL itself, against numpy."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from support.collectives import REDUCTIONS, received, sent_blocks, sent_values
from support.rccl_client import TYPE_NUMBERS

REDUCTION_NUMBERS = {"sum": 0, "prod": 1, "max": 2, "min": 3, "avg": 4}
KINDS = ("all_reduce", "reduce", "reduce_scatter", "all_gather", "broadcast", "all_to_all", "gather", "scatter")
FUNCTIONS = {
    "all_reduce": "ncclAllReduce",
    "reduce": "ncclReduce",
    "reduce_scatter": "ncclReduceScatter",
    "all_gather": "ncclAllGather",
    "broadcast": "ncclBroadcast",
    "all_to_all": "ncclAllToAll",
    "gather": "ncclGather",
    "scatter": "ncclScatter",
}
IN_PLACE = tuple(kind for kind in KINDS if kind != "all_to_all")
ROOTED = ("reduce", "broadcast", "gather", "scatter")
DEVICES = {1: (3,), 2: (0, 1), 3: (5, 0, 3), 4: (3, 2, 4, 5), 8: tuple(range(8))}
"""The devices of the ranks, by how many there are; some are of other targets."""


def run(client, kind, elements, type_name="float32", reduction="sum", in_place=False, root=0):
    """Run one operation, and compare what every rank has received."""
    ranks = client.ranks
    size = elements * np.dtype("uint16" if type_name == "bfloat16" else type_name).itemsize
    values = [sent_values(type_name, elements * sent_blocks(kind, ranks), rank) for rank in range(ranks)]
    expected = received(kind, values, reduction, type_name, root)
    whole = max(sent_blocks(kind, ranks), ranks if kind in ("all_gather", "gather") else 1) * size
    sends, receives = [], []
    for rank in range(ranks):
        if in_place:
            memory = client.allocate(rank, whole)
            inner = memory + (rank * size if whole > size else 0)
            send, receive = (memory, inner) if sent_blocks(kind, ranks) > 1 else (inner, memory)
            client.check(
                client.hip.hipMemcpy(*map(ctypes.c_size_t, (send, values[rank].ctypes.data, values[rank].nbytes)), 1)
            )
        else:
            send, receive = client.upload(rank, values[rank]), client.allocate(rank, whole)
        sends.append(send)
        receives.append(receive)
    tail = ([REDUCTION_NUMBERS[reduction]] if "reduce" in kind else []) + ([root] if kind in ROOTED else [])

    def call(rank):
        pointers = ctypes.c_size_t(sends[rank]), ctypes.c_size_t(receives[rank]), ctypes.c_size_t(elements)
        handles = map(ctypes.c_size_t, (client.communicators[rank], client.streams[rank]))
        return client.call(FUNCTIONS[kind], *pointers, TYPE_NUMBERS[type_name], *tail, *handles)

    client.group(call)
    client.synchronize()
    for rank, wanted in enumerate(expected):
        if wanted is not None:
            np.testing.assert_array_equal(client.download(receives[rank], wanted), wanted, f"rank {rank}")


@pytest.mark.parametrize("ranks", DEVICES)
@pytest.mark.parametrize("kind", KINDS)
def test_each_operation_gives_each_rank_what_numpy_says(client, kind, ranks):
    program = client(DEVICES[ranks])
    for elements in (0, 1, 77):
        run(program, kind, elements, root=ranks - 1)


@pytest.mark.parametrize("ranks", [2, 3])
@pytest.mark.parametrize("kind", IN_PLACE)
def test_each_operation_may_be_in_place(client, kind, ranks):
    program = client(DEVICES[ranks])
    for elements in (1, 77):
        run(program, kind, elements, in_place=True, root=1)


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_each_type_of_elements_is_reduced_by_each_reduction(client, reduction):
    program = client(DEVICES[3])
    for type_name in TYPE_NUMBERS:
        run(program, "all_reduce", 33, type_name, reduction)


@pytest.mark.parametrize("reduction", ["min", "max"])
def test_the_smallest_and_largest_of_values_with_a_nan_is_a_nan(client, reduction):
    program = client(DEVICES[2])
    values = [np.array([1, np.nan, 2, np.nan], np.float32), np.array([2, 1, np.nan, np.nan], np.float32)]
    memory = [program.upload(rank, each) for rank, each in enumerate(values)]
    pointers = [(ctypes.c_size_t(each), ctypes.c_size_t(each), ctypes.c_size_t(4)) for each in memory]
    program.group(
        lambda rank: program.call(
            "ncclAllReduce",
            *pointers[rank],
            TYPE_NUMBERS["float32"],
            REDUCTION_NUMBERS[reduction],
            ctypes.c_size_t(program.communicators[rank]),
            ctypes.c_size_t(program.streams[rank]),
        )
    )
    program.synchronize()
    expected = {"min": np.minimum, "max": np.maximum}[reduction](*values)
    np.testing.assert_array_equal(program.download(memory[0], expected), expected)


@pytest.mark.long
@pytest.mark.parametrize("ranks", [2, 3, 4, 8])
@pytest.mark.parametrize("kind", KINDS)
def test_large_blocks(client, kind, ranks):
    program = client(DEVICES[ranks])
    for elements in (1 << 18, (1 << 18) - 3):
        run(program, kind, elements, root=1)
        if kind in IN_PLACE:
            run(program, kind, elements, in_place=True)


@pytest.mark.long
@pytest.mark.parametrize("type_name", TYPE_NUMBERS)
@pytest.mark.parametrize("kind", ["all_reduce", "reduce", "reduce_scatter"])
def test_every_type_in_every_reducing_operation(client, kind, type_name):
    program = client(DEVICES[8])
    for reduction in REDUCTIONS:
        run(program, kind, 1001, type_name, reduction, root=3)

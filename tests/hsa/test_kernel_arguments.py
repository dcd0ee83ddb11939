"""What the kernel arguments of a template hold, and how bindings get into them."""

import struct
import tracemalloc
from collections import deque

import numpy as np
import pytest
from support.packets import BUFFERS, PAYLOAD, SIZE, Desk, buffers, record

from hipgraph_cb.backend.blits import COPY_ARGUMENTS, FILL_ARGUMENTS
from hipgraph_cb.hsa.instances import MOST_INSTANCES, Instances
from hipgraph_cb.hsa.lowering import PATCH_ARGUMENTS
from hipgraph_cb.hsa.packet_template import SlotValues
from hipgraph_cb.recording.binding_table import BoundRange
from hipgraph_cb.recording.resources import Slot


@pytest.fixture(scope="module")
def desk():
    return Desk("corpus/clang/k_cl.gfx942.hsaco")


def test_arguments_are_where_the_metadata_says_and_nothing_is_elsewhere(desk):
    x, y = buffers(4096, 4096)
    template, _ = desk.lower(record(lambda cb: cb.dispatch(desk["saxpy"], (4, 2), 256, args=[y, x, 2.5, 1000])))
    layout = desk["saxpy"].layout
    block = template.kernargs[: layout.size]
    y_address, x_address, a, n = struct.unpack_from("<QQfI", block)
    assert (y_address, x_address, a, n) == (BUFFERS, BUFFERS + SIZE, 2.5, 1000)
    hidden = {argument.kind: argument for argument in layout.hidden}
    values = {
        kind: int.from_bytes(block[argument.offset : argument.offset + argument.size], "little")
        for kind, argument in hidden.items()
    }
    known = {
        **dict(zip((f"hidden_block_count_{axis}" for axis in "xyz"), (4, 2, 1), strict=True)),
        **dict(zip((f"hidden_group_size_{axis}" for axis in "xyz"), (256, 1, 1), strict=True)),
        "hidden_grid_dims": 3,
    }
    assert values == {kind: known.get(kind, 0) for kind in hidden}
    assert "hidden_block_count_x" in hidden
    assert template.kernargs[layout.size :].count(0) == len(template.kernargs) - layout.size
    assert len(template.kernargs) % 64 == 0


def test_the_packet_says_what_the_dispatch_says(desk):
    x, y = buffers(4096, 4096)
    template, _ = desk.lower(
        record(lambda cb: cb.dispatch(desk["saxpy"], (4, 2), 256, args=[y, x, 2.5, 1000], dynamic_lds=96))
    )
    (packet,) = template.packets
    export = desk["saxpy"].verified
    assert packet["workgroup_size"].tolist() == [256, 1, 1]
    assert packet["grid_size"].tolist() == [1024, 2, 1]
    assert packet["group_segment_size"] == export.group_segment_size + 96
    assert packet["private_segment_size"] == export.private_segment_size
    assert (packet["reserved0"], packet["reserved2"], packet["completion_signal"]) == (0, 0, 0)


def test_host_bytes_lie_so_that_the_copy_takes_the_largest_steps(desk):
    (x,) = buffers(4096)

    def commands(cb):
        for offset in (3, 16, 100):
            cb.update_buffer(x.view(offset, 41), bytes(range(41)))

    template, payload = desk.lower(record(commands))
    for packet, offset in zip(template.packets[:-1], (3, 16, 100), strict=True):
        assert desk.names[int(packet["kernel_object"])] == "copy_16"
        start = int(packet["kernarg_address"])
        target, source, *_ = COPY_ARGUMENTS.unpack_from(template.kernargs, start)
        assert target == BUFFERS + offset
        assert payload[source - PAYLOAD : source - PAYLOAD + 41] == bytes(range(41))


def test_host_bytes_of_updates_are_written_once_and_where_kernels_read_them(small):
    size = 4 << 20
    with small.command_buffer() as cb:
        cb.update_buffer(small.allocate(size), bytes(range(256)) * (size // 256))
    small.program(cb.recording).close()  # what is imported or remembered at the first one does not count
    tracemalloc.start()
    try:
        program = small.program(cb.recording)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < size // 16
    program.close()


def test_the_patch_is_reported_where_the_kernel_keeps_its_workgroup_counts(desk):
    x, counts = buffers(4096, 64)
    template, _ = desk.lower(
        record(lambda cb: cb.dispatch_indirect(desk["saxpy"], counts.view(16, 12), 256, args=[x, x, 1.0, 1]))
    )
    patch, dispatch = template.packets
    hidden = {argument.kind: argument.offset for argument in desk["saxpy"].layout.hidden}
    block = int(patch["kernarg_address"])
    counts_address, _packet, kernargs, _header, *sizes_and_places = PATCH_ARGUMENTS.unpack_from(
        template.kernargs, block
    )
    assert desk.names[int(patch["kernel_object"])] == "patch"
    assert counts_address == BUFFERS + SIZE * 0 + 16
    assert kernargs == int(dispatch["kernarg_address"])
    assert sizes_and_places == [256, 1, 1, *(hidden[f"hidden_block_count_{axis}"] for axis in "xyz")]


def test_no_offset_is_cut_to_32_bits(desk):
    (x,) = buffers(1 << 40)
    far, length = (1 << 33) + 8, (1 << 36) + 1

    def commands(cb):
        cb.fill_buffer(x, 1, pattern_length=1, offset=far, length=length)
        cb.copy_buffer(x, x, source_offset=far, target_offset=1 << 38, length=length)
        cb.dispatch(desk["saxpy"], 1, 256, args=[x.view(far, 4), x, 1.0, 1])

    template, _ = desk.lower(record(commands))
    filled, copied, dispatched = (int(packet["kernarg_address"]) for packet in template.packets[:-1])
    target, count, head, tail, *_ = FILL_ARGUMENTS.unpack_from(template.kernargs, filled)
    assert (target, head + 16 * count + tail) == (BUFFERS + far, length)
    target, source, count, head, tail, *_ = COPY_ARGUMENTS.unpack_from(template.kernargs, copied)
    assert (target, source, head + 8 * count + tail) == (BUFFERS + (1 << 38), BUFFERS + far, length)
    assert struct.unpack_from("<Q", template.kernargs, dispatched) == (BUFFERS + far,)


class Memory:
    """Host memory in place of a pool's."""

    def __init__(self, size):
        self.bytes = np.zeros(-(-size // 8) * 8, np.uint8)
        self.address = int(self.bytes.ctypes.data)
        self.released = 0

    def release(self):
        self.released += 1


class Queue:
    """Its tickets are done when a test says so."""

    def __init__(self):
        self.done = 0
        self.waits = deque()

    def is_done(self, ticket):
        return self.done >= ticket

    def refresh(self):
        pass

    def wait_for(self, ticket, timeout):
        self.waits.append((ticket, timeout))
        self.done = ticket


class Buffer:
    def __init__(self, address):
        self.bound_address = address


def instances_of(desk, fill):
    template, _ = desk.lower(record(fill, binding_capacity=2))
    return Instances(template, Memory, desk.blit, 4096)


def through_slots(desk):
    return lambda cb: cb.dispatch(desk["saxpy"], 4, 256, args=[Slot(0, 8), Slot(1), 1.0, 5])


def table(*addresses):
    return {slot: BoundRange(Buffer(address), 16, 64) for slot, address in enumerate(addresses)}


def test_bindings_are_written_where_the_pointers_are(desk):
    instances = instances_of(desk, through_slots(desk))
    instance = instances.take(None)
    instances.bind(instance, table(0x1000, 0x2000), 1, None)
    assert struct.unpack_from("<QQ", instance.memory.bytes) == (0x1000 + 16 + 8, 0x2000 + 16)
    assert instance.packets["kernarg_address"][0] == instance.memory.address


def test_the_same_table_is_not_written_twice(desk):
    instances = instances_of(desk, through_slots(desk))
    instance = instances.take(None)
    instances.bind(instance, table(0x1000, 0x2000), 1, None)
    instance.memory.bytes[:] = 0
    instances.bind(instance, table(0x1000, 0x2000), 1, None)
    assert not instance.memory.bytes.any()
    instances.bind(instance, table(0x3000, 0x4000), 2, None)
    assert struct.unpack_from("<QQ", instance.memory.bytes) == (0x3018, 0x4010)


def test_a_pointer_that_is_not_aligned_is_written_too(desk):
    instances = instances_of(desk, through_slots(desk))
    template = instances.template
    pointers = SlotValues.of([12, 24], 8, [0, 1], 1, [4, 0])
    object.__setattr__(template, "pointers", pointers)
    odd = Instances(template, Memory, desk.blit, 4096)
    instance = odd.take(None)
    odd.bind(instance, table(0x11223344556677, 0x2000), 1, None)
    assert struct.unpack_from("<Q", instance.memory.bytes, 12) == (0x11223344556677 + 20,)
    assert struct.unpack_from("<Q", instance.memory.bytes, 24) == (0x2010,)


def test_kernel_arguments_are_not_used_again_before_their_launch_is_done(desk):
    instances, queue = instances_of(desk, through_slots(desk)), Queue()
    first = instances.take(None)
    first.in_use = queue, 1
    second = instances.take(None)
    second.in_use = queue, 2
    assert first is not second
    queue.done = 1
    assert instances.take(None) is first


def test_the_oldest_launch_is_waited_for_when_there_are_as_many_as_may_be(desk):
    instances, queue = instances_of(desk, through_slots(desk)), Queue()
    taken = []
    for ticket in range(1, MOST_INSTANCES + 1):
        taken.append(instances.take(7.0))
        taken[-1].in_use = queue, ticket
    assert len(set(map(id, taken))) == MOST_INSTANCES
    assert instances.take(7.0) is taken[0]
    assert list(queue.waits) == [(1, 7.0)]


def test_without_slots_all_launches_share_their_arguments(desk):
    x, y = buffers(4096, 4096)
    instances = instances_of(desk, lambda cb: cb.dispatch(desk["saxpy"], 4, 256, args=[y, x, 2.5, 1000]))
    assert not instances.template.changes
    memory = instances.shared().memory
    instances.release()
    assert memory.released == 1

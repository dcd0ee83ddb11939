"""R2: a barrier is lazy; R3: what it becomes."""

import pytest
from support.fakes import FakeBuffer

from hipgraph_cb.errors import InvalidArgumentError, OutOfRangeError
from hipgraph_cb.recording.command_buffer import CommandBuffer
from hipgraph_cb.recording.dependencies import (
    AUTO_ELSEWHERE,
    AUTO_ON_AMD,
    CommandNode,
    JoinNode,
    JoinPolicy,
    LayerEdges,
    plan,
)
from hipgraph_cb.recording.stages import MemoryAccess, Stage


def record(shape):
    """F fills, B puts a barrier."""
    buffer = FakeBuffer(64)
    with CommandBuffer() as cb:
        for letter in shape:
            cb.execution_barrier() if letter == "B" else cb.fill_buffer(buffer, 0)
    return cb.recording


@pytest.mark.parametrize(
    ("shape", "layers"),
    [
        ("", ()),
        ("B", ()),
        ("BBB", ()),
        ("F", ((0,),)),
        ("BF", ((0,),)),
        ("FB", ((0,),)),
        ("FF", ((0, 1),)),
        ("FBF", ((0,), (1,))),
        ("FBBBF", ((0,), (1,))),
        ("BBFFBFBBFFFB", ((0, 1), (2,), (3, 4, 5))),
    ],
)
def test_leading_doubled_and_trailing_barriers_cost_nothing_and_lose_no_order(shape, layers):
    assert record(shape).layers == layers


def test_a_barrier_before_a_command_that_records_nothing_still_orders_the_next():
    buffer = FakeBuffer(64)
    with CommandBuffer() as cb:
        cb.fill_buffer(buffer, 0)
        cb.execution_barrier()
        cb.fill_buffer(buffer, 0, length=0)
        cb.fill_buffer(buffer, 1)
    assert cb.recording.layers == ((0,), (1,))


def test_there_is_no_limit_on_commands_between_barriers():
    recording = record("F" * 5000 + "B" + "F")
    assert [len(layer) for layer in recording.layers] == [5000, 1]


def test_every_command_depends_on_every_command_of_the_layer_before():
    assert list(record("FFBFBFF").edges) == [(0, 2), (1, 2), (2, 3), (2, 4)]


def test_edges_are_counted_and_indexed_without_being_made():
    edges = LayerEdges([range(10_000), range(10_000, 20_000)])
    assert len(edges) == 100_000_000
    assert edges[0] == (0, 10_000)
    assert edges[10_001] == (1, 10_001)
    assert edges[-1] == (9_999, 19_999)
    assert edges[1:3] == ((1, 10_000), (2, 10_000))
    with pytest.raises(IndexError, match="edge 100000000 of 100000000"):
        edges[100_000_000]
    with pytest.raises(IndexError):
        edges[-100_000_001]


def test_edges_by_index_are_those_of_the_iteration():
    edges = LayerEdges([(0, 1, 2), (3,), (4, 5), (6, 7)])
    assert [edges[index] for index in range(len(edges))] == list(edges)


def test_one_command_since_the_barrier_is_the_barrier_whatever_the_policy():
    for policy in JoinPolicy:
        assert list(plan([(0,), (1, 2)], policy)) == [CommandNode(0, ()), CommandNode(1, (0,)), CommandNode(2, (0,))]


def test_edges_join_every_command_with_every_one():
    assert list(plan([(0, 1), (2, 3)], JoinPolicy.EDGES)) == [
        CommandNode(0, ()),
        CommandNode(1, ()),
        CommandNode(2, (0, 1)),
        CommandNode(3, (0, 1)),
    ]


@pytest.mark.parametrize("policy", [JoinPolicy.EMPTY, JoinPolicy.KERNEL])
def test_one_node_joins_two_layers(policy):
    assert list(plan([(0, 1), (2, 3), (4,)], policy)) == [
        CommandNode(0, ()),
        CommandNode(1, ()),
        JoinNode((0, 1), policy),
        CommandNode(2, (2,)),
        CommandNode(3, (2,)),
        JoinNode((3, 4), policy),
        CommandNode(4, (5,)),
    ]


@pytest.mark.parametrize(
    ("auto", "within", "beyond", "kind"),
    [
        (AUTO_ON_AMD, [(4, 4), (16, 1)], [(4, 5), (17, 1)], JoinPolicy.EMPTY),
        (AUTO_ELSEWHERE, [(8, 8), (64, 1)], [(8, 9), (65, 1)], JoinPolicy.KERNEL),
    ],
)
def test_auto_draws_edges_up_to_a_limit_of_fan_in_times_fan_out(auto, within, beyond, kind):
    for widths, kinds in ((within, []), (beyond, [kind])):
        for first, second in widths:
            nodes = list(plan([range(first), range(first, first + second)], JoinPolicy.AUTO, auto=auto))
            assert [node.kind for node in nodes if isinstance(node, JoinNode)] == kinds


def test_the_commands_of_a_layer_share_their_dependencies():
    nodes = list(plan([(0, 1), (2, 3)], JoinPolicy.EDGES))
    assert nodes[2].dependencies is nodes[3].dependencies


def reachable(nodes):
    """Per command, the commands it waits for, directly or not."""
    before = []
    for node in nodes:
        mine = set()
        for dependency in node.dependencies:
            mine |= before[dependency] | (
                {nodes[dependency].command} if isinstance(nodes[dependency], CommandNode) else set()
            )
        before.append(mine)
    return {node.command: before[position] for position, node in enumerate(nodes) if isinstance(node, CommandNode)}


@pytest.mark.parametrize("policy", list(JoinPolicy))
def test_under_every_policy_a_command_waits_for_everything_before_its_barrier_and_for_nothing_else(policy):
    sizes = [1, 3, 1, 1, 9, 9, 2, 30, 1, 5]
    layers, first = [], 0
    for size in sizes:
        layers.append(tuple(range(first, first + size)))
        first += size
    waits = reachable(list(plan(layers, policy)))
    for layer in layers:
        for command in layer:
            assert waits[command] == set(range(layer[0]))


def test_masks_are_checked_and_change_nothing(x, y):
    def record(**masks):
        with CommandBuffer() as cb:
            cb.fill_buffer(x, 0)
            cb.execution_barrier(**masks)
            cb.copy_buffer(x, y)
        return cb.recording

    said = record(
        source_stages=Stage.TRANSFER,
        target_stages=Stage.TRANSFER | Stage.DISPATCH,
        source_access=MemoryAccess.TRANSFER_WRITE,
        target_access=MemoryAccess.TRANSFER_READ,
    )
    assert said == record()
    with pytest.raises(InvalidArgumentError) as caught:
        record(source_stages="all")
    assert str(caught.value) == "source_stages is no mask\n  found: 'all' (str)\n  allowed: values of Stage"
    with pytest.raises(InvalidArgumentError, match="target_access is no mask"):
        record(target_access=Stage.HOST)
    with pytest.raises(OutOfRangeError) as caught:
        record(target_stages=64)
    assert str(caught.value) == "target_stages has unknown bits\n  found: 0x40\n  allowed: bits of 0x3f"

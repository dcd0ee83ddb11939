"""From dependencies of the commands' own to nodes: joins where several wait for the same several."""

import random

import pytest
from support.fakes import FakeBuffer, FakeEvent

from hipgraph_cb.recording.command_buffer import CommandBuffer
from hipgraph_cb.recording.dependencies import AUTO_ELSEWHERE, CommandNode, JoinNode, JoinPolicy, plan_dependencies

FIRST, SECOND = (0, 1), (2, 3)
SHARED = ((), (), FIRST, FIRST, SECOND, SECOND, (4,), (0, 5))


def test_commands_that_share_their_dependencies_get_one_join():
    assert list(plan_dependencies(SHARED, JoinPolicy.EMPTY)) == [
        CommandNode(0, ()),
        CommandNode(1, ()),
        JoinNode((0, 1), JoinPolicy.EMPTY),
        CommandNode(2, (2,)),
        CommandNode(3, (2,)),
        JoinNode((3, 4), JoinPolicy.EMPTY),
        CommandNode(4, (5,)),
        CommandNode(5, (5,)),
        CommandNode(6, (6,)),
        CommandNode(7, (0, 7)),
    ]


def test_edges_need_no_joins_and_auto_takes_them_up_to_its_limit():
    plain = [CommandNode(index, waits) for index, waits in enumerate(SHARED)]
    assert list(plan_dependencies(SHARED, JoinPolicy.EDGES)) == plain
    assert list(plan_dependencies(SHARED, JoinPolicy.AUTO)) == plain
    wide = tuple(range(9))
    kinds = [type(node) for node in plan_dependencies(((),) * 9 + (wide,) * 8, JoinPolicy.AUTO)]
    assert kinds == [CommandNode] * 9 + [JoinNode] + [CommandNode] * 8
    (join,) = [
        node for node in plan_dependencies(((),) * 9 + (wide,) * 8, auto=AUTO_ELSEWHERE) if isinstance(node, JoinNode)
    ]
    assert join == JoinNode(wide, JoinPolicy.KERNEL)


def test_commands_may_be_counted_from_any_number():
    assert list(plan_dependencies(((), (0,)), first=40)) == [CommandNode(40, ()), CommandNode(41, (0,))]


def test_a_barrier_in_a_recording_with_events_is_joined_as_the_policy_says():
    x, event = FakeBuffer(64), FakeEvent()
    with CommandBuffer() as cb:
        for _ in range(2):
            for index in range(3):
                cb.fill_buffer(x, 0, offset=4 * index, length=4)
            cb.execution_barrier()
        cb.signal_event(event)
    plans = [list(cb.recording.plan(policy)) for policy in (JoinPolicy.KERNEL, JoinPolicy.EDGES)]
    assert [sum(isinstance(node, JoinNode) for node in plan) for plan in plans] == [1, 0]


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("policy", [JoinPolicy.EMPTY, JoinPolicy.EDGES])
def test_what_a_command_waits_for_is_the_same_with_and_without_joins(seed, policy):
    numbers = random.Random(seed)
    pool, dependencies = [()], []
    for command in range(30):
        pool.append(tuple(sorted(numbers.sample(range(command), min(command, numbers.randrange(4))))))
        dependencies.append(numbers.choice(pool[-3:]) if command else ())
    nodes = list(plan_dependencies(tuple(dependencies), policy))
    reached, of_command = [], {}
    for node in nodes:
        direct = set()
        for wait in node.dependencies:
            direct |= {nodes[wait].command} if isinstance(nodes[wait], CommandNode) else reached[wait]
        reached.append(direct)
        if isinstance(node, CommandNode):
            of_command[node.command] = direct
    assert of_command == {command: set(waits) for command, waits in enumerate(dependencies)}

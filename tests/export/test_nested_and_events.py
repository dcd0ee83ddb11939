"""Events, indirect dispatches and nested recordings in all exports: shown inline, with true edges."""

import json
import re

import pydot
from support.recordings import nesting

EDGES = [
    ("c0", "c1"),
    ("c1", "c3"),
    ("c1", "c5"),
    ("c2", "c2_c0"),
    ("c2", "c2_c1"),
    ("c2_c0", "c2_c2"),
    ("c2_c1", "c2_c2"),
    ("c2_c2", "c2_end"),
    ("c2_end", "c6"),
    ("c3", "c4"),
    ("c3", "c5"),
    ("c4", "c6"),
]
"""Command 2 runs the nested recording; what waits for it waits for its end."""


def test_a_nested_recording_is_a_box_between_its_command_and_its_end():
    (graph,) = pydot.graph_from_dot_data(nesting().to_dot())
    (box,) = [each for each in graph.get_subgraphs() if each.get_name() == "cluster_c2"]
    assert box.get_label() == '"inner"'
    assert sorted(node.get_name() for node in box.get_nodes()) == ["c2_c0", "c2_c1", "c2_c2", "c2_end"]
    (group,) = box.get_subgraphs()
    assert (group.get_label(), [node.get_name() for node in group.get_nodes()]) == ('"tail"', ["c2_c1"])
    assert sorted((edge.get_source(), edge.get_destination()) for edge in graph.get_edges()) == EDGES


def test_each_kind_of_command_says_what_it_works_on():
    lines = nesting().to_dot().splitlines()
    for line in (
        '  c1 [label="1 signal_event\\lcounts are there\\l`ready`\\l", fillcolor="#eeeeee"];',
        '  c2 [label="2 execute_commands\\l`inner`\\lslot 0 = `x`[0:64]\\l", fillcolor="#eeeeee"];',
        '  c3 [label="3 wait_events\\l`ready`\\l", fillcolor="#eeeeee"];',
        '  c4 [label="4 dispatch_indirect saxpy\\las many workgroups of 64 x 1 x 1 as `counts`[0:12] says\\l'
        'y: float* = `y`[0:64]\\lx: float* = `x`[0:64]\\la: float = 2.5\\ln: uint = 7\\l", fillcolor="#ffffff"];',
        '  c5 [label="5 reset_event\\l`ready`\\l", fillcolor="#eeeeee"];',
    ):
        assert line in lines


def test_mermaid_draws_the_same_graph():
    text = nesting().to_mermaid()
    assert sorted(re.findall(r"(\w+) --> (\w+)", text)) == EDGES
    inside = text[text.index('  subgraph c2_nested["inner"]') :]
    assert inside.index("  c2_c2[") < inside.index('  subgraph c2_g0["tail"]') < inside.index("\n  end\n  end\n")


def test_json_holds_nested_recordings_whole():
    read = json.loads(nesting().to_json())
    assert read["events"] == [{"id": 1, "label": "ready", "device": 0}]
    (nested,) = read["recordings"]
    assert (nested["id"], nested["label"]) == (3, "inner")
    assert [command["kind"] for command in nested["recording"]["commands"]] == ["fill", "fill", "copy"]
    assert [command["kind"] for command in read["commands"]] == [
        "update",
        "signal_event",
        "execute_commands",
        "wait_events",
        "dispatch_indirect",
        "reset_event",
        "fill",
    ]
    assert read["commands"][2]["bindings"] == [{"buffer": 4, "offset": 0, "length": 64}]
    assert read["commands"][3]["events"] == [1]
    assert read["commands"][4]["workgroup_count"] == {"buffer": 0, "offset": 0, "length": 12}
    assert read["dependencies"] == [[], [0], [], [1], [3], [1, 3], [2, 4]]

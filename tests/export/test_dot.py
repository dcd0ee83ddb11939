"""The Graphviz export: stable names, true edges, and labels that nothing can break out of."""

import subprocess

import pydot
import pytest
from support.child import HANGING
from support.fakes import FakeBuffer
from support.recordings import grouped, hostile, nesting, step
from support.tools import require_tool

from hipgraph_cb.recording.command_buffer import CommandBuffer
from hipgraph_cb.recording.dependencies import JoinPolicy


def test_the_whole_text_of_a_small_recording():
    assert step().to_dot() == (
        'digraph "step" {\n'
        "  rankdir=TB;\n"
        '  node [shape=box, style=filled, fontname="monospace"];\n'
        '  c0 [label="0 fill\\lclear\\l`y`[0:64]\\lpattern 00 00 00 00\\l", fillcolor="#e8f0d8"];\n'
        '  c1 [label="1 update\\l`x`[4:24]\\ldata 00 01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f ... (20 bytes)\\l", '
        'fillcolor="#d8e8f0"];\n'
        '  c2 [label="2 dispatch saxpy\\l4 x 2 x 1 workgroups of 64 x 1 x 1\\l32 bytes of dynamic LDS\\l'
        'y: float* = `y`[0:64]\\lx: float* = slot 1[16:]\\la: float = 2.5\\ln: uint = 7\\l", fillcolor="#ffffff"];\n'
        '  c3 [label="3 copy\\lfrom `y`[0:64]\\lto buffer 3[0:64]\\l", fillcolor="#f0e8d8"];\n'
        "  { rank=same; c0; c1; }\n"
        "  { rank=same; c2; }\n"
        "  { rank=same; c3; }\n"
        "  c0 -> c2;\n"
        "  c1 -> c2;\n"
        "  c2 -> c3;\n"
        "}\n"
    )


def edges(recording, join):
    (graph,) = pydot.graph_from_dot_data(recording.to_dot(join=join))
    return sorted((edge.get_source(), edge.get_destination()) for edge in graph.get_edges())


@pytest.mark.parametrize("join", [JoinPolicy.EMPTY, JoinPolicy.KERNEL])
def test_joins_are_shown_where_the_policy_makes_them(join):
    assert edges(step(), join) == [("c0", "j0"), ("c1", "j0"), ("c2", "c3"), ("j0", "c2")]
    assert f'j0 [label="join ({join.value})", shape=ellipse];' in step().to_dot(join=join)


def test_a_graphviz_reader_sees_the_edges_of_the_recording():
    recording = step()
    assert edges(recording, JoinPolicy.EDGES) == [(f"c{source}", f"c{target}") for source, target in recording.edges]


def test_hostile_names_stay_text():
    text = hostile().to_dot()
    text.encode("utf-8")
    (graph,) = pydot.graph_from_dot_data(text)
    (cluster,) = graph.get_subgraphs()[:1]
    assert sorted(node.get_name() for node in graph.get_nodes()) == ["c0", "c1", "node"]
    assert len(graph.get_edges()) == 1
    escaped = 'a\\"b\\\\N{c|d}<e>\\\\n&amp;lt;é\\\\u2028\\\\ud800;]//%%{init}$$x$$`#35;'
    assert graph.get_name() == f'"{escaped}"'
    assert cluster.get_label() == f'"{escaped}"'
    (fill,) = graph.get_node("c0")
    assert fill.get_label() == f'"0 fill\\l{escaped}\\l`{escaped}`[0:64]\\lpattern 00 00 00 00\\l"'
    (dispatch,) = graph.get_node("c1")
    assert f"1 dispatch {escaped}\\l" in dispatch.get_label()
    assert "x: float* = null\\l" in dispatch.get_label()


def tree(graph):
    return {
        each.get_label().strip('"'): (sorted(node.get_name() for node in each.get_nodes()), tree(each))
        for each in graph.get_subgraphs()
        if each.get_label()
    }


def test_debug_groups_are_boxes_in_boxes():
    (graph,) = pydot.graph_from_dot_data(grouped().to_dot())
    assert tree(graph) == {
        "outer": (["c1", "c2", "c3"], {"first": (["c2"], {}), "second": (["c3"], {})}),
        "tail": (["c4"], {}),
    }
    assert graph.get("newrank") == "true"


def test_an_empty_recording_is_a_graph_too():
    with CommandBuffer() as cb:
        pass
    (graph,) = pydot.graph_from_dot_data(cb.recording.to_dot())
    assert graph.get_edges() == []


def test_a_missing_barrier_is_a_red_line_and_an_inferred_edge_is_dashed():
    x = FakeBuffer(64, "x")
    texts = []
    for dependencies in ("barriers", "inferred"):
        with CommandBuffer(dependencies=dependencies) as cb:
            cb.fill_buffer(x, 0)
            cb.fill_buffer(x, 1)
        (graph,) = pydot.graph_from_dot_data(cb.recording.to_dot())
        texts.append([(edge.get_dir(), edge.get_color(), edge.get_style()) for edge in graph.get_edges()])
    assert texts == [[("none", '"#cf222e"', None)], [(None, '"#8250df"', "dashed")]]


@pytest.mark.parametrize("make", [step, grouped, hostile, nesting])
def test_graphviz_draws_it(make):
    require_tool("dot", "graphviz")
    drawn = subprocess.run(
        ["dot", "-Tsvg"], input=make().to_dot(), capture_output=True, text=True, timeout=HANGING, check=True
    )
    assert drawn.stdout.count('class="node"') >= len(make())
    assert drawn.stderr == ""

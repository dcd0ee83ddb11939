"""Whatever was recorded, the drawings are sound to readers that are not ours, and name the same nodes."""

import json
import re

import pydot
import pytest
from support.captures import conformance
from support.random_recording import EVERYTHING, NoDevice, Writer

SEEDS = [*range(10), *[pytest.param(seed, marks=pytest.mark.long) for seed in range(10, 100)]]


def nodes_of(graph):
    """The names of all nodes, those in clusters too."""
    found = {node.get_name() for node in graph.get_nodes()}
    for cluster in graph.get_subgraphs():
        found |= nodes_of(cluster)
    return {name for name in found if re.fullmatch(r"c\d+", name)}


@pytest.mark.parametrize("seed", SEEDS)
def test_dot_mermaid_json_and_html_have_a_node_for_every_command(seed):
    recording = Writer(seed, NoDevice, conformance(), (*EVERYTHING, "call", "collective")).recording()
    wanted = {f"c{index}" for index in range(len(recording))}
    (graph,) = pydot.graph_from_dot_data(recording.to_dot())
    assert nodes_of(graph) == wanted
    assert {f"c{index}" for index in range(len(json.loads(recording.to_json())["commands"]))} == wanted
    mermaid = recording.to_mermaid()
    assert all(re.search(rf"\b{name}\b", mermaid) for name in wanted)
    page = recording.to_html()
    assert all(f'"{name}"' in page for name in wanted)

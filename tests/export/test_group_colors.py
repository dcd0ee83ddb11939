"""The colour and the place in a source that debug groups say, in every format."""

from __future__ import annotations

import json

import pydot
import pytest
from support.captures import pack, parts, read
from support.fakes import FakeBuffer

from hipgraph_cb import Recording
from hipgraph_cb.errors import InvalidArgumentError
from hipgraph_cb.recording.command_buffer import CommandBuffer


@pytest.fixture
def recording():
    buffer = FakeBuffer(16)
    with CommandBuffer(label="step") as cb:
        with cb.debug_group("attention", color="#1f77b4", location="layers.py:12"):
            cb.fill_buffer(buffer, 0)
        with cb.debug_group("mlp"):
            cb.fill_buffer(buffer, 1)
    return cb.recording


def test_drawings_have_the_colour(recording):
    (graph,) = pydot.graph_from_dot_data(recording.to_dot())
    groups = {each.get("label"): each for each in graph.get_subgraphs()}
    first, second = groups['"attention"'], groups['"mlp"']
    assert (first.get("color"), first.get("tooltip")) == ('"#1f77b4"', '"layers.py:12"')
    assert (second.get("color"), second.get("tooltip")) == (None, None)
    assert "  style g0 stroke:#1f77b4" in recording.to_mermaid().splitlines()
    assert '"color": "#1f77b4"' in recording.to_html() or '"color":"#1f77b4"' in recording.to_html()


def test_json_and_captures_keep_it_and_say_nothing_where_there_is_nothing(recording, tmp_path):
    rows = json.loads(recording.to_json())["groups"]
    assert rows == [
        {"label": "attention", "start": 0, "stop": 1, "depth": 0, "color": "#1f77b4", "location": "layers.py:12"},
        {"label": "mlp", "start": 1, "stop": 2, "depth": 0},
    ]
    recording.save(tmp_path / "step.hgcb")
    assert Recording.load(tmp_path / "step.hgcb").groups == recording.groups


def test_a_file_with_another_colour_is_refused(recording, tmp_path):
    recording.save(tmp_path / "step.hgcb")
    document, blobs = parts((tmp_path / "step.hgcb").read_bytes())
    document["groups"][0]["color"] = "#1f77bz"
    with pytest.raises(InvalidArgumentError, match="the colour of a debug group is none"):
        read(pack(document, blobs))

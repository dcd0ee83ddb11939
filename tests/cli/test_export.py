"""`hipgraph-cb export`: every drawing of a capture file, and the trace of a replay."""

import json

import numpy as np
import pydot
import pytest

from hipgraph_cb import open_device
from hipgraph_cb.cli import main
from hipgraph_cb.recording.formats import text_formats


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("export") / "step.hgcb"
    with open_device() as device:
        x, y = device.from_host(np.arange(16, dtype=np.float32), label="x"), device.allocate(64, label="y")
        with device.command_buffer(label="step") as cb:
            cb.fill_buffer(y, 0)
            cb.execution_barrier()
            cb.copy_buffer(x, y)
        cb.recording.save(path, contents={"x": x.to_host()})
    return path


def export(file, tmp_path, *words):
    out = tmp_path / "out"
    assert main(["export", str(file), "-o", str(out), *words]) == 0
    return out.read_text(encoding="utf-8")


def test_dot_parses_and_has_the_nodes_of_the_recording(file, tmp_path):
    (graph,) = pydot.graph_from_dot_data(export(file, tmp_path, "--format", "dot"))
    assert {node.get_name() for node in graph.get_nodes()} >= {"c0", "c1"}
    assert [(edge.get_source(), edge.get_destination()) for edge in graph.get_edges()] == [("c0", "c1")]


def test_mermaid_json_html_and_perfetto(file, tmp_path):
    assert "c0 --> c1" in export(file, tmp_path, "--format", "mermaid")
    assert len(json.loads(export(file, tmp_path, "--format", "json"))["commands"]) == 2
    assert export(file, tmp_path, "--format", "html").startswith("<!DOCTYPE html>")
    events = json.loads(export(file, tmp_path, "--format", "perfetto"))["traceEvents"]
    assert [event["args"]["node"] for event in events if event.get("cat") == "command"] == ["c0", "c1"]


def test_a_page_with_times_differs_from_one_without(file, tmp_path):
    plain = export(file, tmp_path, "--format", "html")
    assert export(file, tmp_path, "--format", "html", "--times", "--repeats", "1") != plain


@pytest.mark.parametrize("form", [each.name for each in text_formats() if not each.of_profile])
def test_drawings_go_to_standard_output_and_need_no_device(file, form, capsys, monkeypatch):
    monkeypatch.setattr("hipgraph_cb.opening.open_device", None)
    assert main(["export", str(file), "--format", form]) == 0
    assert len(capsys.readouterr().out) > 100


def test_the_output_file_is_named(file, tmp_path, capsys):
    out = tmp_path / "step.dot"
    assert main(["export", str(file), "--format", "dot", "-o", str(out), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["size"] == len(out.read_text())


def test_an_output_that_cannot_be_written_is_status_2(file, tmp_path, capsys):
    assert main(["export", str(file), "--format", "dot", "-o", str(tmp_path / "no" / "where")]) == 2
    assert "No such file or directory" in capsys.readouterr().err


def test_the_drawing_of_the_runtime_is_beside_ours(file, tmp_path, capsys):
    theirs = tmp_path / "runtime.dot"
    (ours,) = pydot.graph_from_dot_data(export(file, tmp_path, "--format", "dot", "--runtime-dot", str(theirs)))
    (graph,) = pydot.graph_from_dot_data(theirs.read_text())
    nodes = [node for part in (graph, *graph.get_subgraphs()) for node in part.get_nodes() if node.get("label")]
    assert len(nodes) == 2
    edges = [edge for part in (graph, *graph.get_subgraphs()) for edge in part.get_edges()]
    assert len(edges) == len(ours.get_edges()) == 1
    assert main(["export", str(file), "--format", "dot", "--runtime-dot", str(theirs), "--backend", "hsa"]) == 2
    assert "this backend has no graphs of the runtime" in capsys.readouterr().err

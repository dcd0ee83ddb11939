"""The HTML view: one file, a layout that is computed here, and a page that answers a click."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pydot
import pytest
from support.browser import document_of, text_of
from support.fakes import FakeBuffer, saxpy
from support.recordings import HOSTILE, grouped, hostile, nesting, step

from hipgraph_cb.export.html import as_object
from hipgraph_cb.export.layout import GAP, MOST_COLUMNS, NODE_HEIGHT, NODE_WIDTH, place_nodes
from hipgraph_cb.recording.command_buffer import CommandBuffer
from hipgraph_cb.recording.dependencies import JoinPolicy

CLICK = """
const [x, y] = window.viewer.screenPosition("c2");
const canvas = document.getElementById("drawing"), box = canvas.getBoundingClientRect();
for (const name of ["pointerdown", "pointerup"]) {
  canvas.dispatchEvent(new PointerEvent(name, { clientX: box.left + x, clientY: box.top + y, bubbles: true }));
}
"""
SEARCH = """
const search = document.getElementById("search");
search.value = "saxpy 64";
search.dispatchEvent(new Event("input"));
search.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter" }));
"""


@pytest.fixture
def page(tmp_path: Path) -> Path:
    file = tmp_path / "step.html"
    file.write_text(step().to_html(), encoding="utf-8")
    return file


def test_a_click_on_a_node_shows_its_details(page: Path) -> None:
    details = text_of(document_of(page, then=CLICK), "details").splitlines()
    assert details == [
        "2 dispatch saxpy",
        "4 x 2 x 1 workgroups of 64 x 1 x 1",
        "32 bytes of dynamic LDS",
        "y: float* = `y`[0:64]",
        "x: float* = slot 1[16:]",
        "a: float = 2.5",
        "n: uint = 7",
        "layer 1, node c2",
        "waits for (2)",
        "0 fill",
        "1 update",
        "waited for by (1)",
        "3 copy",
    ]


def test_before_a_click_the_page_says_what_it_shows(page: Path) -> None:
    document = document_of(page)
    assert text_of(document, "title") == "step\n"
    assert text_of(document, "summary") == "4 commands, 3 layers\n"
    assert text_of(document, "details") == "Click a node for its details.\n"


def test_an_address_with_a_node_opens_at_that_node(page: Path) -> None:
    assert text_of(document_of(page, fragment="#c3"), "details").startswith(
        "3 copy\nfrom `y`[0:64]\nto buffer 3[0:64]\n"
    )


def test_the_search_finds_every_word_and_enter_goes_to_the_first(page: Path) -> None:
    document = document_of(page, then=SEARCH)
    assert text_of(document, "matches") == "1 of 1\n"
    assert text_of(document, "details").startswith("2 dispatch saxpy\n")


def test_hostile_names_stay_text(tmp_path: Path) -> None:
    file = tmp_path / "hostile.html"
    file.write_text(hostile().to_html(), encoding="utf-8")
    document = document_of(file, fragment="#c0")
    shown = HOSTILE.replace("\n", "\\n").replace("\u2028", "\\u2028").replace("\ud800", "\\ud800")
    assert text_of(document, "title") == shown + "\n"
    assert text_of(document, "details").splitlines()[:3] == ["0 fill", shown, f"`{shown}`[0:64]"]


class Elements(HTMLParser):
    """Every tag with its attributes, and what the elements with an id hold."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.held: dict[str, str] = {}
        self.inside = ""

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.inside = dict(attrs).get("id") or ""

    def handle_data(self, data):
        self.held[self.inside] = self.held.get(self.inside, "") + data


def test_the_page_needs_no_other_file_and_no_network() -> None:
    text = hostile().to_html()
    elements = Elements()
    elements.feed(text)
    assert not {name for _, attributes in elements.tags for name in attributes} & {"src", "href", "srcset", "action"}
    assert not re.search(r"https?:|@import|url\(|fetch\(|XMLHttpRequest", text)
    assert json.loads(elements.held["recording"])["title"].startswith('a"b\\N{c|d}<e>\\n')


def test_the_page_holds_the_edges_of_the_recording() -> None:
    recording = step()
    picture = as_object(recording, join=JoinPolicy.EDGES)
    names = [node["id"] for node in picture["nodes"]]
    edges = sorted((names[source], names[target], kind) for source, target, kind in picture["edges"])
    assert edges == [(f"c{source}", f"c{target}", "barrier") for source, target in recording.edges]


def test_a_join_stands_between_the_layers_it_joins() -> None:
    picture = as_object(step(), join=JoinPolicy.EMPTY)
    tops = {node["id"]: node["y"] for node in picture["nodes"]}
    assert tops["c0"] == tops["c1"] < tops["j0"] < tops["c2"] < tops["c3"]


def test_inferred_edges_are_marked() -> None:
    buffer = FakeBuffer(64, "x")
    with CommandBuffer(dependencies="inferred") as cb:
        cb.fill_buffer(buffer, 0)
        cb.fill_buffer(buffer, 1)
    assert as_object(cb.recording)["edges"] == [(0, 1, "inferred")]


def test_a_nested_recording_stands_inline_and_its_edges_are_those_of_the_graphviz_export() -> None:
    recording = nesting()
    picture = as_object(recording)
    names = [node["id"] for node in picture["nodes"]]
    edges = sorted((names[source], names[target]) for source, target, _ in picture["edges"])
    (graph,) = pydot.graph_from_dot_data(recording.to_dot())
    drawn = [edge for edge in graph.get_edges() if edge.get_dir() is None]
    assert edges == sorted((edge.get_source(), edge.get_destination()) for edge in drawn)
    tops = {node["id"]: node["y"] for node in picture["nodes"]}
    assert tops["c2"] < tops["c2_c0"] < tops["c2_c2"] < tops["c2_end"] < tops["c6"]
    (first,) = [node for node in picture["nodes"] if node["id"] == "c2_c1"]
    assert (first["lines"][0], first["groups"], first["layer"]) == ("1 fill", ["tail"], 0)


def test_edges_of_events_are_marked() -> None:
    picture = as_object(nesting())
    names = [node["id"] for node in picture["nodes"]]
    kinds = {(names[source], names[target]): kind for source, target, kind in picture["edges"]}
    assert {pair for pair, kind in kinds.items() if kind == "event"} == {
        ("c0", "c1"),
        ("c1", "c3"),
        ("c3", "c4"),
        ("c1", "c5"),
        ("c3", "c5"),
    }
    assert kinds["c4", "c6"] == kinds["c2_c0", "c2_c2"] == "barrier"


def test_a_missing_barrier_is_reported_at_both_its_nodes_where_it_is_certain(tmp_path: Path) -> None:
    x, kernel = FakeBuffer(64, "x"), saxpy()
    with CommandBuffer() as cb:
        cb.fill_buffer(x, 0)
        cb.fill_buffer(x, 1)
        cb.execution_barrier()
        cb.dispatch(kernel, 1, 64, args=[x, None, 1.0, 1])
        cb.dispatch(kernel, 1, 64, args=[x, None, 1.0, 1])
    recording = cb.recording
    assert [row["nodes"] for row in as_object(recording)["hazards"]] == [["c0", "c1"]]
    file = tmp_path / "page.html"
    file.write_text(recording.to_html())
    assert "no barrier between them" in text_of(document_of(file, fragment="#c1"), "details")
    assert "no barrier between them" not in text_of(document_of(file, fragment="#c3"), "details")


def test_the_box_of_a_group_holds_its_commands_and_no_others() -> None:
    picture = as_object(grouped())
    for box, inside in zip(picture["groups"], [(1, 4), (2, 3), (3, 4), (4, 5)], strict=True):
        within = [
            node["id"]
            for node in picture["nodes"]
            if box["left"] <= node["x"] <= box["right"] - NODE_WIDTH
            and box["top"] <= node["y"] <= box["bottom"] - NODE_HEIGHT
        ]
        assert within == [f"c{index}" for index in range(*inside)]


@pytest.mark.parametrize("width", [1, 2, MOST_COLUMNS, MOST_COLUMNS + 1, 200])
def test_no_two_nodes_overlap_and_layers_stand_under_each_other(width: int) -> None:
    layers = [list(range(width)), list(range(width, 2 * width)), [2 * width]]
    waits = [[]] * width + [[index] for index in range(width)] + [list(range(width, 2 * width))]
    layout = place_nodes(layers, waits)
    rows: dict[int, list[int]] = {}
    for x, y in layout.places:
        assert 0 <= x <= layout.width - NODE_WIDTH
        assert 0 <= y <= layout.height - NODE_HEIGHT
        rows.setdefault(y, []).append(x)
    for row in rows.values():
        assert len(row) <= MOST_COLUMNS
        assert all(
            after - before >= NODE_WIDTH + GAP for before, after in zip(sorted(row), sorted(row)[1:], strict=False)
        )
    bottoms = [max(layout.places[node][1] for node in layer) + NODE_HEIGHT for layer in layers]
    tops = [min(layout.places[node][1] for node in layer) for layer in layers]
    assert all(bottom < top for bottom, top in zip(bottoms[:-1], tops[1:], strict=True))


def test_commands_stand_near_what_they_wait_for() -> None:
    layout = place_nodes([[0, 1], [2, 3]], [[], [], [1], [0]])
    assert layout.places[3][0] == layout.places[0][0]
    assert layout.places[2][0] == layout.places[1][0]


def test_no_commands_are_a_page_too() -> None:
    with CommandBuffer() as cb:
        pass
    picture = as_object(cb.recording)
    assert (picture["title"], picture["nodes"], picture["height"]) == ("recording", [], 0)


@pytest.mark.parametrize("label", ["{{data}}", "{{script}}", "{{style}}", "{{title}}", "{{absent}}", r"\1 \g<0>"])
def test_a_label_that_looks_like_a_place_of_the_page_stays_text(label) -> None:
    with CommandBuffer(label=label) as cb:
        cb.fill_buffer(FakeBuffer(64, label), 1, label=label)
    elements = Elements()
    elements.feed(cb.recording.to_html())
    data = json.loads(elements.held["recording"])
    assert data["title"] == label
    assert label in data["nodes"][0]["lines"]

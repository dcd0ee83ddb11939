"""Formats are found by name: the recording knows none, and a program adds its own."""

import sys

import pytest

from hipgraph_cb import Recording
from hipgraph_cb.errors import InvalidArgumentError, NotFoundError
from hipgraph_cb.recording import formats
from hipgraph_cb.recording.command_buffer import CommandBuffer


@pytest.fixture
def recording() -> Recording:
    with CommandBuffer(label="empty") as cb:
        pass
    return cb.recording


@pytest.fixture(autouse=True)
def _registry(monkeypatch):
    monkeypatch.setattr(formats, "_registered", {})
    monkeypatch.setattr(formats, "_packages", list(formats._packages))


def test_the_text_formats_are_those_of_the_export_package() -> None:
    assert [each.name for each in formats.text_formats()] == [
        "dot", "html", "json", "mermaid", "perfetto", "text", "timetable",
    ]  # fmt: skip


def test_a_registered_format_is_written_by_name(recording: Recording) -> None:
    def write(subject: Recording, *, ending: str = "") -> str:
        return f"{subject.label}{ending}"

    formats.register(formats.TextFormat("name_only", "the label", write))
    assert recording.export("name_only", ending="!") == "empty!"
    assert "name_only" in [each.name for each in formats.text_formats()]


def test_a_new_format_is_one_file_in_a_package(recording: Recording, tmp_path, monkeypatch) -> None:
    package = tmp_path / "drawings_of_mine"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "count.py").write_text(
        "from hipgraph_cb.recording.formats import TextFormat\n"
        "FORMAT = TextFormat('count', 'how many commands', lambda recording: str(len(recording)))\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    formats.add_package("drawings_of_mine")
    assert recording.export("count") == "0"
    assert "count" in [each.name for each in formats.text_formats()]
    sys.modules.pop("drawings_of_mine.count")


def test_an_unknown_format_is_refused_with_those_that_exist(recording: Recording) -> None:
    with pytest.raises(NotFoundError) as caught:
        recording.export("svg")
    assert str(caught.value) == (
        "no such format\n"
        "  found: 'svg'\n"
        "  allowed: 'dot', 'html', 'json', 'mermaid', 'perfetto', 'text', 'timetable'\n"
        "  next: register(TextFormat(...)) of hipgraph_cb.recording.formats adds one"
    )


def test_a_file_format_is_no_text_format(recording: Recording) -> None:
    with pytest.raises(NotFoundError):
        recording.export("hgcb")


def test_what_is_no_format_is_not_registered() -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        formats.register("dot")  # type: ignore[arg-type]
    assert str(caught.value) == ("register: not a format\n  found: str\n  allowed: a TextFormat or a FileFormat")

"""`hipgraph-cb doctor --functions`, and the page that shows the same list."""

import json
from pathlib import Path

import pytest

from hipgraph_cb.cli import main
from hipgraph_cb.virtual.hip.deviations import NOT_COPIED
from hipgraph_cb.virtual.hip.function_list import as_markdown, hip_python_functions

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "virtual_hip.md").read_text()


@pytest.fixture
def facts(capsys: pytest.CaptureFixture[str]) -> dict:
    assert main(["doctor", "--json", "--functions"]) == 0
    return json.loads(capsys.readouterr().out)


def test_each_function_of_hip_python_is_implemented_or_absent_for_a_reason(facts: dict) -> None:
    states = facts["functions"]
    assert set(hip_python_functions()) <= set(states)
    assert set(states.values()) == {"implemented", "beyond hip-python", *facts["absent because"]}
    assert states["hipGraphAddNode"] == "implemented"
    assert states["__hipRegisterFatBinary"] == "beyond hip-python"
    assert states["hipTexObjectCreate"] == "textures and surfaces"
    assert all(facts["absent because"].values())


def test_the_counts_are_those_of_the_list(facts: dict) -> None:
    states, counts = list(facts["functions"].values()), facts["counts"]
    assert counts["implemented"] == states.count("implemented") > 350
    assert counts["of hip-python"] == counts["implemented"] + counts["absent"] == len(hip_python_functions())


def test_the_list_is_printed_for_people_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--functions"]) == 0
    text = capsys.readouterr().out
    assert "\n  hipMalloc: implemented\n" in text
    assert "\n  hipMemPoolExportPointer: other processes' memory\n" in text


def test_the_page_shows_the_same_list() -> None:
    assert as_markdown() in PAGE, "docs/virtual_hip.md is old: replace its list by what `as_markdown()` gives"


def test_the_page_shows_what_is_not_copied() -> None:
    rows = [f"* **{what}**: {text}." for what, text in NOT_COPIED.items()]
    assert "\n".join(rows) in PAGE


def test_the_report_lists_what_is_not_copied(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["not copied from AMD's runtime"] == dict(NOT_COPIED)

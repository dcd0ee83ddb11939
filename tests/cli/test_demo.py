"""`hipgraph-cb demo` does the main job and says what it did."""

import json
from pathlib import Path

import pydot
import pytest

from hipgraph_cb.cli import main


def test_the_demo_replays_three_inputs_and_each_agrees_with_numpy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dot = tmp_path / "demo.dot"
    assert main(["demo", "--json", "--count", "1000", "--dot", str(dot)]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["agree"] is True
    assert [facts[f"replay {index}"]["agrees"] for index in range(3)] == [True, True, True]
    assert facts["device"]["virtual"] is True
    assert facts["verified"] == {"file": "demo.gfx942.hsaco", "target": "gfx942", "kernels": ["saxpy", "soft_sign"]}
    assert facts["kernel saxpy"] == "arg0: float*, arg1: float*, arg2: float, arg3: uint"
    # update -> saxpy -> soft_sign -> copy, a barrier between each
    assert facts["recorded"] == {"commands": 4, "layers": 4, "edges": 3}
    assert [Path(facts[key]).name for key in ("dot", "html", "capture")] == ["demo.dot", "demo.html", "demo.hgcb"]
    (graph,) = pydot.graph_from_dot_data(dot.read_text())
    assert len(graph.get_edges()) == 3


def test_the_text_names_every_step(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--count", "65", "--dot", str(tmp_path / "demo.dot")]) == 0
    text = capsys.readouterr().out
    assert "(virtual: kernels run on the CPU), backend hip" in text
    assert "verified   demo.gfx942.hsaco: target gfx942" in text
    assert "recorded   4 commands, 4 layers, 3 edges" in text
    assert text.endswith("every replay agrees with numpy\n")


def test_the_capture_file_replays_as_the_demo_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--count", "65", "--dot", str(tmp_path / "demo.dot")]) == 0
    hints = [line.split()[1:] for line in capsys.readouterr().out.splitlines() if "hipgraph-cb " in line]
    assert [words[0] for words in hints] == ["replay", "replay", "diff", "export"]
    assert main(hints[0]) == 0
    capture = hints[2][1]
    assert main([word.replace("ANOTHER.hgcb", capture) for word in hints[2]]) == 0
    assert main(hints[3]) == 0
    capsys.readouterr()


def test_the_demo_runs_on_the_other_backend(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--count", "65", "--backend", "hsa", "--dot", str(tmp_path / "demo.dot")]) == 0
    assert "backend hsa" in capsys.readouterr().out


def test_an_unwritable_drawing_is_status_2_without_a_traceback(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["demo", "--count", "65", "--dot", str(tmp_path / "missing" / "demo.dot")]) == 2
    assert capsys.readouterr().err.startswith("hipgraph-cb demo: save: the file cannot be written\n  found: ")


def test_an_ordinal_that_does_not_exist_is_status_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--device", "9"]) == 2
    assert capsys.readouterr().err.startswith("hipgraph-cb demo: open_device: no such device\n  found: device 9\n")


@pytest.mark.parametrize("count", ["0", "-5"])
def test_a_count_that_is_not_positive_is_a_usage_error(count: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as raised:
        main(["demo", "--count", count])
    assert raised.value.code == 2
    assert f"{count} is not a positive count" in capsys.readouterr().err

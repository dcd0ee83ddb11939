"""`hipgraph-cb bench joins` measures the four policies, and advises only where it can."""

import json

import pytest

from hipgraph_cb.cli import main
from hipgraph_cb.cli.bench import advice


def test_each_policy_is_measured_for_each_width(capsys):
    assert main(["bench", "joins", "--json", "--widths", "2,9", "--kernels", "18", "--repeats", "1"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert [(row["policy"], row["width"], row["layers"]) for row in facts["rows"]] == [
        (policy, width, layers) for width, layers in ((2, 9), (9, 2)) for policy in ("edges", "empty", "kernel", "auto")
    ]
    assert all(row["replay_us"] >= row["host_us"] > 0 for row in facts["rows"])
    assert facts["device"]["virtual"] is True
    assert facts["advice"]["set"] is None


def test_the_text_says_that_a_virtual_device_tells_nothing_about_a_gpu(capsys):
    assert main(["bench", "joins", "--widths", "2", "--kernels", "2", "--repeats", "1"]) == 0
    text = capsys.readouterr().out
    assert "a virtual device: the figures tell about this library on this CPU, not about a GPU" in text
    assert text.endswith("measure on a GPU before you set HIPGRAPH_CB_JOIN\n")


def rows(**means):
    return [
        {"policy": policy, "replay_us": time * factor} for policy, time in means.items() for factor in (0.5, 1.0, 2.0)
    ]


@pytest.mark.parametrize(
    ("means", "wanted"),
    [
        ({"edges": 100, "empty": 90, "kernel": 50, "auto": 90}, "kernel"),
        ({"edges": 100, "empty": 90, "kernel": 87, "auto": 90}, None),
        ({"edges": 100, "empty": 120, "kernel": 150, "auto": 80}, None),
    ],
)
def test_the_advice_is_the_best_by_geometric_mean_unless_auto_is_close(means, wanted):
    assert advice(rows(**means), False) == {"mean_us": means, "set": wanted}
    assert advice(rows(**means), True)["set"] is None


@pytest.mark.parametrize("words", [["--widths", "0"], ["--repeats", "0"], ["--kernels", "-1"]])
def test_counts_below_one_are_refused(words, capsys):
    assert main(["bench", "joins", *words]) == 2
    assert capsys.readouterr().err == (
        "hipgraph-cb bench: widths, kernels and repeats are counts\n  allowed: 1 or more\n"
    )

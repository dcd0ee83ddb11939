"""The Mermaid export: the same graph, in labels that nothing can break out of."""

import re

import pytest
from support.recordings import grouped, hostile, step

from hipgraph_cb.recording.dependencies import JoinPolicy


def test_the_whole_text_of_a_small_recording():
    assert step().to_mermaid() == (
        "flowchart TD\n"
        '  c0["0 fill<br/>clear<br/>#96;y#96;[0:64]<br/>pattern 00 00 00 00"]\n'
        '  c1["1 update<br/>#96;x#96;[4:24]<br/>'
        'data 00 01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f ... (20 bytes)"]\n'
        '  c2["2 dispatch saxpy<br/>4 x 2 x 1 workgroups of 64 x 1 x 1<br/>32 bytes of dynamic LDS<br/>'
        'y: float* = #96;y#96;[0:64]<br/>x: float* = slot 1[16:]<br/>a: float = 2.5<br/>n: uint = 7"]\n'
        '  c3["3 copy<br/>from #96;y#96;[0:64]<br/>to buffer 3[0:64]"]\n'
        "  c0 --> c2\n"
        "  c1 --> c2\n"
        "  c2 --> c3\n"
    )


@pytest.mark.parametrize("join", [JoinPolicy.EMPTY, JoinPolicy.KERNEL])
def test_joins_are_shown_where_the_policy_makes_them(join):
    lines = step().to_mermaid(join=join).splitlines()
    assert lines[5:] == [f'  j0(["join ({join.value})"])', "  c0 --> j0", "  c1 --> j0", "  j0 --> c2", "  c2 --> c3"]


def test_debug_groups_hold_the_commands_that_no_inner_group_holds():
    lines = grouped().to_mermaid().splitlines()
    assert lines[6:] == [
        '  subgraph g0["outer"]',
        "    c1",
        '  subgraph g1["first"]',
        "    c2",
        "  end",
        '  subgraph g2["second"]',
        "    c3",
        "  end",
        "  end",
        '  subgraph g3["tail"]',
        "    c4",
        "  end",
    ]


def test_hostile_names_stay_text():
    text = hostile().to_mermaid()
    text.encode("utf-8")
    escaped = "a#34;b#92;N{c|d}#60;e#62;#92;n#38;lt;é#92;u2028#92;ud800;]//#37;#37;{init}#36;#36;x#36;#36;#96;#35;35;"
    assert f'  c0["0 fill<br/>{escaped}<br/>#96;{escaped}#96;[0:64]<br/>pattern 00 00 00 00"]\n' in text
    for line in text.splitlines():
        assert re.fullmatch(r'flowchart TD|  end|    c\d|  (subgraph g\d|c\d)\["[^"`&%$]*"\]|  c0 --> c1', line)

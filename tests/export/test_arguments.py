"""How listings show an argument: as a number where its C type is known, else as its bits."""

import pytest
from support.fakes import VALUE, FakeLayout, FakeParameter, FakeVerifiedExport, executable

from hipgraph_cb.recording.command_buffer import CommandBuffer
from hipgraph_cb.recording.commands.dispatch import arguments


@pytest.mark.parametrize(
    ("type_name", "shown"),
    [
        ("uint", "7"),
        ("unsigned", "7"),
        ("int", "7"),
        ("half", "0x00000007"),
        ("point", "0x00000007"),
        (None, "0x00000007"),
    ],
)
def test_an_argument_is_a_number_where_its_type_is_known_and_has_its_size(type_name, shown):
    layout = FakeLayout((FakeParameter(0, "n", 0, 4, VALUE, type_name),), 4)
    with CommandBuffer() as cb:
        cb.dispatch(executable(FakeVerifiedExport("k", layout))["k"], 1, 64, args=[7])
    assert arguments(cb.recording, cb.recording.commands[0]) == [f"n: {type_name} = {shown}"]

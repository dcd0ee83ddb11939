"""What the command line says of itself."""

import pytest

from hipgraph_cb import __version__
from hipgraph_cb.cli import SUBCOMMANDS, main


def test_the_version_is_that_of_the_package(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert (ended.value.code, capsys.readouterr().out) == (0, f"hipgraph-cb {__version__}\n")


@pytest.mark.parametrize("name", SUBCOMMANDS)
def test_every_subcommand_explains_itself(capsys, name):
    with pytest.raises(SystemExit) as ended:
        main([name, "--help"])
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith(f"usage: hipgraph-cb {name} ")

"""The command line, one module for each subcommand.

Exit status: 0 good, 1 differs or does not load, 2 cannot. A user error is printed, never a traceback.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from collections.abc import Sequence

from hipgraph_cb.errors import HipGraphError

SUBCOMMANDS = ("doctor", "inspect", "demo")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one subcommand and return the exit status of the process."""
    options = build_parser().parse_args(arguments)
    try:
        status: int = options.run(options)
    except (HipGraphError, OSError) as error:
        if options.json:
            print(json.dumps({"error": type(error).__name__, "message": str(error)}))
        print(f"hipgraph-cb {options.subcommand}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"hipgraph-cb {options.subcommand}: interrupted", file=sys.stderr)
        return 2
    return status


def build_parser() -> argparse.ArgumentParser:
    """The parser of all subcommands; each module adds its own with `configure`."""
    parser = argparse.ArgumentParser(prog="hipgraph-cb", description="Record AMD GPU work, replay it, look at it.")
    subparsers = parser.add_subparsers(dest="subcommand", required=True, metavar="SUBCOMMAND")
    for name in SUBCOMMANDS:
        module = importlib.import_module(f"hipgraph_cb.cli.{name}")
        subparser = subparsers.add_parser(name, help=module.HELP, description=module.HELP)
        subparser.add_argument("--json", action="store_true", help="print one JSON document instead of text")
        module.configure(subparser)
        subparser.set_defaults(run=module.run)
    return parser

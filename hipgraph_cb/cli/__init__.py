"""The command line, one module for each subcommand.

Exit status: 0 good, 1 differs or does not load, 2 cannot. A user error is one message, never a traceback.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence

from hipgraph_cb.cli.output import Parser, abandon, complain, finish, prepare_streams, say_json
from hipgraph_cb.errors import HipGraphError
from hipgraph_cb.version import __version__

SUBCOMMANDS = {
    "run": "run any program with virtual AMD GPUs: run [options] -- PROGRAM ARGS...",
    "record": "make a capture file of what any program does on virtual AMD GPUs: record -o FILE -- PROGRAM ARGS...",
    "doctor": "report versions, the HIP library in use, devices and what the virtual device approximates",
    "compile": "build a code object from HIP C++, OpenCL C, plain C or assembly, with the machine's compiler",
    "inspect": "print target, kernels, arguments and resources of a code object, and what is wrong with it; or what a "
    "capture file holds",
    "bench": "measure which join between layers is best on this device, and print which to set",
    "demo": "record update -> dispatch -> dispatch -> copy, replay it for three inputs, check each against numpy",
    "replay": "replay a capture file, verify what it leaves, find the first command after which two replays differ",
    "export": "write a capture file as a DOT, Mermaid, JSON or HTML drawing, or as a Perfetto trace of a replay",
    "diff": "compare two capture files: commands, arguments, barriers, code; exit status 1 when they differ",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one subcommand and return the exit status of the process."""
    words = sys.argv[1:] if arguments is None else arguments
    prepare_streams()
    options = build_parser(next((word for word in words if word in SUBCOMMANDS), None)).parse_args(words)
    try:
        status: int = options.run(options)
        finish()
    except BrokenPipeError:
        abandon()  # the reader has closed the pipe
        return 2
    except HipGraphError as error:
        return _failed(options, error)
    except OSError as error:  # of the standard streams: those of files are FileError
        complain(f"hipgraph-cb {options.subcommand}: {error}")
        abandon()
        return 2
    except KeyboardInterrupt:
        complain(f"hipgraph-cb {options.subcommand}: interrupted")
        return 2
    return status


def _failed(options: argparse.Namespace, error: HipGraphError) -> int:
    complain(f"hipgraph-cb {options.subcommand}: {error}")
    if options.json:
        try:
            say_json({"error": type(error).__name__, "message": str(error)}, indent=None)
            finish()
        except OSError:
            abandon()
    return 2


def build_parser(chosen: str | None) -> argparse.ArgumentParser:
    """The parser. Only the module of the chosen subcommand is loaded, since some need numpy and some do not."""
    parser = Parser(prog="hipgraph-cb", description="Record AMD GPU work, replay it, look at it.")
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    subparsers = parser.add_subparsers(dest="subcommand", required=True, metavar="SUBCOMMAND")
    for name, purpose in SUBCOMMANDS.items():
        subparser = subparsers.add_parser(name, help=purpose, description=purpose)
        if name == chosen:
            module = importlib.import_module(f"hipgraph_cb.cli.{name}")
            subparser.add_argument("--json", action="store_true", help="print one JSON document instead of text")
            module.configure(subparser)
            subparser.set_defaults(run=module.run)
    return parser

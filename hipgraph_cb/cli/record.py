"""`hipgraph-cb record -o FILE -- PROGRAM ARGS...`: make a capture file of what any program does with HIP."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from hipgraph_cb.cli.output import complain
from hipgraph_cb.errors import HipGraphError, InvalidArgumentError
from hipgraph_cb.journal.stretch import Stretch
from hipgraph_cb.opening import VIRTUAL_VARIABLE
from hipgraph_cb.programs.process import end_as, held_signals, run_to_its_end

EXAMPLES = """examples:
  hipgraph-cb record -o step.hgcb -- ./saxpy 1024
  hipgraph-cb record -o step.hgcb --from 200 --count 14 -- python train.py
  hipgraph-cb record -o step.hgcb --range "step 3" -- python train.py

The program runs with virtual AMD GPUs. Its launches, copies, fills and graphs become one recording; replay it with
hipgraph-cb replay --verify. A process of the program beyond the first that uses a GPU gets a file of its own, with a
number in its name. The exit status is that of the program, or 1 where it cannot be recorded."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EXAMPLES
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.usage = "hipgraph-cb record -o FILE [options] -- PROGRAM [ARGS ...]"
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", required=True, help="the capture file")
    parser.add_argument(
        "--target", metavar="T[,T...]", help=f"the GPUs, by processor (default: {VIRTUAL_VARIABLE}, or gfx942)"
    )
    parser.add_argument("--seed", type=int, help="another order of independent work (default: 0)")
    parser.add_argument(
        "--from", dest="first", type=int, default=0, metavar="N", help="the first command that is recorded (default: 0)"
    )
    parser.add_argument("--count", type=int, metavar="N", help="how many commands are recorded (default: all)")
    parser.add_argument("--range", metavar="LABEL", help="only what is enqueued within the ranges of ROCTX named so")
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="PROGRAM", help="the program and its arguments")


def run(options: argparse.Namespace) -> int:
    command = options.command[1:] if options.command[:1] == ["--"] else options.command
    if not command:
        raise InvalidArgumentError("no program is named", next_step="hipgraph-cb record -o FILE -- PROGRAM ARGS...")
    if options.first < 0 or (options.count is not None and options.count < 1):
        raise InvalidArgumentError(
            "no such stretch of commands",
            found=f"--from {options.first}" + ("" if options.count is None else f" --count {options.count}"),
            allowed="--from 0 or more, and --count 1 or more",
        )
    with held_signals() as held, tempfile.TemporaryDirectory(prefix="hipgraph_cb-journal-") as folder:
        from hipgraph_cb.programs.run import RunOptions, prepared  # loads libraries that start threads

        stretch = Stretch(options.first, options.count, options.range)
        given = RunOptions(options.target, options.seed, journal=Path(folder), stretch=stretch)
        with prepared(given) as environment:
            targets = environment[VIRTUAL_VARIABLE].replace(",", ", ")
            complain(
                f"hipgraph-cb: no real GPU is used: kernels of {command[0]} run on the CPU, as virtual GPU {targets}, "
                "and are recorded"
            )
            status = run_to_its_end(command, environment, held)
        is_recorded = _save_all(sorted(Path(folder).iterdir()), options.output, Path(command[0]).name)
    ended = end_as(status)
    return ended if ended or is_recorded else 1


def _save_all(journals: list[Path], output: Path, label: str) -> bool:
    """Make a capture file of each journal that has commands; returns whether all of it worked."""
    from hipgraph_cb.journal.assembly import Assembly
    from hipgraph_cb.journal.notes import has_commands, read_journal

    used = [journal for journal in journals if has_commands(journal)]
    if not used:
        complain("hipgraph-cb record: the program has launched, copied and filled nothing in that stretch")
    is_recorded = bool(used)
    for number, journal in enumerate(used):
        file = output if number == 0 else output.with_name(f"{output.stem}-{number + 1}{output.suffix}")
        try:
            assembly = Assembly(read_journal(journal), label)
            assembly.save(file)
        except HipGraphError as error:
            complain(f"hipgraph-cb record: {error}")
            is_recorded = False
        else:
            count = len(assembly.recording)
            complain(f"hipgraph-cb: {file} has {count} command{'' if count == 1 else 's'} of {label}")
    return is_recorded

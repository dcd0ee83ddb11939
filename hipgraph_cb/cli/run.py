"""`hipgraph-cb run -- PROGRAM ARGS...`: run any program with virtual AMD GPUs."""

from __future__ import annotations

import argparse
from pathlib import Path

from hipgraph_cb.cli.output import complain
from hipgraph_cb.errors import InvalidArgumentError
from hipgraph_cb.opening import VIRTUAL_VARIABLE
from hipgraph_cb.programs.process import end_as, held_signals, run_to_its_end
from hipgraph_cb.virtual.settings import RANDOM, SCHEDULE_VARIABLE, SCHEDULES

EXAMPLES = """examples:
  hipgraph-cb run -- ./saxpy 1024
  hipgraph-cb run --target gfx942,gfx942 -- python train.py
  hipgraph-cb run --seed 7 -- pytest tests
  hipgraph-cb run --schedule random --seed 7 -- ./saxpy 1024
  hipgraph-cb run --trace steps.jsonl -- iree-run-module --device=hip --module=mlp.vmfb

The program and all that it starts find libamdhip64.so and libhsa-runtime64.so.1 of the virtual GPU. The exit status is
that of the program."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EXAMPLES
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.usage = "hipgraph-cb run [options] -- PROGRAM [ARGS ...]"
    parser.add_argument(
        "--target", metavar="T[,T...]", help=f"the GPUs, by processor (default: {VIRTUAL_VARIABLE}, or gfx942)"
    )
    parser.add_argument("--seed", type=int, help="another order of independent work (default: 0)")
    parser.add_argument(
        "--schedule",
        choices=tuple(SCHEDULES),
        help="the order of a kernel's waves; random, by the seed, finds missing barriers and waits (default: in-step)",
    )
    parser.add_argument("--trace", type=Path, metavar="FILE", help="append a line of JSON for each dispatch to FILE")
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="PROGRAM", help="the program and its arguments")


def run(options: argparse.Namespace) -> int:
    command = options.command[1:] if options.command[:1] == ["--"] else options.command
    if not command:
        raise InvalidArgumentError("no program is named", next_step="hipgraph-cb run -- PROGRAM ARGS...")
    with held_signals() as held:
        from hipgraph_cb.programs.run import RunOptions, prepared  # loads libraries that start threads

        with prepared(RunOptions(options.target, options.seed, options.trace, options.schedule)) as environment:
            targets = environment[VIRTUAL_VARIABLE].replace(",", ", ")
            order = ", waves in random order" if environment.get(SCHEDULE_VARIABLE) == RANDOM else ""
            complain(
                f"hipgraph-cb: no real GPU is used: kernels of {command[0]} run on the CPU, as virtual GPU {targets}"
                f"{order}"
            )
            status = run_to_its_end(command, environment, held)
    return end_as(status)

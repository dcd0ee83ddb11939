"""`hipgraph-cb compile FILE`: a kernel source to a code object, with the machine's compiler."""

from __future__ import annotations

import argparse
from pathlib import Path

from hipgraph_cb.cli.output import say, say_json
from hipgraph_cb.compiler.compile import compile
from hipgraph_cb.compiler.languages import LANGUAGES
from hipgraph_cb.files import write_file

EXAMPLES = """examples:
  hipgraph-cb compile saxpy.hip
  hipgraph-cb compile softmax.cl --target gfx1100 -o softmax.gfx1100.hsaco
  hipgraph-cb compile scan.hip --option=-DWIDTH=64 --option=-O3
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EXAMPLES
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("file", type=Path, help="HIP C++, OpenCL C, plain C or assembly")
    parser.add_argument("--target", default="gfx942", help="what to build for (default: gfx942)")
    parser.add_argument("--language", choices=sorted(LANGUAGES), help="where the suffix does not say it")
    parser.add_argument(
        "--option", action="append", default=[], help="a further option of the compiler; may be repeated"
    )
    parser.add_argument("--no-debug", action="store_true", help="leave the line numbers out")
    parser.add_argument(
        "-o", "--output", type=Path, help="where it goes (default: the file's name, with .TARGET.hsaco)"
    )


def run(options: argparse.Namespace) -> int:
    data = compile(
        options.file,
        target=options.target,
        language=options.language,
        options=options.option,
        debug=not options.no_debug,
    )
    output = options.output or Path(f"{options.file.stem}.{options.target.partition(':')[0]}.hsaco")
    write_file(output, [data], "compile")
    facts = {"file": str(options.file), "target": options.target, "output": str(output), "size": len(data)}
    say_json(facts, indent=None) if options.json else say(f"{output}: {options.target}, {len(data)} bytes")
    return 0

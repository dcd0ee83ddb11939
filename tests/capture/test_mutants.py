"""Files changed where it hurts: one family of errors, little memory, and what is read can be drawn and written.

A mutant is a file in the right form, checksums and hashes included, whose manifest or code differs from a good one.
"""

import copy
import hashlib
import random
import tracemalloc

import pytest
from support.captures import pack, parts, read, saved
from support.steps import in_few_steps

from hipgraph_cb import HipGraphError
from hipgraph_cb.capture.manifest import encode
from hipgraph_cb.export.text import to_text

NUMBERS = [0, 1, 2, 3, 4, 5, 255, 256, 1023, 1025, 4095, 65535, 65536, (1 << 24) - 2, 1 << 24, 1 << 31, (1 << 32) - 1]
NUMBERS += [1 << 32, 1 << 62, (1 << 63) - 1, 1 << 63, (1 << 64) - 1, 1 << 64, -1]
TEXTS = ["", "x", "</script>", "{{data}}", "\x1b[31m", "\ud800", "\0", "a" * 5000, "\u2028", "%%{init}%%", "ff" * 8]
OTHERS = [None, 0, 1, 0.5, True, "x", [], {}, [[0]]]
DRAWINGS = ("to_dot", "to_mermaid", "to_html", "to_json", "hazards", "__repr__", "__hash__")
FLOOR = 1 << 21  # bytes: the code objects are verified, whatever their manifest says


def places(value, path=()):
    """The paths of everything in a document."""
    keys = value.keys() if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield (*path, key)
        yield from places(value[key], (*path, key))


def at(document, path):
    for key in path:
        document = document[key]
    return document


def change(choose, document):
    """Change one value of a document for another of its kind, of another kind, or one from elsewhere in it."""
    paths = [path for path in places(document) if path[0] not in ("format", "version", "producer")]
    *outer, key = choose.choice(paths)
    holder = at(document, outer)
    value, way = holder[key], choose.random()
    if way < 0.1:
        del holder[key]
    elif way < 0.2 and isinstance(holder, list):
        holder.extend(copy.deepcopy(holder) * choose.choice([1, 3, 20]))
    elif way < 0.3 and isinstance(holder, list):
        choose.shuffle(holder)
    elif way < 0.45:
        holder[key] = copy.deepcopy(at(document, choose.choice(paths)))
    elif way < 0.55:
        holder[key] = choose.choice(OTHERS)
    elif type(value) is int:
        holder[key] = choose.choice([*NUMBERS, value + 1, value - 1, 2 * value])
    elif isinstance(value, str):
        holder[key] = choose.choice([*TEXTS, value + "x", value[:-1], value[::-1], value.upper()])
    else:
        holder[key] = choose.choice(OTHERS)


def mutant(choose, document, blobs):
    """A file with a few changes; in one of ten the code object is changed, under its right hash."""
    document, blobs = copy.deepcopy(document), dict(blobs)
    if choose.random() < 0.1:
        row = choose.choice(document["executables"])
        code = bytearray(blobs.pop(row["code"]))
        for _ in range(choose.choice([1, 3])):
            code[choose.randrange(len(code))] ^= 1 << choose.randrange(8)
        row["code"] = hashlib.sha256(code).hexdigest()
        blobs[row["code"]] = bytes(code)
    else:
        for _ in range(choose.choice([1, 1, 1, 2, 3])):
            change(choose, document)
    return pack(document, blobs)


def traced(call):
    """The result, and the bytes of memory that it took."""
    tracemalloc.reset_peak()
    before = tracemalloc.get_traced_memory()[0]
    result = call()
    return result, tracemalloc.get_traced_memory()[1] - before


def outcome(image):
    """The capture or the error of ours that these bytes give."""
    try:
        return read(image)
    except HipGraphError as error:
        str(error)
        return None


def draw(recording, name):
    drawn = to_text(recording) if name == "text" else getattr(recording, name)()
    if isinstance(drawn, str) and name != "__repr__":
        drawn.encode()


def drawn(capture):
    """What is asked of a recording that was read."""
    for name in (*DRAWINGS, "text"):
        yield lambda name=name: draw(capture.recording, name)


def mutants(tmp_path, count):
    document, blobs = parts(saved(tmp_path))
    choose = random.Random(count)
    for _ in range(count):
        yield mutant(choose, document, blobs)


def warm_up(tmp_path):
    """What is loaded once is not the cost of a file."""
    for call in drawn(read(saved(tmp_path))):
        call()


@pytest.mark.parametrize("count", [60, pytest.param(4_000, marks=pytest.mark.long)])
def test_a_changed_file_costs_memory_in_proportion_and_gives_an_error_of_ours_or_what_can_be_written(tmp_path, count):
    warm_up(tmp_path)
    read_well = 0
    tracemalloc.start()
    try:
        for image in mutants(tmp_path, count):
            capture, memory = traced(lambda image=image: outcome(image))
            assert memory < 16 * len(image) + FLOOR
            if capture is None:
                continue
            read_well += 1
            assert pack(*encode(capture)) == image
            for call in drawn(capture):
                assert traced(call)[1] < 16 * len(image) + FLOOR
    finally:
        tracemalloc.stop()
    assert read_well > count // 60


@pytest.mark.long
def test_nothing_about_a_changed_file_takes_many_steps(tmp_path):
    warm_up(tmp_path)
    for image in mutants(tmp_path, 20_000):
        capture = in_few_steps(lambda image=image: outcome(image))
        for call in () if capture is None else drawn(capture):
            in_few_steps(call)

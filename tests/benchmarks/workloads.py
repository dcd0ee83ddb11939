"""What is recorded for measuring: four kinds of work, each of any length, in which varies what varies for users.

A workload is plain data, layers of steps. `recorded` turns it into calls of ours, `by_hand.build` into calls of HIP.
Memory is a number of a buffer in the pool.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

POOL = 300
BUFFER_SIZE = 4096
LAYERS_OF_MODEL = 12
SEED = 20


class Memory(NamedTuple):
    """The buffer of the pool with this number."""

    number: int


class Launch(NamedTuple):
    kernel: str
    count: int | tuple[int, ...]
    size: int | tuple[int, ...]
    args: tuple[Any, ...]


class Fill(NamedTuple):
    target: Memory
    value: int


class Copy(NamedTuple):
    source: Memory
    target: Memory


Step = Launch | Fill | Copy
Layers = list[list[Step]]


def decode_step(count: int) -> Layers:
    """Tokens of a transformer, one after the other: 14 kernels for each of its layers, with activations, weights and a
    cache from the pool, and numbers that change from step to step."""
    rng = random.Random(SEED)
    return _first(count, _tokens(rng))


def random_graph(count: int) -> Layers:
    """Layers of random width, in which kernels, shapes, buffers and numbers are all drawn again."""
    rng = random.Random(SEED)
    return _first(count, ([_any_launch(rng) for _ in range(rng.randint(1, 6))] for _ in iter(int, 1)))


def with_transfers(count: int) -> Layers:
    """A fill, a copy and two dispatches in turn, each behind the one before."""
    rng = random.Random(SEED)

    def steps() -> Iterator[list[Step]]:
        while True:
            source, target = rng.sample(range(POOL), 2)
            yield [Fill(_memory(rng), rng.randrange(1 << 32))]
            yield [_any_launch(rng)]
            yield [Copy(Memory(source), Memory(target))]
            yield [_any_launch(rng)]

    return _first(count, steps())


def one_repeated(count: int) -> Layers:
    """A chain of equal dispatches."""
    launch = Launch("add", 4, 256, (Memory(0), Memory(1), Memory(2), 2.0, 1000))
    return [[launch] for _ in range(count)]


WORKLOADS: dict[str, Callable[[int], Layers]] = {
    "decode step": decode_step,
    "random graph": random_graph,
    "with transfers": with_transfers,
    "one repeated": one_repeated,
}


def _first(count: int, layers: Iterator[list[Step]]) -> Layers:
    """The layers up to `count` steps."""
    taken: Layers = []
    for layer in layers:
        taken.append(layer[:count])
        count -= len(taken[-1])
        if not count:
            return taken
    return taken


def _memory(rng: random.Random) -> Memory:
    return Memory(rng.randrange(POOL))


def _tokens(rng: random.Random) -> Iterator[list[Step]]:
    position = 0
    while True:
        position += 1
        x, token = _memory(rng), rng.randrange(32000)
        yield [Launch("embed", 16, 256, (x, Memory(0), _memory(rng), 4096, token))]
        for layer in range(LAYERS_OF_MODEL):
            yield from _model_layer(rng, x, layer, position)


def _model_layer(rng: random.Random, x: Memory, layer: int, position: int) -> Iterator[list[Step]]:
    q, k, v, h, s, m = (_memory(rng) for _ in range(6))
    keys, values, table = Memory(10 + layer), Memory(30 + layer), Memory(1)
    weights = [Memory(50 + 10 * layer + index) for index in range(9)]
    theta, scale = rng.random(), rng.random()
    yield [Launch("rms_norm", 1, 256, (h, x, weights[0], 1e-5, 4096))]
    yield [Launch("matvec", 1024, 256, (out, weights[1 + i], h, 4096, 4096, scale)) for i, out in enumerate((q, k, v))]
    yield [Launch("rotate", (32, 1), (64, 2), (q, k, table, 32, 128, position, theta))]
    yield [Launch("append", 32, 128, (keys, values, k, v, 8, 128, position))]
    yield [Launch("scores", (32, position % 64 + 1), 256, (s, q, keys, 32, 128, position, scale, 0.0, 4096))]
    yield [Launch("softmax", 32, 256, (s, m, 32, position, 1.0))]
    yield [Launch("mix", (32, 2), (128,), (h, s, values, 32, 128, position, scale))]
    yield [Launch("matvec", 1024, 256, (q, weights[4], h, 4096, 4096, scale))]
    yield [Launch("add", 16, 256, (x, x, q, 1.0, 4096))]
    yield [Launch("matvec", 2752, 256, (k, weights[5], x, 11008, 4096, scale))]
    yield [Launch("gate", 43, 256, (h, k, v, 1.7, 7.0, 11008))]
    yield [Launch("add", 16, 256, (x, x, h, theta, 4096))]


_NUMBERS = {"f": random.Random.random, "u": lambda rng: rng.randrange(1 << 20)}
_SIGNATURES = {
    "embed": "bbbuu",
    "rms_norm": "bbbfu",
    "matvec": "bbbuuf",
    "rotate": "bbbuuuf",
    "append": "bbbbuuu",
    "scores": "bbbuuuffu",
    "softmax": "bbuuf",
    "mix": "bbbuuuf",
    "add": "bbbfu",
    "gate": "bbbffu",
    "quantize": "bbbfuu",
    "route": "bbbbuufu",
}


def _any_launch(rng: random.Random) -> Launch:
    kernel = rng.choice(list(_SIGNATURES))
    args = tuple(_memory(rng) if kind == "b" else _NUMBERS[kind](rng) for kind in _SIGNATURES[kernel])
    return Launch(kernel, rng.randint(1, 64), rng.choice((64, 128, 256)), args)

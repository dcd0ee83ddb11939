"""Small matrices in the words of registers."""

from __future__ import annotations

import numpy as np

SIDE = 16
A, B, C = 0, 8, 16  # first registers


def random(shape, kind: str, seed: int = 5) -> np.ndarray:
    rng = np.random.default_rng(seed)
    if kind == "f":
        return rng.integers(-8, 9, shape).astype(np.float32) / 4
    return rng.integers(*{"i8": (-128, 128), "u8": (0, 256), "i4": (-8, 8), "u4": (0, 16)}[kind], shape)


def f16(values) -> np.ndarray:
    return np.asarray(values, np.float16).view(np.uint16).astype(np.uint32)


def bf16(values) -> np.ndarray:
    return np.asarray(values, np.float32).view(np.uint32) >> np.uint32(16)


def packed(elements: np.ndarray, width: int) -> np.ndarray:
    """[16, words] from [16, 16] numbers of `width` bits."""
    fields = (np.asarray(elements, np.int64) & ((1 << width) - 1)).reshape(SIDE, -1, 32 // width)
    return (fields << width * np.arange(32 // width)).sum(axis=-1).astype(np.uint32)

"""A kernel that never ends, in a queue of a child process of a test. hip-python is not needed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from support.hsa_client import Client, dispatch

from hipgraph_cb.virtual.install import install_hsa

CODE = Path(__file__).resolve().parents[1] / "fixtures" / "virtual" / "endless.gfx942.hsaco"

library = install_hsa(["gfx942"])
client = Client()
module = client.load(CODE.read_bytes())
queue = client.queue()
flag = client.upload(np.zeros(1, np.int32))
done = client.signal()


def launch(name: str = "endless", format: str = "Q", *values: object) -> None:
    """Put one wave of a kernel into the queue, with the flag's address, and more, as arguments."""
    shape = (64, 1, 1)
    kernarg = module.kernargs(name, shape, shape, format, flag, *values)
    queue.submit(dispatch(kernarg, shape, shape, **module.kernel(name), completion=done))

"""Capture files for the tests: one with everything, and archives made by hand."""

from __future__ import annotations

import io
import json
import zipfile

import numpy as np
from support.fakes import FakeBuffer, FakeEvent, FakeExecutable, FakeRank
from support.kernels import verified

from hipgraph_cb import Slot
from hipgraph_cb.capture.archive import _image, parse_archive
from hipgraph_cb.capture.document import dump
from hipgraph_cb.capture.manifest import decode
from hipgraph_cb.recording.command_buffer import CommandBuffer


def conformance():
    return FakeExecutable(verified("conformance/conformance.gfx942.hsaco"), label="conformance")


def everything(version=2):
    """A recording with every type of command of a version, slots, groups, events and a nested recording."""
    kernels = conformance()
    x, y, z = FakeBuffer(256, "x"), FakeBuffer(256, "y"), FakeBuffer(64)
    event = FakeEvent("ready")
    with CommandBuffer(label="inner", binding_capacity=1) as inner:
        inner.fill_buffer(Slot(0, 0, 64), 7, pattern_length=1)
        inner.execution_barrier()
        inner.dispatch(kernels["workgroup_ids"], 3, args=[x])
    with CommandBuffer(label="outer", binding_capacity=2) as cb:
        cb.fill_buffer(x, np.float32(1.5), label="clear")
        cb.update_buffer(y, bytes(range(200)), offset=8)
        cb.signal_event(event)
        with cb.debug_group("group"):
            cb.copy_buffer(x, y)
            cb.execution_barrier()
            with cb.debug_group("inside"):
                cb.dispatch(kernels["saxpby"], (2, 1), 64, args=[x, Slot(1), y, 2.0, 64], reads=[y], writes=[x])
            cb.dispatch_indirect(kernels["twice"], z.view(4, 12), args=[x, y])
        cb.wait_events([event], label="wait")
        cb.reset_event(event)
        cb.execute_commands(inner.recording, bindings=[z])
        if version > 1:
            cb.copy_buffer_2d(x, y, width=3, height=2, source_pitch=16, target_pitch=9)
            cb.fill_buffer_2d(z, 5, width=8, height=2, pitch=12)
            cb.host_call(print, reads=[x], label="call")
            rank = FakeRank("ring")
            cb.collective("all_gather", rank, x.view(0, 32), y.view(64, 64), type=np.float16, label="gather")
            exchange = {"op": "receive", "target": Slot(0, 16), "type": "bf16", "peer": 0, "count": 3}
            cb.collective_group(rank, [{"op": "send", "source": z, "type": "u64", "peer": 0}, exchange])
    return cb.recording


def contents():
    return {"x": np.arange(64, dtype=np.float32), Slot(1): bytes(512)}


def expected():
    return {"y": np.arange(64, dtype=np.float32), Slot(1): np.zeros(128, np.int32)}


def saved(tmp_path, recording=None):
    """The bytes of a capture file."""
    path = tmp_path / "saved.hgcb"
    if recording is None:
        everything().save(path, contents=contents(), expected=expected())
    else:
        recording.save(path)
    return path.read_bytes()


def read(data):
    """The capture in these bytes of a file."""
    return decode(*parse_archive(io.BytesIO(data), len(data)))


def parts(data):
    """Manifest as Python values, and blobs."""
    manifest, blobs = parse_archive(io.BytesIO(data), len(data))
    return json.loads(manifest), blobs


def pack(document, blobs):
    """An archive in the right form round any manifest."""
    manifest = document if isinstance(document, bytes) else dump(document)
    return b"".join(_image(manifest, blobs))


def zipped(entries, compression=zipfile.ZIP_STORED, comment=b""):
    """What Python's own zipfile makes of these (name, data) pairs."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as archive:
        archive.comment = comment
        for name, data in entries:
            archive.writestr(zipfile.ZipInfo(name), data, compression)
    return file.getvalue()

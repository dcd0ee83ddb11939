"""Random programs of streams, events, copies and graphs, followed by a numpy model."""

from __future__ import annotations

import random

import numpy as np
from support.hip_program import done, handles

BUFFERS, SIZE, COMMANDS = 5, 64, 40


class RandomProgram:
    """Issues commands on three streams and follows them in numpy."""

    def __init__(self, hip, program, seed):
        self.hip = hip
        self.program = program
        self.random = random.Random(seed)
        flags = (0, 1, 1)
        self.streams = [done(hip.hipStreamCreateWithFlags(each)) for each in flags]
        self.captured_stream = done(hip.hipStreamCreateWithFlags(1))
        self.buffers = [program.upload(np.zeros(SIZE, np.uint8)) for _ in range(BUFFERS)]
        self.model = np.zeros((BUFFERS, SIZE), np.uint8)
        self.last_stream: dict[int, int] = {}
        self.kept: list[object] = []

    def run(self):
        commands = (self.fill, self.copy, self.upload, self.launch_graph, self.launch_captured)
        for _ in range(COMMANDS):
            self.random.choice(commands)(self.random.randrange(len(self.streams)))
            if self.random.random() < 0.05:
                done(self.hip.hipStreamSynchronize(self.random.choice(self.streams)))
        done(self.hip.hipDeviceSynchronize())

    def result(self):
        return np.stack([self.program.download(buffer, SIZE, np.uint8) for buffer in self.buffers])

    def close(self):
        for stream in (*self.streams, self.captured_stream):
            done(self.hip.hipStreamDestroy(stream))
        for buffer in self.buffers:
            done(self.hip.hipFree(buffer))

    def touch(self, stream, *buffers):
        """Order this stream behind the ones that touched these buffers last."""
        for buffer in buffers:
            other = self.last_stream.get(buffer, stream)
            if other != stream:
                event = done(self.hip.hipEventCreate())
                done(self.hip.hipEventRecord(event, self.streams[other]))
                done(self.hip.hipStreamWaitEvent(self.streams[stream], event, 0))
                done(self.hip.hipEventDestroy(event))
            self.last_stream[buffer] = stream

    def range_(self):
        start = self.random.randrange(SIZE)
        return start, self.random.randrange(1, SIZE - start + 1)

    def fill(self, stream):
        buffer, (start, size), value = self.random.randrange(BUFFERS), self.range_(), self.random.randrange(256)
        self.touch(stream, buffer)
        done(self.hip.hipMemsetAsync(self.buffers[buffer] + start, value, size, self.streams[stream]))
        self.model[buffer, start : start + size] = value

    def copy(self, stream):
        target, source = self.random.sample(range(BUFFERS), 2)
        start, size = self.range_()
        self.touch(stream, target, source)
        done(
            self.hip.hipMemcpyDtoDAsync(
                self.buffers[target] + start, self.buffers[source] + start, size, self.streams[stream]
            )
        )
        self.model[target, start : start + size] = self.model[source, start : start + size]

    def upload(self, stream):
        buffer = self.random.randrange(BUFFERS)
        data = np.frombuffer(self.random.randbytes(SIZE), np.uint8).copy()
        self.touch(stream, buffer)
        done(self.hip.hipMemcpyHtoDAsync(self.buffers[buffer], data, SIZE, self.streams[stream]))
        self.model[buffer] = data

    def launch_graph(self, stream):
        """A few nodes, each behind those before it that touch the same buffer."""
        graph = done(self.hip.hipGraphCreate(0))
        touched: dict[int, int] = {}
        for _ in range(self.random.randrange(1, 7)):
            target, source = self.random.sample(range(BUFFERS), 2)
            start, size = self.range_()
            is_copy = self.random.random() < 0.5
            used = (target, source) if is_copy else (target,)
            before = sorted({touched[buffer] for buffer in used if buffer in touched})
            place = (handles(*before), len(before)) if before else (None, 0)
            if is_copy:
                kind = self.hip.hipMemcpyKind.hipMemcpyDeviceToDevice
                ends = self.buffers[target] + start, self.buffers[source] + start
                node = done(self.hip.hipGraphAddMemcpyNode1D(graph, *place, *ends, size, kind))
                self.model[target, start : start + size] = self.model[source, start : start + size]
            else:
                value = self.random.randrange(256)
                params = self.program.memset_params(self.buffers[target] + start, value, 1, size)
                node = done(self.hip.hipGraphAddMemsetNode(graph, *place, params))
                self.model[target, start : start + size] = value
            touched.update({buffer: int(node) for buffer in used})
        self.touch(stream, *touched)
        if self.random.random() < 0.3:
            graph = self.inside_another(graph)
        self.launch(graph, stream)

    def inside_another(self, graph):
        """A graph whose only node holds the one given, which is not needed any more."""
        outer = done(self.hip.hipGraphCreate(0))
        done(self.hip.hipGraphAddChildGraphNode(outer, None, 0, graph))
        done(self.hip.hipGraphDestroy(graph))
        return outer

    def launch(self, graph, stream):
        executable = self.program.instantiate(graph)
        done(self.hip.hipGraphLaunch(executable, self.streams[stream]))
        done(self.hip.hipGraphExecDestroy(executable))
        done(self.hip.hipGraphDestroy(graph))

    def launch_captured(self, stream):
        """A few calls, captured on a stream of their own and launched on another."""
        captured, used = self.captured_stream, set()
        done(self.hip.hipStreamBeginCapture(captured, self.hip.hipStreamCaptureMode.hipStreamCaptureModeRelaxed))
        for _ in range(self.random.randrange(1, 5)):
            target, source = self.random.sample(range(BUFFERS), 2)
            start, size = self.range_()
            place = slice(start, start + size)
            if self.random.random() < 0.5:
                ends = self.buffers[target] + start, self.buffers[source] + start
                done(self.hip.hipMemcpyDtoDAsync(*ends, size, captured))
                self.model[target, place] = self.model[source, place]
                used |= {target, source}
            else:
                value = self.random.randrange(256)
                done(self.hip.hipMemsetAsync(self.buffers[target] + start, value, size, captured))
                self.model[target, place] = value
                used.add(target)
        graph = done(self.hip.hipStreamEndCapture(captured))
        self.touch(stream, *sorted(used))
        self.launch(graph, stream)

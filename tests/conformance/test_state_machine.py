"""Random verbs, legal and illegal, against a numpy model: the bytes of all buffers are the model's, whatever joins the
layers, in both modes, with barriers and with inferred dependencies, with buffers and with slots."""

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

from hipgraph_cb import Slot
from hipgraph_cb.errors import FailedPreconditionError, HipGraphError

SIZE = 96
BUFFERS = 4
which = st.integers(0, BUFFERS - 1)
offsets = st.integers(0, SIZE)
lengths = st.integers(0, 40)
words = st.integers(0, 1000)


class Command:
    """One accepted call: how to make it, which bytes it reads and writes, what it does to the model."""

    def __init__(self, call, reads, writes, effect):
        self.call = call
        self.reads = reads
        self.writes = writes
        self.effect = effect


def span(buffer, offset, length):
    return {(buffer, byte) for byte in range(offset, offset + length)}


class Machine(RuleBasedStateMachine):
    """Collects calls; at the end each way to record and replay them is tried."""

    def __init__(self, device, kernels, joins, modes):
        super().__init__()
        self.device, self.kernels, self.joins, self.modes = device, kernels, joins, modes
        self.calls = []  # Command, "barrier", or a call that must be refused

    @rule(into=which, offset=offsets, length=lengths, size=st.sampled_from([1, 2, 4, 8, 16]), seed=words)
    def fill(self, into, offset, length, size, seed):
        pattern = (np.arange(size) * 37 + seed).astype(np.uint8).tobytes()

        def call(cb, places):
            cb.fill_buffer(places[into], pattern, pattern_length=size, offset=offset, length=length)

        def effect(model):
            model[into][offset : offset + length] = np.frombuffer(pattern * (length // size), np.uint8)

        fits = offset + length <= SIZE and offset % size == length % size == 0
        self.add(call, fits or length == 0, set(), span(into, offset, length), effect)

    @rule(into=which, offset=offsets, length=lengths, seed=words)
    def update(self, into, offset, length, seed):
        data = (np.arange(length) * 11 + seed).astype(np.uint8)

        def effect(model):
            model[into][offset : offset + length] = data

        self.add(
            lambda cb, places: cb.update_buffer(places[into], data, offset=offset),
            offset + length <= SIZE or length == 0,
            set(),
            span(into, offset, length),
            effect,
        )

    @rule(source=which, into=which, start=offsets, offset=offsets, length=lengths)
    def copy(self, source, into, start, offset, length):
        def call(cb, places):
            cb.copy_buffer(places[source], places[into], source_offset=start, target_offset=offset, length=length)

        def effect(model):
            model[into][offset : offset + length] = model[source][start : start + length].copy()

        apart = source != into or abs(start - offset) >= length
        fits = max(start, offset) + length <= SIZE and apart
        self.add(call, fits or length == 0, span(source, start, length), span(into, offset, length), effect)

    @rule(source=which, into=which, start=st.integers(0, 5), offset=st.integers(0, 5), scale=words, add=words)
    def dispatch(self, source, into, start, offset, scale, add):
        start, offset = 16 * start, 16 * offset
        if (source, start) == (into, offset):
            return

        def call(cb, places):
            arguments = [part(places[source], start), part(places[into], offset)]
            cb.dispatch(self.kernels["scale_and_offset"], 1, bindings=arguments, constants=[scale, add])

        def effect(model):
            values = model[source][start : start + 16].view(np.uint32)
            model[into][offset : offset + 16] = (values * np.uint32(scale) + np.uint32(add)).view(np.uint8)

        self.add(call, True, span(source, start, 16), span(into, offset, 16), effect)

    @rule(into=which, wrong=st.integers(0, 4))
    def refused(self, into, wrong):
        kernel = self.kernels["scale_and_offset"]
        calls = [
            lambda cb, places: cb.dispatch(kernel, 1, bindings=[places[into]], constants=[1, 2]),
            lambda cb, places: cb.dispatch(kernel, 1, 4096, bindings=[places[into]] * 2, constants=[1, 2]),
            lambda cb, places: cb.fill_buffer(places[into], 1, pattern_length=3),
            lambda cb, places: cb.fill_buffer(Slot(99), 1),
            lambda cb, places: cb.update_buffer(places[into], [1, 2]),
        ]
        self.calls.append(calls[wrong])

    @rule()
    def barrier(self):
        self.calls.append("barrier")

    def add(self, call, fits, reads, writes, effect):
        if not fits:
            self.calls.append(call)
        elif writes:
            self.calls.append(Command(call, reads, writes, effect))

    def teardown(self):
        initial = [np.arange(SIZE, dtype=np.uint8) + 50 * index for index in range(BUFFERS)]
        model = [values.copy() for values in initial]
        for call in self.calls:
            if isinstance(call, Command):
                call.effect(model)
        for options, slots in self.ways():
            cb, places = self.record(slots, **options)
            for mode in self.modes:
                for buffer, values in zip(places, initial, strict=True):
                    buffer.write(values)
                cb.replay(bindings=places if slots else None, mode=mode)
                for buffer, values in zip(places, model, strict=True):
                    assert np.array_equal(buffer.to_host(), values), (options, slots, mode)
                    if isinstance(cb.recording.dependencies, tuple):
                        assert options["dependencies"] == "inferred"
            cb.program.close()

    def ways(self):
        for join in self.joins:
            yield {"join": join, "dependencies": "barriers"}, False
        yield {"join": "auto", "dependencies": "barriers", "fill": "kernel"}, True
        yield {"dependencies": "inferred"}, False
        yield {"dependencies": "inferred"}, True

    def record(self, slots, **options):
        """The calls on new buffers, with the barriers that explicit dependencies need."""
        buffers = [self.device.allocate(SIZE) for _ in range(BUFFERS)]
        places = [Slot(index, 0, SIZE) for index in range(BUFFERS)] if slots else buffers
        cb = self.device.command_buffer(binding_capacity=BUFFERS if slots else 0, **options)
        with pytest.raises(FailedPreconditionError):
            cb.fill_buffer(buffers[0], 1)
        cb.begin()
        read, written, commands = set(), set(), 0
        for call in self.calls:
            if call == "barrier":
                cb.execution_barrier()
                read, written = set(), set()
            elif isinstance(call, Command):
                conflict = call.writes & (read | written) or call.reads & written
                if conflict and options["dependencies"] == "barriers":
                    cb.execution_barrier()
                    read, written = set(), set()
                call.call(cb, places)
                read, written, commands = read | call.reads, written | call.writes, commands + 1
            else:
                with pytest.raises(HipGraphError):
                    call(cb, places)
        cb.end()
        assert len(cb.recording) == commands
        return cb, buffers


def part(place, offset):
    return Slot(place.index, offset, 16) if isinstance(place, Slot) else place.view(offset, 16)


def test_random_recordings_leave_the_bytes_of_the_model(device, kernels):
    joins = ("edges", "empty", "kernel", "auto") if device.backend == "hip" else ("auto",)
    modes = ("graph", "stream")
    run_state_machine_as_test(
        lambda: Machine(device, kernels, joins, modes),
        settings=settings(
            max_examples=25, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )

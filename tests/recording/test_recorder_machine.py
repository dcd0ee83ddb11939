"""The recorder against a model: a list of layers, whatever legal and illegal calls come in whatever order."""

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from support.fakes import FakeBuffer, FakeLimits, saxpy

from hipgraph_cb.errors import FailedPreconditionError, HipGraphError
from hipgraph_cb.recording.command_buffer import CommandBuffer, State
from hipgraph_cb.recording.commands import Copy, Dispatch, Fill, Update

SIZE = 32
offsets = st.integers(-2, SIZE + 2)
lengths = st.integers(-1, SIZE + 2)
which = st.integers(0, 2)


class Recorder(RuleBasedStateMachine):
    """`layers` is the model: what was accepted, in lists between barriers."""

    @initialize(categories=st.sampled_from(["any", "any", "transfer", "dispatch"]))
    def start(self, categories):
        self.buffers = [FakeBuffer(SIZE, name) for name in "abc"]
        self.kernel = saxpy()
        self.cb = CommandBuffer(label="machine", limits=FakeLimits(), categories=categories)
        self.taken = {"any": (Fill, Update, Copy, Dispatch), "transfer": (Fill, Update, Copy), "dispatch": (Dispatch,)}[
            categories
        ]
        self.state = State.INITIAL
        self.layers = [[]]

    def attempt(self, call, fits, does, summary):
        """Make a call that must succeed exactly when the state and the arguments allow it."""
        if self.state is not State.RECORDING:
            with pytest.raises(FailedPreconditionError):
                call()
        elif not fits or summary[0] not in self.taken:
            with pytest.raises(HipGraphError):
                call()
        else:
            call()
            if does:
                self.layers[-1].append(summary)

    @rule()
    def begin(self):
        if self.state is State.INITIAL:
            self.cb.begin()
            self.state = State.RECORDING
        else:
            with pytest.raises(FailedPreconditionError):
                self.cb.begin()

    @rule()
    def barrier(self):
        if self.state is State.RECORDING:
            self.cb.execution_barrier()
            if self.layers[-1]:
                self.layers.append([])
        else:
            with pytest.raises(FailedPreconditionError):
                self.cb.execution_barrier()

    @rule(into=which, offset=offsets, length=lengths, size=st.sampled_from([1, 2, 4]))
    def fill(self, into, offset, length, size):
        fits = offset >= 0 and (
            length == 0 or (length > 0 and offset + length <= SIZE and offset % size == length % size == 0)
        )
        self.attempt(
            lambda: self.cb.fill_buffer(self.buffers[into], 1, pattern_length=size, offset=offset, length=length),
            fits,
            length > 0,
            (Fill, [(into, offset, length)]),
        )

    @rule(into=which, offset=offsets, length=st.integers(0, SIZE + 2))
    def update(self, into, offset, length):
        self.attempt(
            lambda: self.cb.update_buffer(self.buffers[into], bytes(length), offset=offset),
            offset >= 0 and (length == 0 or offset + length <= SIZE),
            length > 0,
            (Update, [(into, offset, length)]),
        )

    @rule(source=which, into=which, start=offsets, offset=offsets, length=lengths)
    def copy(self, source, into, start, offset, length):
        inside = start >= 0 and offset >= 0 and length > 0 and max(start, offset) + length <= SIZE
        apart = source != into or abs(start - offset) >= length
        self.attempt(
            lambda: self.cb.copy_buffer(
                self.buffers[source], self.buffers[into], source_offset=start, target_offset=offset, length=length
            ),
            (inside and apart) or (length == 0 and start >= 0 and offset >= 0),
            length > 0,
            (Copy, [(source, start, length), (into, offset, length)]),
        )

    @rule(out=which, count=st.integers(-1, 3), size=st.sampled_from([0, 1, 256, 257]), good=st.booleans())
    def dispatch(self, out, count, size, good):
        args = [self.buffers[out], None, 1.0, 1] if good else [self.buffers[out], None]
        self.attempt(
            lambda: self.cb.dispatch(self.kernel, count, size, args=args),
            count == 0 or (count > 0 and size in (1, 256) and good),
            count > 0,
            (Dispatch, [(out, 0, SIZE)]),
        )

    @precondition(lambda self: self.layers[0])
    @rule()
    def end(self):
        if self.state is not State.RECORDING:
            with pytest.raises(FailedPreconditionError):
                self.cb.end()
            return
        self.cb.end()
        self.state = State.FINAL
        self.compare()

    def compare(self):
        recording = self.cb.recording
        model = [layer for layer in self.layers if layer]
        assert [len(layer) for layer in recording.layers] == [len(layer) for layer in model]
        assert [index for layer in recording.layers for index in layer] == list(range(len(recording)))
        for index, (kind, places) in enumerate(summary for layer in model for summary in layer):
            command = recording[index]
            assert type(command) is kind
            assert [self.place(recording, each) for each in self.places(command)] == places
        used = [id(buffer) for buffer in recording.resources.bound.values()]
        assert len(used) == len(set(used))
        assert sorted(recording.resources.bound) == list(range(len(used)))

    @staticmethod
    def places(command):
        if isinstance(command, Dispatch):
            return [place for _, place in command.pointers]
        return [command.source, command.target] if isinstance(command, Copy) else [command.target]

    def place(self, recording, place):
        return self.buffers.index(recording.resources.bound[place.resource]), place.offset, place.length

    @invariant()
    def the_state_is_the_models(self):
        if hasattr(self, "cb"):
            assert self.cb.state is self.state


TestRecorder = Recorder.TestCase
TestRecorder.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)

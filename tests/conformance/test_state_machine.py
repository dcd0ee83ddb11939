"""Random verbs, legal and illegal, against a numpy model: the bytes of all buffers are the model's, whatever joins the
layers, in both modes, with barriers and with inferred dependencies, with buffers and with slots, with numbers in slots,
and after commands were given other arguments or switched off."""

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

from hipgraph_cb import Slot
from hipgraph_cb.errors import FailedPreconditionError, HipGraphError

SIZE = 96
BUFFERS = 4
NUMBERS = 64
HOST = BUFFERS - 1
"""The one that is in memory of the host."""
which = st.integers(0, BUFFERS - 1)
offsets = st.integers(0, SIZE)
lengths = st.integers(0, 40)
words = st.integers(0, 1000)


class Command:
    """One accepted call: how to make it, which bytes it reads and writes, what it does to the model.

    Attributes:
        change: gives a command of a program other arguments, and returns what it does to the model then; or None.
        count: how many commands it is.
    """

    def __init__(self, call, reads, writes, effect, change, count):
        self.call = call
        self.reads = reads
        self.writes = writes
        self.effect = effect
        self.change = change
        self.count = count


def span(buffer, offset, length):
    return {(buffer, byte) for byte in range(offset, offset + length)}


class Machine(RuleBasedStateMachine):
    """Collects calls; at the end each way to record and replay them is tried."""

    def __init__(self, device, kernels, joins, modes):
        super().__init__()
        self.device, self.kernels, self.joins, self.modes = device, kernels, joins, modes
        self.calls = []  # Command, "barrier", or a call that must be refused
        self.numbers = []  # what is in the slots behind those of the buffers
        self.altered = {}  # by command: the seed of other arguments, or None where it is switched off

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

    @rule(
        source=which,
        into=which,
        start=offsets,
        offset=offsets,
        shape=st.tuples(st.integers(0, 12), st.integers(0, 4)),
        pitches=st.tuples(st.integers(0, 20), st.integers(0, 20)),
    )
    def copy_rows(self, source, into, start, offset, shape, pitches):
        width, height = shape
        rows = [
            [where + row * pitch + byte for row in range(height) for byte in range(width)]
            for where, pitch in zip((start, offset), pitches, strict=True)
        ]

        def call(cb, places):
            cb.copy_buffer_2d(
                places[source],
                places[into],
                width=width,
                height=height,
                source_pitch=pitches[0],
                target_pitch=pitches[1],
                source_offset=start,
                target_offset=offset,
            )

        def effect(model):
            model[into][rows[1]] = model[source][rows[0]].copy()

        fits = min(pitches) >= width and max(map(max, rows), default=0) < SIZE if width and height else True
        if fits and width and height and source == into:
            stretches = [range(each[0], each[-1] + 1) for each in rows]
            is_apart = set(rows[0]).isdisjoint(rows[1]) if pitches[0] == pitches[1] else False
            fits = is_apart or set(stretches[0]).isdisjoint(stretches[1])
        touched = [{(buffer, byte) for byte in each} for buffer, each in zip((source, into), rows, strict=True)]
        self.add(call, fits, *touched, effect)

    @rule(
        into=which,
        offset=offsets,
        shape=st.tuples(st.integers(0, 12), st.integers(0, 4)),
        pitch=st.integers(0, 20),
        size=st.sampled_from([1, 2, 4]),
        seed=words,
    )
    def fill_rows(self, into, offset, shape, pitch, size, seed):
        width, height = shape
        pattern = (np.arange(size) * 53 + seed).astype(np.uint8).tobytes()
        rows = [offset + row * pitch + byte for row in range(height) for byte in range(width)]

        def call(cb, places):
            cb.fill_buffer_2d(places[into], pattern, width=width, height=height, pitch=pitch, offset=offset)

        def effect(model):
            model[into][rows] = np.frombuffer(pattern * (width // size) * height, np.uint8)

        is_whole = not (offset % size or width % size or (height > 1 and pitch % size))
        fits = pitch >= width and max(rows, default=0) < SIZE and is_whole if width and height else True
        self.add(call, fits, set(), {(into, byte) for byte in rows}, effect)

    @rule(offset=st.integers(0, SIZE - 8), add=st.integers(1, 255))
    def host_call(self, offset, add):
        """Of a function that changes bytes of the buffer in memory of the host."""

        def call(cb, places):
            array = self.host.array[offset : offset + 8]

            def function():
                array[:] += np.uint8(add)

            touched = [part(places[HOST], offset, 8)]
            cb.host_call(function, reads=touched, writes=touched)

        def effect(model):
            model[HOST][offset : offset + 8] += np.uint8(add)

        self.add(call, True, span(HOST, offset, 8), span(HOST, offset, 8), effect)

    @rule(source=which, into=which, start=st.integers(0, 5), offset=st.integers(0, 5))
    def through_transient(self, source, into, start, offset):
        start, offset = 16 * start, 16 * offset

        def call(cb, places):
            transient = cb.transient(32)
            cb.copy_buffer(part(places[source], start), transient.view(8, 16))
            cb.execution_barrier()
            cb.copy_buffer(transient.view(8, 16), part(places[into], offset))

        def effect(model):
            model[into][offset : offset + 16] = model[source][start : start + 16].copy()

        self.add(call, True, span(source, start, 16), span(into, offset, 16), effect, count=2)

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

    def slot(self, value):
        """A slot for a number, which each replay gives."""
        self.numbers.append(value)
        return Slot(BUFFERS + len(self.numbers) - 1, type="u32")

    @rule(source=which, into=which, start=st.integers(0, 2), scale=words, add=words, count=st.integers(0, 1))
    def dispatch_with_numbers(self, source, into, start, scale, add, count):
        if len(self.numbers) + 3 > NUMBERS:
            return
        start, offset = 16 * start, 16 * (start + 3)
        slots = [self.slot(scale), self.slot(add), self.slot(count)]

        def call(cb, places):
            arguments = [part(places[source], start), part(places[into], offset), *slots[:2]]
            cb.dispatch(self.kernels["scale_and_offset"], slots[2], args=arguments)

        def effect(model, scale=scale, add=add):
            values = model[source][start : start + 16].view(np.uint32)
            if count:
                model[into][offset : offset + 16] = (values * np.uint32(scale) + np.uint32(add)).view(np.uint8)

        def change(command, seed):
            command.update(args={2: seed})
            return lambda model: effect(model, scale=seed)

        self.add(call, True, span(source, start, 16), span(into, offset, 16), effect, change)

    @rule(into=which, start=st.integers(0, 10), length=st.integers(1, 10), value=words)
    def fill_with_a_number(self, into, start, length, value):
        if len(self.numbers) == NUMBERS:
            return
        offset, length = 4 * start, 4 * length
        slot = self.slot(value)

        def effect(model, value=value):
            model[into][offset : offset + length] = np.full(length // 4, value, np.uint32).view(np.uint8)

        def change(command, seed):
            command.update(pattern=seed)
            return lambda model: effect(model, seed)

        self.add(
            lambda cb, places: cb.fill_buffer(places[into], slot, offset=offset, length=length),
            True,
            set(),
            span(into, offset, length),
            effect,
            change,
        )

    @rule(position=st.integers(0, 24), seed=st.one_of(st.none(), words))
    def alter(self, position, seed):
        """Switch a command off, or give it other arguments, once it was replayed."""
        self.altered[position] = seed

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

    def add(self, call, fits, reads, writes, effect, change=None, count=1):
        if not fits:
            self.calls.append(call)
        elif writes:
            self.calls.append(Command(call, reads, writes, effect, change, count))

    def teardown(self):
        commands = [call for call in self.calls if isinstance(call, Command)]
        for options, slots in self.ways():
            cb, places = self.record(slots, **options)
            given = {BUFFERS + index: value for index, value in enumerate(self.numbers)}
            given.update(enumerate(places) if slots else ())
            bindings = {slot: given[slot] for slot, use in enumerate(cb.recording.slots) if use.commands}
            effects = [command.effect for command in commands]
            for mode in self.modes:
                self.check(cb, places, effects, mode, bindings, (options, slots, mode))
            if isinstance(cb.recording.dependencies, tuple):
                assert options["dependencies"] == "inferred"
            altered = self.alter_program(cb.program, commands, effects)
            for mode in self.modes:
                self.check(cb, places, altered, mode, None, (options, slots, mode, self.altered))
            if slots:
                cb.program.update(cb.recording)
                for index in range(len(cb.recording)):
                    cb.program[index].enabled = True
                self.check(cb, places, effects, "graph", bindings, (options, slots, "updated"))
            cb.program.close()

    def alter_program(self, program, commands, effects):
        """Alter what is to be altered; returns what the commands do then."""
        altered = list(effects)
        firsts = np.cumsum([0, *(command.count for command in commands)]).tolist()
        for position, seed in sorted(self.altered.items()):
            if position >= len(commands):
                continue
            command, parts = commands[position], range(firsts[position], firsts[position + 1])
            if seed is None:
                for index in parts:
                    program[index].enabled = False
                altered[position] = lambda model: None
            elif command.change is not None:
                altered[position] = command.change(program[parts[0]], seed)
        return altered

    def check(self, cb, places, effects, mode, bindings, case):
        """One replay leaves what the effects leave."""
        model = [np.arange(SIZE, dtype=np.uint8) + 50 * index for index in range(BUFFERS)]
        for buffer, values in zip(places, model, strict=True):
            buffer.write(values)
        for effect in effects:
            effect(model)
        cb.replay(bindings=bindings or None, mode=mode)
        for buffer, values in zip(places, model, strict=True):
            assert np.array_equal(buffer.to_host(), values), case

    def ways(self):
        for join in self.joins:
            yield {"join": join, "dependencies": "barriers"}, False
        yield {"join": "auto", "dependencies": "barriers", "fill": "kernel"}, True
        yield {"dependencies": "inferred"}, False
        yield {"dependencies": "inferred"}, True

    def record(self, slots, **options):
        """The calls on new buffers, with the barriers that explicit dependencies need."""
        self.host = self.device.host_buffer(SIZE)
        buffers = [*(self.device.allocate(SIZE) for _ in range(BUFFERS - 1)), self.host]
        places = [Slot(index, 0, SIZE) for index in range(BUFFERS)] if slots else buffers
        cb = self.device.command_buffer(binding_capacity=BUFFERS + NUMBERS, **options)
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
                read, written, commands = read | call.reads, written | call.writes, commands + call.count
            else:
                with pytest.raises(HipGraphError):
                    call(cb, places)
        cb.end()
        assert len(cb.recording) == commands
        return cb, buffers


def part(place, offset, length=16):
    return Slot(place.index, offset, length) if isinstance(place, Slot) else place.view(offset, length)


def test_random_recordings_leave_the_bytes_of_the_model(device, kernels):
    joins = ("edges", "empty", "kernel", "auto") if device.backend == "hip" else ("auto",)
    modes = ("graph", "stream")
    run_state_machine_as_test(
        lambda: Machine(device, kernels, joins, modes),
        settings=settings(
            max_examples=25, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )

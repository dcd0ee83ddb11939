"""Replays that are watched: layer by layer, with a look at what every command wrote, up to the first that fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from hipgraph_cb.abi.c_types import numpy_type
from hipgraph_cb.backend.comparing import compare
from hipgraph_cb.backend.modes import check_mode
from hipgraph_cb.backend.write_sets import Watched, WriteSet
from hipgraph_cb.errors import CheckFailedError, InvalidArgumentError
from hipgraph_cb.recording.binding_table import Bindings, bindings_of
from hipgraph_cb.recording.bindings import resolve
from hipgraph_cb.recording.commands import Dispatch, DispatchIndirect, Location
from hipgraph_cb.recording.outputs import Check, Output

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hipgraph_cb.recording.recording import Recording

NAN = "nan"
STREAM = "stream"
_FLOATS = ("float16", "float32", "float64")


def replay_checked(watched: Watched, check: Check, mode: str, stream: Any, bindings: Bindings | None) -> None:
    """Replay and check; see `Program.replay`.

    Raises:
        CheckFailedError: something is wrong.
        InvalidArgumentError: no such check, nothing that it could look at, or a mode that it does not apply to.
    """
    check_mode(mode)
    if mode != "graph":
        raise InvalidArgumentError(
            "replay: a check is of the graph", found=f"mode={mode!r} and check={check!r}", next_step="leave out one"
        )
    if isinstance(check, str) and check == STREAM:
        compare(watched, stream, bindings)
    else:
        watch(watched, check, stream, bindings)


def watch(watched: Watched, check: Check, stream: Any, bindings: Bindings | None) -> None:
    """Replay layer by layer and wait for each.

    Raises:
        CheckFailedError: an output is bad; commands of later layers were not run.
        InvalidArgumentError: no such check, or nothing that it could look at.
    """
    device, recording, objects = watched.program.device, watched.program.recording, watched.objects
    table = resolve(recording, bindings, objects=objects, owner=device, before=watched.table)
    watcher = _Watcher(recording, WriteSet(recording, objects, table))
    judge = _judge(check, watcher)
    for start, stop in pairwise((*recording.layer_starts, len(recording))):
        part = recording.part(range(start, stop))
        with watched.program_of(part, start) as program:
            program.replay(stream, bindings_of(table, part))
            device.synchronize()
        for index in (index for index in range(start, stop) if index not in watched.disabled):
            for output in watcher.outputs(index):
                _apply(judge, output)


def _judge(check: Check, watcher: _Watcher) -> Callable[[Output], Any]:
    if callable(check):
        return check
    if not isinstance(check, str) or check != NAN:
        raise InvalidArgumentError("replay: unknown check", found=repr(check), allowed="'nan', 'stream' or a callable")
    if not watcher.has_floats():
        raise InvalidArgumentError(
            "replay: no output can be looked at for NaN",
            found="no pointer to a floating-point type among the parameters",
            next_step="pass a callable: check=lambda output: not numpy.isnan(output.data.view('float32')).any()",
        )
    return _nan


def _nan(output: Output) -> str | None:
    import numpy

    if output.dtype not in _FLOATS:
        return None
    wrong = numpy.flatnonzero(numpy.isnan(output.data))
    return f"NaN in {wrong.size} of {output.data.size} elements, first in element {wrong[0]}" if wrong.size else None


def _apply(judge: Callable[[Output], Any], output: Output) -> None:
    verdict = judge(output)
    if verdict is None or verdict is True:
        return
    raise CheckFailedError(
        "what a command wrote fails the check",
        where=output.where,
        found=f"{verdict if isinstance(verdict, str) else 'the check says no'}, in {output.name} = {output.place}",
        next_step="later layers have not run; the buffers are as this layer left them",
    )


class _Watcher:
    """Finds and reads what commands write."""

    def __init__(self, recording: Recording, memory: WriteSet) -> None:
        self._recording = recording
        self._memory = memory

    def has_floats(self) -> bool:
        """Whether any output has a stated floating-point type."""
        return any(
            dtype in _FLOATS for index in range(len(self._recording)) for _place, _name, dtype in self._written(index)
        )

    def outputs(self, index: int) -> Iterator[Output]:
        for place, name, dtype in self._written(index):
            data = self._read(place)
            if dtype is not None and data.size % _itemsize(dtype) == 0:
                data = data.view(dtype)
            else:
                dtype = None
            text = self._recording.describe_place(place)
            if data.size:
                yield Output(index, self._recording.where(index), name, text, dtype, data)

    def _written(self, index: int) -> Iterator[tuple[Location, str, str | None]]:
        """The places that a command writes, each with the parameter's label and its element type."""
        command = self._recording[index]
        stated: dict[Location, tuple[str, str | None]] = {}
        if isinstance(command, (Dispatch, DispatchIndirect)):
            verified = self._recording.resources.executables[command.executable].verified
            parameters = {each.offset: each for each in verified.exports[command.export].layout.parameters}
            for offset, place in command.pointers:
                parameter = parameters[offset]
                stated.setdefault(place, (parameter.label, numpy_type(parameter.pointee)))
        for place in self._memory.places(index):
            yield place, *stated.get(place, ("target", None))

    def _read(self, place: Location) -> NDArray[Any]:
        bound = self._memory.at(place)
        data: NDArray[Any] = bound.buffer.view(bound.offset, bound.length).to_host()
        return data


def _itemsize(dtype: str) -> int:
    import numpy

    return numpy.dtype(dtype).itemsize

"""The JSON export: everything that a tool needs, in a stated layout."""

import json

from support import elf
from support.containers import Export, wrapped
from support.fakes import FakeBuffer, FakeExecutable, saxpy
from support.recordings import HOSTILE, grouped, hostile, step

from hipgraph_cb.code_object.verify import inspect
from hipgraph_cb.recording.command_buffer import CommandBuffer


def test_the_whole_object_of_a_small_recording():
    recording = step()
    assert json.loads(recording.to_json()) == {
        "format": "hipgraph_cb recording",
        "version": 1,
        "label": "step",
        "binding_capacity": 2,
        "one_shot": False,
        "categories": "any",
        "channels": [],
        "buffers": [
            {"id": 0, "size": 64, "label": "y", "memory": "device", "device": 0},
            {"id": 1, "size": 64, "label": "x", "memory": "device", "device": 0},
            {"id": 3, "size": 64, "label": None, "memory": "device", "device": 0},
        ],
        "executables": [
            {
                "id": 2,
                "label": None,
                "sha256": recording.resources.executables[2].content_hash,
                "device": 0,
                "origins": {},
                "constants": {},
            }
        ],
        "events": [],
        "recordings": [],
        "functions": [],
        "commands": [
            {
                "kind": "fill",
                "label": "clear",
                "target": {"buffer": 0, "offset": 0, "length": 64},
                "pattern": "00000000",
            },
            {
                "kind": "update",
                "label": None,
                "target": {"buffer": 1, "offset": 4, "length": 20},
                "data": "000102030405060708090a0b0c0d0e0f10111213",
            },
            {
                "kind": "dispatch",
                "label": None,
                "executable": 2,
                "export": "saxpy",
                "workgroup_count": [4, 2, 1],
                "workgroup_size": [64, 1, 1],
                "dynamic_lds": 32,
                "kernarg": "00" * 16 + "00002040" + "07000000",
                "pointers": [
                    {"at": 0, "buffer": 0, "offset": 0, "length": 64},
                    {"at": 8, "slot": 1, "offset": 16, "length": None},
                ],
                "accesses": [],
                "numbers": [],
                "cooperative": False,
                "priority": 0,
                "arguments": ["y: float* = `y`[0:64]", "x: float* = slot 1[16:]", "a: float = 2.5", "n: uint = 7"],
            },
            {
                "kind": "copy",
                "label": None,
                "source": {"buffer": 0, "offset": 0, "length": 64},
                "target": {"buffer": 3, "offset": 0, "length": 64},
            },
        ],
        "layers": [[0, 1], [2], [3]],
        "dependencies": None,
        "groups": [],
        "slot_names": {},
    }


def test_groups_are_ranges_of_commands():
    assert json.loads(grouped().to_json())["groups"] == [
        {"label": "outer", "start": 1, "stop": 4, "depth": 0},
        {"label": "first", "start": 2, "stop": 3, "depth": 1},
        {"label": "second", "start": 3, "stop": 4, "depth": 1},
        {"label": "tail", "start": 4, "stop": 5, "depth": 0},
    ]


def test_declared_accesses_are_listed():
    x = FakeBuffer(64)
    with CommandBuffer() as cb:
        cb.dispatch(saxpy(), 1, 64, args=[x, x, 1.0, 1], reads=[x], writes=[x.view(8, 8)])
    (command,) = json.loads(cb.recording.to_json())["commands"]
    assert command["accesses"] == [
        {"buffer": 0, "offset": 0, "length": 64, "reads": True, "writes": False},
        {"buffer": 0, "offset": 8, "length": 8, "reads": False, "writes": True},
    ]


def test_hostile_names_come_back_as_they_were_and_the_text_is_ascii():
    text = hostile().to_json()
    assert text.isascii()
    read = json.loads(text)
    assert read["label"] == read["buffers"][0]["label"] == read["groups"][0]["label"] == HOSTILE
    assert read["commands"][1]["export"] == HOSTILE


def test_the_text_can_be_one_line():
    assert step().to_json(indent=None).count("\n") == 1


def test_the_origin_of_a_kernel_is_shown_where_a_wrapper_says_it():
    debug = ("it", ("model.mlir", 3), [])
    data = wrapped(b"AMD1", [Export("k.kd", (64, 1, 1), debug=debug)], [elf.code_object(elf.kernel("k"))])
    with CommandBuffer() as cb:
        cb.dispatch(FakeExecutable(inspect(data))["k"], 1)
    (executable,) = json.loads(cb.recording.to_json())["executables"]
    assert executable["origins"] == {"k": "model.mlir:3"}
    assert "from model.mlir:3" in cb.recording.to_dot()

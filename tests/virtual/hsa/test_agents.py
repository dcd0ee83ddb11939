"""What the system, agents and instruction sets say about themselves, and how calls on them are refused."""

from __future__ import annotations

import ctypes
import time

import pytest
from support.devices import VIRTUAL_GPUS
from support.hsa_client import HandleCallback, out

U8, U16, U32, U64 = ctypes.c_uint8, ctypes.c_uint16, ctypes.c_uint32, ctypes.c_uint64


def agent_info(client, agent, attribute, kind=U32):
    return out(client.hsa.hsa_agent_get_info, agent, attribute, kind=kind)


def test_there_are_one_cpu_and_the_gpus(client):
    agents = client.iterate("hsa_iterate_agents")
    assert [agent_info(client, agent, 17) for agent in agents] == [0] + [1] * len(VIRTUAL_GPUS)  # device type
    assert [agent_info(client, agent, 16) for agent in agents] == list(range(len(VIRTUAL_GPUS) + 1))  # node


def test_an_iteration_ends_with_what_the_callback_returns(client):
    seen = []
    callback = HandleCallback(lambda agent, _: seen.append(agent) or 1)
    assert client.hsa.hsa_iterate_agents(callback, None) == 1
    assert seen == [client.cpu]
    assert client.hsa.hsa_iterate_agents(None, None) == 0x1001


def test_texts_of_a_gpu(client):
    text = ctypes.create_string_buffer(64)
    for attribute, expected in ((0, b"gfx942"), (1, b"AMD"), (0xA009, b"Virtual AMD Instinct MI300X")):
        assert client.hsa.hsa_agent_get_info(client.gpu, attribute, text) == 0
        assert text.value == expected
    uuid = ctypes.create_string_buffer(21)
    assert client.hsa.hsa_agent_get_info(client.gpu, 0xA011, uuid) == 0
    assert uuid.value.startswith(b"GPU-")


def test_limits_of_a_gpu(client):
    assert agent_info(client, client.gpu, 2) == 1  # kernel dispatch
    assert (agent_info(client, client.gpu, 4), agent_info(client, client.gpu, 5)) == (0, 2)  # base profile, near
    assert agent_info(client, client.gpu, 6) == 64
    assert list(agent_info(client, client.gpu, 7, U16 * 3)) == [1024] * 3
    assert agent_info(client, client.gpu, 8) == 1024
    assert list(agent_info(client, client.gpu, 9, U32 * 3)) == [0xFFFFFFFF] * 3
    assert [agent_info(client, client.gpu, attribute) for attribute in (13, 14)] == [64, 131072]
    assert agent_info(client, client.gpu, 0xA002) == 304


def test_a_gpu_has_no_images_and_says_how_rows_are_aligned(client):
    extensions = agent_info(client, client.gpu, 20, U8 * 128)
    assert [index for index in range(1024) if extensions[index // 8] >> index % 8 & 1] == [1]
    lengths = {0x3003: 2, 0x3004: 2, 0x3005: 2, 0x3006: 2, 0x3007: 3}
    for attribute in range(0x3000, 0x300C):
        count = lengths.get(attribute, 1)
        assert list(agent_info(client, client.gpu, attribute, U32 * count)) == [0] * count
    assert agent_info(client, client.gpu, 0x300C) == 256
    assert client.hsa.hsa_agent_get_info(client.cpu, 0x300C, ctypes.byref(U32())) == 0x1001


def test_a_cpu_knows_what_amds_runtime_asks_of_it(client):
    name = ctypes.create_string_buffer(64)
    assert client.hsa.hsa_agent_get_info(client.cpu, 0xA009, name) == 0
    assert name.value == b"virtual CPU"
    numbers = (0xA006, 0xA007, 0xA008, 0xA00A, 0xA00B, 0xA00C, 0xA00D)
    assert [agent_info(client, client.cpu, attribute) for attribute in numbers] == [0] * 7


def test_memory_that_is_left_is_reported(client):
    before = agent_info(client, client.gpu, 0xA015, U64)
    client.allocate(1000)
    assert agent_info(client, client.gpu, 0xA015, U64) == before - 1000


def test_the_instruction_set_is_named_with_its_features(client):
    (isa,) = client.iterate("hsa_agent_iterate_isas", client.gpu)
    name = ctypes.create_string_buffer(out(client.hsa.hsa_isa_get_info_alt, isa, 0, kind=U32))
    assert client.hsa.hsa_isa_get_info_alt(isa, 1, name) == 0
    assert name.raw == b"amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-\0"
    assert out(client.hsa.hsa_isa_from_name, name.value) == isa
    assert out(client.hsa.hsa_isa_compatible, isa, isa, kind=ctypes.c_bool) is True
    assert list(out(client.hsa.hsa_isa_get_info_alt, isa, 12, kind=U16 * 3)) == [1024] * 3
    (wavefront,) = client.iterate("hsa_isa_iterate_wavefronts", isa)
    assert out(client.hsa.hsa_wavefront_get_info, wavefront, 0, kind=U32) == 64


def test_time_goes_on_at_the_reported_rate(client):
    rate = out(client.hsa.hsa_system_get_info, 3)
    assert 1_000_000 <= rate <= 400_000_000
    times = [time.perf_counter()]
    ticks = out(client.hsa.hsa_system_get_info, 2)
    times.append(time.perf_counter())
    time.sleep(0.05)
    times.append(time.perf_counter())
    seconds = (out(client.hsa.hsa_system_get_info, 2) - ticks) / rate
    times.append(time.perf_counter())
    assert times[2] - times[1] - 0.001 < seconds < times[3] - times[0] + 0.001


def test_the_system_is_little_endian_with_large_addresses_and_the_loaders_extension(client):
    assert (out(client.hsa.hsa_system_get_info, 0, kind=U16), out(client.hsa.hsa_system_get_info, 1, kind=U16)) == (
        1,
        1,
    )
    assert out(client.hsa.hsa_system_get_info, 5, kind=U32) == 0
    assert out(client.hsa.hsa_system_get_info, 6, kind=U32) == 1
    bits = bytes(out(client.hsa.hsa_system_get_info, 7, kind=U8 * 128))
    assert [number for number in range(1024) if bits[number // 8] >> number % 8 & 1] == [0x201]
    minor = U16()
    major = client.hsa.hsa_system_major_extension_supported
    assert out(lambda value: major(0x201, 1, ctypes.byref(minor), value), kind=ctypes.c_bool) is True
    assert minor.value == 3


INVALID_ARGUMENT, INVALID_AGENT, INVALID_QUEUE, INVALID_ISA = 0x1001, 0x1004, 0x1007, 0x100F
ROOM = (ctypes.c_uint64 * 32)()
BAD_CALLS = {
    "agent: none": ("hsa_agent_get_info", (5, 0, ROOM), INVALID_AGENT),
    "agent: nowhere to write": ("hsa_agent_get_info", ("gpu", 0, None), INVALID_ARGUMENT),
    "agent: unknown attribute": ("hsa_agent_get_info", ("gpu", 999, ROOM), INVALID_ARGUMENT),
    "system: unknown attribute": ("hsa_system_get_info", (999, ROOM), INVALID_ARGUMENT),
    "system: nowhere to write": ("hsa_system_get_info", (0, None), INVALID_ARGUMENT),
    "isa: none": ("hsa_isa_get_info_alt", (5, 0, ROOM), INVALID_ISA),
    "isa: unknown name": ("hsa_isa_from_name", (b"amdgcn-amd-amdhsa--gfx000", ROOM), 0x1017),
    "wavefront: none": ("hsa_wavefront_get_info", (5, 0, ROOM), 0x1023),
    "pool: none": ("hsa_amd_memory_pool_get_info", (5, 0, ROOM), 40),
    "region: none": ("hsa_region_get_info", (5, 0, ROOM), 0x1005),
    "signal: nowhere to write": ("hsa_signal_create", (1, 0, None, None), INVALID_ARGUMENT),
    "signal: consumers missing": ("hsa_signal_create", (1, 2, None, ROOM), INVALID_ARGUMENT),
    "signal: none": ("hsa_signal_destroy", (5,), 0x1006),
    "signal: handle 0": ("hsa_signal_destroy", (0,), INVALID_ARGUMENT),
    "handler: no signal": ("hsa_amd_signal_async_handler", (5, 0, 0, 1, None), 0x1006),
    "queue: no agent": ("hsa_queue_create", (5, 64, 0, None, None, 0, 0, ROOM), INVALID_AGENT),
    "queue: of the CPU": ("hsa_queue_create", ("cpu", 64, 0, None, None, 0, 0, ROOM), 0x1002),
    "queue: cooperative, of the CPU": ("hsa_queue_create", ("cpu", 64, 2, None, None, 0, 0, ROOM), 0x1002),
    "queue: unknown type": ("hsa_queue_create", ("gpu", 64, 9, None, None, 0, 0, ROOM), INVALID_ARGUMENT),
    "queue: size 0": ("hsa_queue_create", ("gpu", 0, 0, None, None, 0, 0, ROOM), INVALID_ARGUMENT),
    "queue: size 65": ("hsa_queue_create", ("gpu", 65, 0, None, None, 0, 0, ROOM), INVALID_ARGUMENT),
    "queue: too large": ("hsa_queue_create", ("gpu", 1 << 18, 0, None, None, 0, 0, ROOM), INVALID_ARGUMENT),
    "queue: nowhere to write": ("hsa_queue_create", ("gpu", 64, 0, None, None, 0, 0, None), INVALID_ARGUMENT),
    "queue: none": ("hsa_queue_destroy", (4096,), INVALID_QUEUE),
    "queue: NULL": ("hsa_queue_destroy", (None,), INVALID_ARGUMENT),
    "queue: none to inactivate": ("hsa_queue_inactivate", (4096,), INVALID_QUEUE),
    "profiling: no queue": ("hsa_amd_profiling_set_profiler_enabled", (4096, 1), INVALID_QUEUE),
    "profiling: no signal": ("hsa_amd_profiling_get_dispatch_time", ("gpu", 5, ROOM), 0x1006),
    "priority: unknown": ("hsa_amd_queue_set_priority", (4096, 9), INVALID_ARGUMENT),
    "reader: none": ("hsa_code_object_reader_destroy", (5,), 0x1021),
    "reader: no bytes": ("hsa_code_object_reader_create_from_memory", (None, 8, ROOM), INVALID_ARGUMENT),
    "reader: size 0": ("hsa_code_object_reader_create_from_memory", (b"x", 0, ROOM), INVALID_ARGUMENT),
    "reader: no file": ("hsa_code_object_reader_create_from_file", (-1, ROOM), 0x1020),
    "executable: unknown profile": ("hsa_executable_create_alt", (7, 0, None, ROOM), INVALID_ARGUMENT),
    "executable: none": ("hsa_executable_freeze", (5, None), 0x1011),
    "executable: none to validate": ("hsa_executable_validate", (5, ROOM), 0x1011),
    "symbol: none": ("hsa_executable_symbol_get_info", (5, 0, ROOM), 0x1019),
    "symbol: no executable": ("hsa_executable_get_symbol_by_name", (5, b"x", None, ROOM), 0x1011),
    "group: none": ("hsa_signal_group_destroy", (5,), 0x1024),
    "group: empty": ("hsa_signal_group_create", (0, None, 0, None, ROOM), INVALID_ARGUMENT),
    "copy: no agent": ("hsa_amd_memory_async_copy", (ROOM, 5, ROOM, 5, 8, 0, None, 5), INVALID_AGENT),
    "copy: no signal": ("hsa_amd_memory_async_copy", (ROOM, "gpu", ROOM, "gpu", 8, 0, None, 5), 0x1006),
    "pointer: NULL": ("hsa_amd_pointer_info", (None, ROOM, None, None, None), INVALID_ARGUMENT),
    "events: no handler": ("hsa_amd_register_system_event_handler", (None, None), INVALID_ARGUMENT),
    "extension: no table": ("hsa_system_get_major_extension_table", (0x201, 1, 56, None), INVALID_ARGUMENT),
}


@pytest.mark.parametrize("what", BAD_CALLS)
def test_a_bad_call_is_refused_with_its_status(client, what):
    name, arguments, status = BAD_CALLS[what]
    arguments = [getattr(client, item) if item in ("cpu", "gpu") else item for item in arguments]
    assert getattr(client.hsa, name)(*arguments) == status

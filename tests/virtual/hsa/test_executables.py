"""Code objects: readers, executables, symbols, the loader's table."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import pytest
from elftools.elf.elffile import ELFFile
from support.hsa_client import CORPUS, dispatch, out

from hipgraph_cb.abi.hsa.structures import SegmentDescriptor

KERNELS = CORPUS / "clang" / "k_cl.gfx942.hsaco"
CONFORMANCE = Path(__file__).resolve().parents[2] / "fixtures" / "conformance" / "conformance.gfx942.hsaco"
INVALID_ARGUMENT, INCOMPATIBLE_ARGUMENTS, INVALID_CODE_OBJECT = 0x1001, 0x100D, 0x1010
INVALID_EXECUTABLE, FROZEN, INVALID_SYMBOL_NAME, ALREADY_DEFINED = 0x1011, 0x1012, 0x1013, 0x1014


@pytest.fixture
def conformance(client):
    return client.load(CONFORMANCE.read_bytes())


def status_of_loading(client, code, agent=None):
    reader = out(client.hsa.hsa_code_object_reader_create_from_memory, code, len(code))
    executable = out(client.hsa.hsa_executable_create_alt, 1, 0, None)
    load = client.hsa.hsa_executable_load_agent_code_object
    status = load(executable, agent or client.gpu, reader, None, None)
    assert client.hsa.hsa_executable_destroy(executable) == 0
    assert client.hsa.hsa_code_object_reader_destroy(reader) == 0
    return status


def test_code_for_another_processor_is_refused_with_both_names(client, library):
    assert status_of_loading(client, (CORPUS / "clang/k_cl.gfx90a.hsaco").read_bytes()) == INCOMPATIBLE_ARGUMENTS
    assert "gfx90a" in library.fault_report()
    assert "gfx942" in library.fault_report()


@pytest.mark.parametrize("size", [1, 64, 200, 1000, 5000])
def test_a_truncated_code_object_is_refused(client, size):
    assert status_of_loading(client, KERNELS.read_bytes()[:size]) == INVALID_CODE_OBJECT


def test_the_cpu_runs_no_code_objects(client):
    assert status_of_loading(client, KERNELS.read_bytes(), client.cpu) == 0x1004


def test_a_reader_never_reads_beyond_the_memory_it_is_given(client):
    reader = ctypes.c_uint64()
    create = client.hsa.hsa_code_object_reader_create_from_memory
    assert create(16, 1000, ctypes.byref(reader)) == INVALID_ARGUMENT


def test_a_file_is_read_whole_or_in_part(client, tmp_path):
    data = KERNELS.read_bytes()
    path = tmp_path / "padded"
    path.write_bytes(b"pad " * 4 + data)
    table = loader_table(client)
    with KERNELS.open("rb") as whole, path.open("rb") as padded:
        first = out(client.hsa.hsa_code_object_reader_create_from_file, whole.fileno())
        create = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_void_p)
        second = ctypes.c_uint64()
        assert create(table[5])(padded.fileno(), 16, len(data), ctypes.addressof(second)) == 0
        assert create(table[5])(padded.fileno(), 100, len(data), ctypes.addressof(second)) == 0x1020
    for reader in (first, second.value):
        executable = out(client.hsa.hsa_executable_create_alt, 1, 0, None)
        assert client.hsa.hsa_executable_load_agent_code_object(executable, client.gpu, reader, None, None) == 0
        assert client.hsa.hsa_executable_destroy(executable) == 0
        assert client.hsa.hsa_code_object_reader_destroy(reader) == 0


def test_a_frozen_executable_takes_nothing_more(client, module):
    hsa = client.hsa
    load = hsa.hsa_executable_load_agent_code_object
    assert load(module.executable, client.gpu, module.reader, None, None) == FROZEN
    assert hsa.hsa_executable_freeze(module.executable, None) == FROZEN
    assert out(hsa.hsa_executable_get_info, module.executable, 2, kind=ctypes.c_uint32) == 1
    assert out(hsa.hsa_executable_validate, module.executable, kind=ctypes.c_uint32) == 0


def test_a_symbol_is_defined_once_for_an_agent(client, module, library):
    executable = out(client.hsa.hsa_executable_create_alt, 1, 0, None)
    load = client.hsa.hsa_executable_load_agent_code_object
    assert load(executable, client.gpu, module.reader, None, None) == 0
    before = library.machine.memory.live_bytes
    assert load(executable, client.gpu, module.reader, None, None) == ALREADY_DEFINED
    assert library.machine.memory.live_bytes == before
    assert client.hsa.hsa_executable_destroy(executable) == 0
    assert client.hsa.hsa_executable_destroy(executable) == INVALID_EXECUTABLE


def test_facts_of_a_kernel_are_those_of_its_descriptor(module):
    with KERNELS.open("rb") as file:
        elf = ELFFile(file)
        symbol = elf.get_section_by_name(".dynsym").get_symbol_by_name("hist.kd")[0]
        section = elf.get_section(symbol["st_shndx"])
        start = symbol["st_value"] - section["sh_addr"]
        group, private, kernarg = np.frombuffer(section.data()[start : start + 12], np.uint32)
    u32 = ctypes.c_uint32
    assert [module.info("hist.kd", attribute, u32) for attribute in (0, 11, 13, 14)] == [1, kernarg, group, private]
    assert module.info("hist.kd", 15, ctypes.c_bool) is False
    assert module.info("hist.kd", 12, u32) == 16
    assert module.info("hist.kd", 22) % 64 == 0


def test_a_variable_has_an_address_and_a_size(client, conformance):
    assert conformance.info("table", 0, ctypes.c_uint32) == 0
    assert conformance.info("table", 9, ctypes.c_uint32) == 16
    assert list(client.read(conformance.info("table", 21), 4, np.uint32)) == [10, 20, 30, 40]


def test_facts_of_a_kernel_are_none_of_a_variable(client, conformance):
    value = ctypes.c_uint64()
    info = client.hsa.hsa_executable_symbol_get_info
    assert info(conformance.symbol("table"), 22, ctypes.byref(value)) == INVALID_ARGUMENT
    assert info(conformance.symbol("count_up.kd"), 21, ctypes.byref(value)) == INVALID_ARGUMENT
    assert info(1, 0, ctypes.byref(value)) == 0x1019


def test_a_kernel_finds_its_variables_through_relocations(client, conformance, queue):
    """count_up adds table[out[0] & 3] to counter, which starts with 7."""
    result, done = client.upload(np.array([2], np.uint32)), client.signal()
    shape = (1, 1, 1)
    kernarg = conformance.kernargs("count_up", shape, shape, "Q", result)
    queue.submit(dispatch(kernarg, shape, shape, **conformance.kernel("count_up"), completion=done))
    assert client.wait(done) == 0
    assert client.read(conformance.info("counter", 21), 1, np.uint32)[0] == 7 + 30


OUTSIDE = Path(__file__).resolve().parents[2] / "fixtures" / "loader" / "outside.gfx942.hsaco"


def test_a_variable_that_the_code_object_leaves_open_has_to_be_defined(client, library):
    assert status_of_loading(client, OUTSIDE.read_bytes()) == 0x1015
    assert "'outside'" in library.fault_report()


@pytest.mark.parametrize("whose", ["the agent's", "the program's"])
def test_a_variable_that_the_program_defines_is_used(client, queue, whose):
    variable, y, done = client.upload(np.array([41], np.uint32)), client.allocate(4), client.signal()

    def define(hsa, executable):
        if whose == "the agent's":
            assert hsa.hsa_executable_agent_global_variable_define(executable, client.gpu, b"outside", variable) == 0
        else:
            assert hsa.hsa_executable_global_variable_define(executable, b"outside", variable) == 0
            assert hsa.hsa_executable_global_variable_define(executable, b"outside", variable) == ALREADY_DEFINED

    module = client.load(OUTSIDE.read_bytes(), prepare=define)
    shape = (1, 1, 1)
    kernarg = module.kernargs("add_outside", shape, shape, "Q", y)
    queue.submit(dispatch(kernarg, shape, shape, **module.kernel("add_outside"), completion=done))
    assert client.wait(done) == 0
    assert (client.read(y, 1, np.uint32)[0], client.read(variable, 1, np.uint32)[0]) == (42, 5)
    assert client.hsa.hsa_executable_global_variable_define(module.executable, b"other", variable) == FROZEN


def test_a_symbol_that_is_not_there_is_reported_with_those_that_are(client, module, library):
    symbol, agent = ctypes.c_uint64(), ctypes.c_uint64(client.gpu)
    find = client.hsa.hsa_executable_get_symbol_by_name
    missing = find(module.executable, b"saxpy", ctypes.byref(agent), ctypes.byref(symbol))
    assert missing == INVALID_SYMBOL_NAME
    assert "saxpy.kd" in library.fault_report()
    assert find(module.executable, b"saxpy.kd", None, ctypes.byref(symbol)) == INVALID_SYMBOL_NAME


def test_all_symbols_are_iterated(client, conformance):
    names = set()

    def note(executable, agent, symbol, data):
        length = out(client.hsa.hsa_executable_symbol_get_info, symbol, 1, kind=ctypes.c_uint32)
        name = ctypes.create_string_buffer(length)
        assert client.hsa.hsa_executable_symbol_get_info(symbol, 2, name) == 0
        names.add(name.raw.decode())
        return 0

    callback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_void_p)(note)
    iterate = client.hsa.hsa_executable_iterate_agent_symbols
    assert iterate(conformance.executable, client.gpu, callback, None) == 0
    assert {"table", "counter", "count_up.kd", "saxpby.kd"} < names


def test_an_iteration_ends_with_what_the_callback_returns(client, module):
    stop = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_void_p)(lambda *_: 1)
    assert client.hsa.hsa_executable_iterate_symbols(module.executable, stop, None) == 1


# -- the loader's extension --------------------------------------------------------------------------------------------


def loader_table(client, length=56):
    table = (ctypes.c_uint64 * 7)()
    assert client.hsa.hsa_system_get_major_extension_table(0x201, 1, length, table) == 0
    return list(table)


def test_the_table_is_as_long_as_requested(client):
    assert all(loader_table(client))
    assert [bool(entry) for entry in loader_table(client, 24)] == [True] * 3 + [False] * 4
    table = (ctypes.c_uint64 * 7)()
    assert client.hsa.hsa_system_get_extension_table(0x201, 1, 1, table) == 0
    assert [bool(entry) for entry in table] == [True] * 5 + [False] * 2
    assert client.hsa.hsa_system_get_major_extension_table(0x201, 2, 56, table) == 0x1000
    assert client.hsa.hsa_system_get_major_extension_table(1, 1, 56, table) == 0x1000


def test_device_addresses_of_code_are_host_addresses(client, module):
    query = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_uint64, ctypes.c_void_p)(loader_table(client)[0])
    kernel, host = module.info("saxpy.kd", 22), ctypes.c_uint64()
    assert query(kernel, ctypes.addressof(host)) == 0
    assert host.value == kernel
    assert query(4096, ctypes.addressof(host)) == INVALID_ARGUMENT


def test_loaded_code_objects_report_their_range(client, module):
    table = loader_table(client)
    found = []
    callback_type = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_void_p)
    callback = callback_type(lambda executable, loaded, _: found.append((executable, loaded)) or 0)
    iterate = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_uint64, callback_type, ctypes.c_void_p)(table[3])
    assert iterate(module.executable, callback, None) == 0
    assert found == [(module.executable, module.loaded)]
    info = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_uint64, ctypes.c_int, ctypes.c_void_p)(table[4])
    base, size = ctypes.c_uint64(), ctypes.c_uint64()
    assert info(module.loaded, 9, ctypes.addressof(base)) == 0
    assert info(module.loaded, 10, ctypes.addressof(size)) == 0
    with KERNELS.open("rb") as file:
        segments = [segment for segment in ELFFile(file).iter_segments() if segment["p_type"] == "PT_LOAD"]
        extent = max(segment["p_vaddr"] + segment["p_memsz"] for segment in segments)
    assert size.value == extent
    assert base.value <= module.info("saxpy.kd", 22) < base.value + extent


def test_segments_are_described(client, module):
    query = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(loader_table(client)[1])
    count = ctypes.c_uint64(0)
    assert query(None, ctypes.addressof(count)) == 0
    table = (SegmentDescriptor * count.value)()
    assert query(ctypes.addressof(table), ctypes.addressof(count)) == 0
    ours = [entry for entry in table if entry.executable == module.executable]
    assert [entry.code_object_storage_base for entry in ours] == [ctypes.addressof(module.code)] * len(ours)
    with KERNELS.open("rb") as file:
        segments = [segment for segment in ELFFile(file).iter_segments() if segment["p_type"] == "PT_LOAD"]
    assert [(entry.segment_size, entry.code_object_storage_offset) for entry in ours] == [
        (segment["p_memsz"], segment["p_offset"]) for segment in segments
    ]

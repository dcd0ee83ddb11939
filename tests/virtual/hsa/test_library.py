"""The shared object itself: its name, the version of its symbols, and that it exports what AMD's does."""

from __future__ import annotations

import ctypes
import re
from pathlib import Path

from support.tools import run_tool

from hipgraph_cb.virtual.hsa.library import SYMBOL_VERSION

# What AMD's libamdhip64 6.4.3 and 7.2.4 were seen to call, beside what a plain client needs.
CALLED_BY_HIP = """
hsa_init hsa_iterate_agents hsa_agent_get_info hsa_agent_iterate_isas hsa_isa_get_info_alt hsa_system_get_info
hsa_system_get_major_extension_table hsa_amd_agent_iterate_memory_pools hsa_amd_memory_pool_get_info
hsa_amd_agent_memory_pool_get_info hsa_amd_memory_copy_engine_status hsa_amd_memory_pool_allocate
hsa_amd_agents_allow_access hsa_signal_create hsa_amd_pointer_info hsa_queue_create
hsa_amd_profiling_set_profiler_enabled hsa_amd_signal_create hsa_amd_signal_async_handler hsa_signal_load_relaxed
hsa_signal_silent_store_relaxed hsa_signal_store_screlease hsa_signal_wait_scacquire
hsa_queue_add_write_index_screlease hsa_queue_load_read_index_relaxed hsa_queue_load_read_index_scacquire
hsa_code_object_reader_create_from_memory hsa_executable_create_alt hsa_executable_load_agent_code_object
hsa_executable_freeze hsa_executable_get_symbol_by_name hsa_executable_iterate_symbols hsa_executable_symbol_get_info
hsa_amd_profiling_get_dispatch_time hsa_amd_memory_lock_to_pool hsa_amd_memory_unlock
hsa_amd_memory_async_copy_on_engine hsa_amd_memory_pool_free hsa_executable_destroy hsa_code_object_reader_destroy
hsa_signal_destroy hsa_amd_memory_get_preferred_copy_engine hsa_amd_register_system_event_handler
hsa_queue_load_write_index_relaxed hsa_amd_memory_async_copy_rect hsa_queue_destroy hsa_amd_queue_set_priority
hsa_executable_global_variable_define hsa_amd_vmem_address_reserve hsa_amd_ipc_memory_create
hsa_amd_svm_prefetch_async hsa_ext_image_create hsa_ext_sampler_create hsa_amd_interop_map_buffer
hsa_amd_queue_cu_set_mask hsa_status_string
"""


def test_every_function_carries_amds_version_node(library):
    dlvsym = ctypes.CDLL(None).dlvsym
    dlvsym.restype, dlvsym.argtypes = ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p]
    opened = ctypes.CDLL("libhsa-runtime64.so.1")
    missing = [name for name in library.functions if not dlvsym(opened._handle, name.encode(), b"ROCR_1")]
    assert (SYMBOL_VERSION, missing) == ("ROCR_1", [])
    assert not dlvsym(opened._handle, b"hsa_init", b"ROCR_2")


def test_llvm_reads_the_name_and_all_functions(library, tmp_path):
    path = tmp_path / "library"
    path.write_bytes(Path(library.library_path).read_bytes())
    listed = run_tool("llvm-readelf-19", "--dyn-syms", "--dynamic", str(path))
    assert "[libhsa-runtime64.so.1]" in listed
    assert set(re.findall(r"FUNC +GLOBAL DEFAULT +\d+ (hsa_\w+)", listed)) == set(library.functions)


def test_what_amds_hip_library_calls_is_there(library):
    assert set(CALLED_BY_HIP.split()) <= set(library.functions)


def test_a_function_that_is_only_there_to_be_imported_says_so(client, library):
    assert client.hsa.hsa_amd_memory_migrate() == 47
    assert library.fault_report() == "hsa_amd_memory_migrate: the virtual GPU does not have this"


def test_the_status_codes_have_names_and_texts(client):
    text = ctypes.c_char_p()
    for status, expected in (
        (0, b"HSA_STATUS_SUCCESS: the function succeeded"),
        (0x1000, b"HSA_STATUS_ERROR: an error without a more exact code"),
        (0x1006, b"HSA_STATUS_ERROR_INVALID_SIGNAL: invalid signal"),
        (44, b"HSA_STATUS_CU_MASK_REDUCED: the mask names compute units that the process may not use"),
    ):
        assert client.hsa.hsa_status_string(status, ctypes.byref(text)) == 0
        assert text.value == expected
    assert client.hsa.hsa_status_string(12345, ctypes.byref(text)) == 0x1001

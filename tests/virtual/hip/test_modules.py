"""Modules, functions, launches."""

from __future__ import annotations

import ctypes
import mmap

import numpy as np
import pytest
from support.bundle import bundle_of
from support.hip_program import CORPUS, KERNELS, Arguments, code_of, done

from hipgraph_cb.virtual.mapped_code import read_code, read_mapped


def test_what_is_no_elf_file_is_an_invalid_image(hip):
    assert code_of(hip.hipModuleLoadData(b"\x7fELF" + bytes(100))) == 200
    assert code_of(hip.hipModuleLoadData(b"not at all" * 10)) == 200


def test_code_for_another_processor_has_no_binary_for_this_gpu(hip, runtime):
    assert code_of(hip.hipModuleLoadData((CORPUS / "clang" / "k_cl.gfx90a.hsaco").read_bytes())) == 209
    assert "gfx90a" in runtime.fault_report()
    assert "gfx942" in runtime.fault_report()


@pytest.fixture
def last_page():
    """A page with nothing mapped behind it."""
    libc = ctypes.CDLL(None)
    libc.mprotect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    memory = mmap.mmap(-1, 2 * 4096)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    assert libc.mprotect(address + 4096, 4096, 0) == 0
    yield memory, address
    assert libc.mprotect(address + 4096, 4096, 3) == 0


@pytest.mark.parametrize("size", [64, 120, 1000, 4096])
def test_a_truncated_code_object_at_the_end_of_memory_is_refused(hip, last_page, size):
    memory, address = last_page
    start = 4096 - size
    memory[start:4096] = KERNELS.read_bytes()[:size]
    assert code_of(hip.hipModuleLoadData(address + start)) == 200


def test_reading_stops_where_memory_ends(last_page):
    memory, address = last_page
    memory[4000:4096] = bytes(range(96))
    assert read_mapped(address + 4000, 1 << 20) == bytes(range(96))
    assert read_mapped(0, 100) == b""


def test_the_length_of_a_code_object_is_inferred():
    data = KERNELS.read_bytes()
    buffer = ctypes.create_string_buffer(data + b"tail" * 100)
    assert read_code(ctypes.addressof(buffer)) == data


def test_functions_are_found_by_name(hip, runtime):
    module = done(hip.hipModuleLoadData(KERNELS.read_bytes()))
    assert int(done(hip.hipModuleGetFunction(module, b"saxpy"))) == int(
        done(hip.hipModuleGetFunction(module, b"saxpy"))
    )
    assert code_of(hip.hipModuleGetFunction(module, b"")) == 1
    assert code_of(hip.hipModuleGetFunction(None, b"saxpy")) == 400
    assert code_of(hip.hipModuleGetFunction(module, b"nothing")) == 500
    assert "no kernel is called nothing; there are: " in runtime.fault_report()
    done(hip.hipModuleUnload(module))
    assert code_of(hip.hipModuleUnload(module)) == 500
    assert code_of(hip.hipModuleUnload(None)) == 400


def test_function_attributes_come_from_the_code_object(hip, program):
    saxpy = program.function()
    attributes = hip.hipFunction_attribute
    assert done(hip.hipFuncGetAttribute(attributes.HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, saxpy)) == 256
    assert done(hip.hipFuncGetAttribute(attributes.HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, saxpy)) == 0


def test_arguments_may_come_as_one_buffer(hip, program):
    n = 100
    x, y = program.upload(np.arange(n, dtype=np.float32)), program.upload(np.ones(n, np.float32))
    saxpy = program.function()
    block = np.array([(y, x, 3.0, n)], dtype=[("y", "u8"), ("x", "u8"), ("a", "f4"), ("n", "u4")])
    size = ctypes.c_size_t(block.nbytes)
    extra = (ctypes.c_void_p * 5)(1, block.ctypes.data, 2, ctypes.addressof(size), 3)
    done(hip.hipModuleLaunchKernel(saxpy, 2, 1, 1, 64, 1, 1, 0, None, None, extra))
    assert (program.download(y, n) == 3 * np.arange(n, dtype=np.float32) + 1).all()


def test_arguments_are_given_one_way_or_the_other(hip, program):
    saxpy = program.function()
    arguments = program.saxpy(0, 0, 1.0, 0)
    extra = (ctypes.c_void_p * 1)(3)
    launch = [saxpy, 1, 1, 1, 64, 1, 1, 0, None]
    assert code_of(hip.hipModuleLaunchKernel(*launch, arguments.table, extra)) == 1
    assert code_of(hip.hipModuleLaunchKernel(*launch, None, None)) == 1


def test_a_block_larger_than_the_kernel_was_compiled_for_is_explained(hip, program, runtime):
    saxpy = program.function()
    assert code_of(program.launch(saxpy, program.saxpy(0, 0, 1.0, 0), block=1024)) == 719
    assert runtime.fault_report() == (
        "hipModuleLaunchKernel: kernel saxpy was compiled for at most 256 work-items a workgroup, and a block has 1024"
    )


def test_what_is_no_function_is_refused(hip, runtime):
    arguments = Arguments(ctypes.c_int(0))
    launch = [1, 1, 1, 64, 1, 1, 0, None, arguments.table, None]
    assert code_of(hip.hipModuleLaunchKernel(None, *launch)) == 400
    assert code_of(hip.hipModuleLaunchKernel(0x1234, *launch)) == 98
    assert runtime.fault_report() == "hipModuleLaunchKernel: 0x1234 is not a hipFunction_t of a loaded module"


def test_the_code_object_for_the_device_is_taken_from_a_bundle(hip):
    other = (CORPUS / "clang" / "k_cl.gfx90a.hsaco").read_bytes()
    module = done(hip.hipModuleLoadData(bundle_of(gfx90a=other, gfx942=KERNELS.read_bytes())))
    done(hip.hipModuleGetFunction(module, b"saxpy"))
    done(hip.hipModuleUnload(module))


def test_a_bundle_without_code_for_the_device_lists_what_it_has(hip, runtime):
    assert code_of(hip.hipModuleLoadData((CORPUS / "clang" / "h_hip.bundle").read_bytes())) == 209
    assert "built for gfx1100 (processor differs)" in runtime.fault_report()

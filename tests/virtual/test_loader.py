"""A code object in device memory: its bytes, its kernels, its variables and its relocations."""

import struct
from pathlib import Path

import numpy as np
import pytest

from hipgraph_cb.code_object.verify import VerifiedExecutable, verify
from hipgraph_cb.errors import InvalidArgumentError, UnimplementedError
from hipgraph_cb.virtual.loader import load
from hipgraph_cb.virtual.memory import Memory, MemoryFault

FIXTURES = Path(__file__).parents[1] / "fixtures"
# relocated.s, built by clang-19: `pointer` holds the address of `value`, `value` holds 42.
RELOCATED = FIXTURES / "loader" / "relocated.gfx942.hsaco"
RELA_TYPE_OFFSET = 8


@pytest.fixture
def memory() -> Memory:
    return Memory(16 << 20)


def relocation_offset(data: bytes) -> int:
    executable = verify(data)
    dynamic = executable.code_object.dynamic
    return executable.code_object.file_offset(dynamic[7], 24, "the relocation table")


def relocated_with(kind: int, symbol: int) -> VerifiedExecutable:
    data = bytearray(RELOCATED.read_bytes())
    struct.pack_into("<II", data, relocation_offset(bytes(data)) + RELA_TYPE_OFFSET, kind, symbol)
    return verify(bytes(data))


def test_the_code_of_a_kernel_is_the_code_of_the_file(memory: Memory) -> None:
    data = (FIXTURES / "corpus/clang/k_cl.gfx942.hsaco").read_bytes()
    executable = verify(data)
    module = load(memory, executable)
    kernel = module.kernels["saxpy"]
    symbol = executable.code_object.symbols["saxpy"]
    start = executable.code_object.file_offset(symbol.value, symbol.size, "saxpy")
    loaded = memory.bytes(module.address + symbol.value, symbol.size)
    assert loaded.tobytes() == data[start : start + symbol.size]
    entry = kernel.descriptor_address + kernel.descriptor.kernel_code_entry_byte_offset
    assert entry == module.address + symbol.value
    assert kernel.code_address <= entry < kernel.code_address + kernel.code_size


def test_a_relocated_pointer_holds_the_device_address_of_its_variable(memory: Memory) -> None:
    module = load(memory, verify(RELOCATED.read_bytes()))
    pointer, pointer_size = module.globals["pointer"]
    value, value_size = module.globals["value"]
    assert (pointer_size, value_size) == (8, 4)
    assert memory.bytes(pointer, 8).view(np.uint64)[0] == value
    assert memory.bytes(value, 4).view(np.uint32)[0] == 42


def test_two_copies_of_one_code_object_are_independent(memory: Memory) -> None:
    executable = verify(RELOCATED.read_bytes())
    first, second = load(memory, executable), load(memory, executable)
    memory.bytes(first.globals["value"][0], 4).view(np.uint32)[0] = 7
    assert memory.bytes(second.globals["value"][0], 4).view(np.uint32)[0] == 42


def test_an_unloaded_module_is_gone_from_memory(memory: Memory) -> None:
    module = load(memory, verify(RELOCATED.read_bytes()))
    address, _ = module.globals["value"]
    module.unload()
    assert memory.live_bytes == 0
    with pytest.raises(MemoryFault):
        memory.bytes(address, 4)


def test_an_unknown_relocation_is_refused_and_leaves_no_memory_behind(memory: Memory) -> None:
    with pytest.raises(UnimplementedError) as raised:
        load(memory, relocated_with(kind=99, symbol=1))
    assert raised.value.what == "the code object has a relocation of an unknown type"
    assert raised.value.found == "R_AMDGPU type 99"
    assert memory.live_bytes == 0


def test_a_relocation_of_an_undefined_symbol_names_it(memory: Memory) -> None:
    with pytest.raises(InvalidArgumentError) as raised:
        load(memory, relocated_with(kind=3, symbol=1000))
    assert raised.value.what == "a relocation refers to an undefined symbol"
    assert raised.value.found == "'#1000'"
    assert memory.live_bytes == 0

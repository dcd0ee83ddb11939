"""How the HSA library is opened and described, with functions of our own in its place."""

import ctypes
import logging
from pathlib import Path

import pytest
from support.collection import collect

from hipgraph_cb import open_device
from hipgraph_cb.abi.hsa.attributes import AgentInfo, IsaInfo, PoolInfo
from hipgraph_cb.errors import DeadlineExceededError, HsaError, InternalError, NotFoundError, UnavailableError
from hipgraph_cb.hsa import api as api_module
from hipgraph_cb.hsa import native_queue
from hipgraph_cb.hsa.agents import find_agent
from hipgraph_cb.hsa.api import Functions, HsaApi, HsaOutOfMemoryError, Session
from hipgraph_cb.hsa.functions import FUNCTIONS
from hipgraph_cb.hsa.native_queue import LONGEST_GAP, SILENCE, FaultNotice, Stop


class Library:
    """Answers every function with a status; calls are kept in `.calls`."""

    def __init__(self, **statuses):
        self.calls = []
        self._statuses = statuses

    def __getattr__(self, name):
        if name.startswith("_") or self._statuses.get(name) == "missing":
            raise AttributeError(name)

        def function(*arguments):
            self.calls.append(name)
            return self._statuses.get(name, 0)

        self.__dict__[name] = function
        return function


def session(**statuses):
    library = Library(**statuses)
    return library, Session(Functions(library))


def test_a_session_is_shut_down_when_nobody_uses_it():
    library, opened = session()
    api = HsaApi(opened)
    del opened
    collect()
    assert library.calls == ["hsa_init", "hsa_amd_register_system_event_handler"]
    del api
    collect()
    assert library.calls[-1] == "hsa_shut_down"


def test_a_session_that_does_not_start_leaves_nothing_behind():
    library = Library(hsa_init=0x1008)
    with pytest.raises(HsaError) as caught:
        Session(Functions(library))
    assert str(caught.value) == "hsa_init returned 4104 (HSA_STATUS_ERROR_OUT_OF_RESOURCES)"
    assert library.calls == ["hsa_init"]


def test_a_handler_that_is_refused_shuts_the_session_down():
    library = Library(hsa_amd_register_system_event_handler=0x1000)
    with pytest.raises(HsaError):
        Session(Functions(library))
    assert library.calls == ["hsa_init", "hsa_amd_register_system_event_handler", "hsa_shut_down"]


def test_a_shutdown_that_fails_is_logged(caplog):
    _library, opened = session(hsa_shut_down=0x100B)
    with caplog.at_level(logging.WARNING):
        del opened
        collect()
    assert caplog.messages == [
        "a release failed and counts as done: hsa_shut_down returned 4107 (HSA_STATUS_ERROR_NOT_INITIALIZED)"
    ]


def test_a_missing_library_is_named(monkeypatch):
    monkeypatch.setattr(api_module, "SONAME", "libno-such-runtime64.so.1")
    monkeypatch.setattr(api_module, "_current", None)
    with pytest.raises(UnavailableError) as caught:
        Session.current()
    assert str(caught.value).startswith(
        "libno-such-runtime64.so.1 cannot be loaded\n  found: libno-such-runtime64.so.1"
    )
    assert caught.value.next_step == "install ROCm, or set HIPGRAPH_CB_VIRTUAL=gfx942 to use a virtual GPU"


def test_a_missing_function_is_named():
    _library, opened = session(hsa_memory_copy="missing")
    with pytest.raises(UnavailableError) as caught:
        HsaApi(opened).call("hsa_memory_copy", 0, 0, 0)
    assert str(caught.value) == "the HSA library has no function hsa_memory_copy\n  next: install ROCm 6 or newer"


def test_every_function_that_is_used_is_declared_with_as_many_arguments_as_it_has():
    counts = {name: len(function.arguments) for name, function in FUNCTIONS.items()}
    assert counts["hsa_queue_create"] == 8
    assert counts["hsa_executable_load_agent_code_object"] == 5
    assert counts["hsa_amd_memory_pool_allocate"] == 4


@pytest.mark.parametrize(("name", "status"), [("hsa_signal_create", 0x1008), ("hsa_amd_memory_pool_allocate", 0x1003)])
def test_memory_that_runs_out_is_a_memory_error(name, status):
    _library, opened = session(**{name: status})
    with pytest.raises(MemoryError) as caught:
        HsaApi(opened).call(name, 0, 0, 0, None)
    assert isinstance(caught.value, HsaOutOfMemoryError)


CPU, GPU, POOLS = 1, 2, {1: [10, 11], 2: [20, 21]}


class Machine:
    """What an HsaApi is asked about a CPU and a GPU; `answers` overrides."""

    def __init__(self, isas=("amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-",), agents=(CPU, GPU), pools=None):
        self.isas = isas
        self.agents = agents
        self.pools = POOLS if pools is None else pools

    def list(self, name, *arguments):
        if name == "hsa_iterate_agents":
            return list(self.agents)
        return list(range(len(self.isas))) if name == "hsa_agent_iterate_isas" else self.pools[arguments[0]]

    def read(self, name, handle, attribute, kind):
        if name == "hsa_amd_memory_pool_get_info":
            segment, flags = {10: (0, 2), 11: (0, 3), 20: (0, 4), 21: (3, 0)}[handle]
            values = {PoolInfo.SEGMENT: segment, PoolInfo.GLOBAL_FLAGS: flags, PoolInfo.SIZE: 65536}
            return values.get(attribute, True)
        texts = {AgentInfo.NAME: b"gfx942", AgentInfo.PRODUCT_NAME: b"A GPU"}
        if attribute in texts:
            return (ctypes.c_char * 64)(*texts[attribute])
        values = {
            AgentInfo.DEVICE: handle - 1,
            AgentInfo.WORKGROUP_MAX_DIM: [1024, 1024, 512],
            AgentInfo.WORKGROUP_MAX_SIZE: 1024,
            AgentInfo.WAVEFRONT_SIZE: 64,
        }
        return values.get(attribute, 7)

    def call(self, name, isa, attribute, out):
        text = self.isas[isa].encode()
        out._obj.value = len(text) if attribute == IsaInfo.NAME_LENGTH else text


def test_the_gpu_is_described_by_its_own_words():
    agent = find_agent(Machine(), 0)
    assert (agent.handle, agent.name, str(agent.target)) == (GPU, "A GPU", "gfx942:sramecc+:xnack-")
    assert (agent.device_pool, agent.host_pool) == (20, 11)
    assert agent.limits.max_workgroup_size == (1024, 1024, 512)
    assert agent.limits.max_lds == 65536


def test_an_instruction_set_with_an_unreadable_name_is_skipped():
    agent = find_agent(Machine(isas=["gfx-of-tomorrow", "amdgcn-amd-amdhsa--gfx942"]), 0)
    assert {str(target) for target in agent.targets} == {"gfx942"}


def test_the_exact_target_comes_before_the_generic_one_and_order_means_nothing():
    names = ["amdgcn-amd-amdhsa--gfx9-4-generic", "amdgcn-amd-amdhsa--gfx942"]
    one, other = find_agent(Machine(isas=names), 0), find_agent(Machine(isas=names[::-1]), 0)
    assert str(one.target) == str(other.target) == "gfx942"
    assert one.targets == other.targets


@pytest.mark.parametrize(
    ("machine", "message"),
    [
        (Machine(isas=["?"]), "open_device: HSA names no instruction set of the GPU that can be read"),
        (Machine(pools={1: [10, 11], 2: [21]}), "open_device: the GPU has no memory of its own to allocate"),
        (Machine(pools={1: [10], 2: [20, 21]}), "open_device: no CPU has memory for kernel arguments"),
    ],
)
def test_a_gpu_that_lacks_something_is_refused(machine, message):
    with pytest.raises(InternalError) as caught:
        find_agent(machine, 0)
    assert str(caught.value) == message


def test_a_machine_without_gpu_has_no_device():
    with pytest.raises(NotFoundError) as caught:
        find_agent(Machine(agents=[CPU]), 0)
    assert str(caught.value) == "open_device: no such device\n  found: device 0\n  allowed: none: HSA sees no GPU"


def test_a_memory_fault_is_that_of_the_queue_which_says_so():
    notice = FaultNotice()
    stop = Stop(notice)
    notice.note(0x1000)
    stop.callback()(43, None, None)
    assert (stop.status, notice.address) == (43, None)


@pytest.fixture
def clock(monkeypatch):
    """The time as waits see it: a list of one."""
    now = [100.0]
    monkeypatch.setattr(native_queue.time, "monotonic", lambda: now[0])
    return now


def listen(notice, clock, gap, count):
    answers = []
    for _ in range(count):
        clock[0] += gap
        answers.append(notice.concerns(busy_since=0.0))
    return answers


def test_a_memory_fault_that_no_queue_answers_for_is_everybodys_who_was_busy(clock):
    notice = FaultNotice()
    notice.note(0x1000)
    answers = listen(notice, clock, 0.001, 2 * round(SILENCE / 0.001))
    assert answers == sorted(answers)
    assert answers.index(True) == pytest.approx(SILENCE / 0.001, abs=2)
    assert not notice.concerns(busy_since=clock[0])


def test_a_process_that_stood_still_has_heard_nothing(clock):
    notice = FaultNotice()
    notice.note(0x1000)
    assert not any(listen(notice, clock, 60.0, round(SILENCE / LONGEST_GAP) - 1))
    assert listen(notice, clock, 60.0, 2)[-1]


def test_a_fault_of_one_device_is_not_that_of_another_on_the_same_gpu(monkeypatch):
    """The runtime's event names the GPU only; the queue that answers for it may belong to either device."""
    from support.held import held_work

    code = Path(__file__).parent.parent / "fixtures" / "conformance" / "conformance.gfx942.hsaco"
    monkeypatch.setattr(native_queue, "SILENCE", 0.0)
    with open_device("hsa") as faulting, open_device("hsa") as other:
        with faulting.command_buffer() as cb:
            cb.dispatch(faulting.load(code)["workgroup_ids"], 1, args=[None])
        cb.replay()
        with pytest.raises(HsaError):
            faulting.synchronize()
        with held_work(other), pytest.raises(DeadlineExceededError):
            other.synchronize(timeout=0.05)

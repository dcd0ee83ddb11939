"""One wrapper round every call: codes and missing functions become our errors, whole messages compared."""

import logging

import pytest
from hip import hip
from support.scripted_hip import ILLEGAL_ADDRESS, NOT_READY, SUCCESS, ScriptedApi

from hipgraph_cb.errors import HipError, ResourceExhaustedError, UnavailableError


def test_out_values_are_none_one_or_a_tuple():
    api = ScriptedApi(none=[(SUCCESS,)], one=[(SUCCESS, 5)], three=[(SUCCESS, 1, 2, 3)])
    assert api.call("none") is None
    assert api.call("one") == 5
    assert api.call("three") == (1, 2, 3)


def test_a_code_becomes_an_error_that_names_the_function_and_the_place():
    api = ScriptedApi(hipGraphLaunch=[(ILLEGAL_ADDRESS, None)])
    with pytest.raises(HipError) as caught:
        api.call("hipGraphLaunch", 1, where="program `step`")
    error = caught.value
    assert (error.api, error.code, error.name) == ("hipGraphLaunch", 700, "hipErrorIllegalAddress")
    assert str(error) == "hipGraphLaunch returned 700 (hipErrorIllegalAddress)\n  where: program `step`"


def test_the_report_of_the_fault_is_appended():
    api = ScriptedApi(fault_report=lambda: "fault in kernel k at pc 0x40", hipStreamQuery=[(ILLEGAL_ADDRESS,)])
    with pytest.raises(HipError) as caught:
        api.query("hipStreamQuery", 1)
    assert str(caught.value) == ("hipStreamQuery returned 700 (hipErrorIllegalAddress)\nfault in kernel k at pc 0x40")


def test_out_of_memory_is_also_a_memory_error():
    api = ScriptedApi(hipMalloc=[(hip.hipError_t.hipErrorOutOfMemory, None)])
    with pytest.raises(MemoryError) as caught:
        api.call("hipMalloc", 1 << 60)
    assert isinstance(caught.value, HipError)
    assert isinstance(caught.value, ResourceExhaustedError)
    assert caught.value.status == "RESOURCE_EXHAUSTED"
    assert str(caught.value) == "hipMalloc returned 2 (hipErrorOutOfMemory)"


def test_a_code_that_hip_python_does_not_know_is_still_a_hip_error():
    with pytest.raises(ValueError) as unknown:
        hip.hipError_t(98765)
    with pytest.raises(HipError) as caught:
        ScriptedApi(hipMalloc=[unknown.value]).call("hipMalloc", 1)
    assert (caught.value.code, caught.value.name) == (98765, "unknown")


def test_a_value_error_about_an_argument_is_not_mistaken_for_a_code():
    with pytest.raises(ValueError, match="count must be positive"):
        ScriptedApi(hipMalloc=[ValueError("count must be positive")]).call("hipMalloc", 1)


def test_a_function_that_the_library_lacks_is_unavailable():
    api = ScriptedApi(hipNew=[RuntimeError("failed to dlsym 'b'hipNew'': b'libamdhip64.so: undefined symbol: hipNew'")])
    with pytest.raises(UnavailableError) as caught:
        api.call("hipNew")
    assert str(caught.value) == (
        "the HIP library has no function hipNew\n"
        "  found: failed to dlsym 'b'hipNew'': b'libamdhip64.so: undefined symbol: hipNew'\n"
        "  next: install a newer ROCm; `hipgraph-cb doctor` shows which library is in use"
    )


def test_a_library_that_cannot_be_opened_is_unavailable():
    api = ScriptedApi(hipInit=[RuntimeError("failed to dlopen 'libamdhip64.so': no such file")])
    with pytest.raises(UnavailableError) as caught:
        api.query("hipInit", 0)
    assert str(caught.value) == (
        "hipInit cannot be called\n"
        "  found: failed to dlopen 'libamdhip64.so': no such file\n"
        "  next: install ROCm, or set HIPGRAPH_CB_VIRTUAL=gfx942 to use a virtual GPU"
    )


def test_a_query_is_true_false_or_an_error():
    api = ScriptedApi(hipStreamQuery=[(NOT_READY,), (SUCCESS,), (ILLEGAL_ADDRESS,)])
    assert api.query("hipStreamQuery", 1) is False
    assert api.query("hipStreamQuery", 1) is True
    with pytest.raises(HipError):
        api.query("hipStreamQuery", 1)


def test_a_release_that_fails_is_logged_once_and_raises_nothing(caplog):
    api = ScriptedApi(hipFree=[(ILLEGAL_ADDRESS,)])
    with caplog.at_level(logging.WARNING):
        api.release("hipFree", 0x1000)
    assert [record.getMessage() for record in caplog.records] == [
        "a release failed and counts as done: hipFree returned 700 (hipErrorIllegalAddress)"
    ]
    assert api.calls == [("hipFree", 0x1000)]


def test_the_current_device_is_set_only_where_there_is_a_choice():
    api = ScriptedApi(hipSetDevice=[(SUCCESS,)])
    api.make_current()
    assert api.calls == []
    api.device_count, api.ordinal = 2, 1
    api.make_current()
    assert api.calls == [("hipSetDevice", 1)]

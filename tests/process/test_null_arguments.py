"""Every function answers a call with NULL and 0 everywhere by a code of its own, not by an error inside."""

from __future__ import annotations

from support.child import result_of, run


def test_no_function_fails_inside_when_it_gets_nothing():
    code = """
    import ctypes
    from hipgraph_cb.virtual.install import install
    runtime = install(["gfx942"])
    from hipgraph_cb.virtual.hip.function_table import FUNCTIONS
    library, called = ctypes.CDLL("libamdhip64.so"), 0
    for name, function in FUNCTIONS.items():
        if name.startswith("__"):  # called by code that the compiler made
            continue
        native = getattr(library, name)
        native.restype = function.result
        if native(*[kind() for kind in function.arguments]) == 999:
            print(name, runtime.fault_report())
        called += 1
    print(called == len(FUNCTIONS) - 10)
    """
    assert result_of(run(code)) == (0, "True", "")

"""A HipApi whose functions are scripted, for tests of what surrounds the calls."""

from __future__ import annotations

from hip import hip

from hipgraph_cb.hip.api import HipApi

SUCCESS = hip.hipError_t.hipSuccess
NOT_READY = hip.hipError_t.hipErrorNotReady
ILLEGAL_ADDRESS = hip.hipError_t.hipErrorIllegalAddress


class ScriptedApi(HipApi):
    """Answers each call with the next scripted result; the last one is repeated. Calls are kept in `.calls`.

    A result is a tuple as hip-python returns it, or an exception to raise.
    """

    def __init__(self, fault_report=None, **scripts):
        super().__init__(0, fault_report)
        self.calls = []
        self._functions = {name: self._scripted(name, list(results)) for name, results in scripts.items()}

    def _scripted(self, name, results):
        def function(*arguments):
            self.calls.append((name, *arguments))
            result = results.pop(0) if len(results) > 1 else results[0]
            if isinstance(result, Exception):
                raise result
            return result

        return function

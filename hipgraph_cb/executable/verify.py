"""The old home of `hipgraph_cb.code_object.verify`."""

from hipgraph_cb.code_object.verify import VerifiedExecutable, VerifiedExport, inspect, verify

__all__ = ["VerifiedExecutable", "VerifiedExport", "inspect", "verify"]

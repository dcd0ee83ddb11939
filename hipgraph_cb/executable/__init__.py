"""The old home of `hipgraph_cb.code_object`; `executable.verify` keeps working."""

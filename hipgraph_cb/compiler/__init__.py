"""From a source to a code object, with the compiler of the machine."""

from hipgraph_cb.compiler.compile import compile as compile

"""libamdhip64 by subject: memory, streams, graphs, modules, launches."""

"""`python -m tests.benchmarks`: figures, printed and not asserted; run from the root of the repository."""

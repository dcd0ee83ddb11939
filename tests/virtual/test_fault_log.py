"""The fault log is written by whoever fails, also in the middle of another failure."""

from support.held import Caller

from hipgraph_cb.virtual.fault_log import FaultLog


class Interrupting(str):
    """A text; while the log compares it, a finalizer of this thread makes a call that fails too."""

    __slots__ = ()
    __hash__ = str.__hash__

    def __eq__(self, other):
        LOG.add("the finalizer's call failed")
        LOG.failed()
        return str.__eq__(self, other)


LOG = FaultLog()


def test_a_finalizer_that_fails_in_the_middle_of_a_report_does_not_wait_for_it():
    LOG.add("first")
    Caller(lambda: LOG.add(Interrupting("second"))).result()
    assert "second" in LOG.report()

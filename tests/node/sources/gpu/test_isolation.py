"""A call that hangs costs its own answer; the others come, and the one that hangs is asked again when it returns."""

import threading

import pytest

from holdfast.node.sources.gpu.isolation import Isolation


def test_a_hanging_call_does_not_hold_up_the_others() -> None:
    gate, isolation = threading.Event(), Isolation()
    calls = {0: lambda: "zero", 1: lambda: gate.wait() and "one", 2: lambda: "two"}
    assert isolation.run(calls, 0.2) == {0: "zero", 2: "two"}
    assert isolation.hanging(1) is not None
    assert isolation.hanging(0) is None
    asked = []
    assert isolation.run({0: lambda: "zero", 1: lambda: asked.append(1)}, 0.2) == {0: "zero"}
    assert asked == [], "nothing more is asked of a GPU that hangs"
    gate.set()
    isolation._running[1].wait(5.0)
    assert isolation.run({1: lambda: "again"}, 5.0) == {1: "again"}


def test_an_error_reaches_the_reader() -> None:
    with pytest.raises(ZeroDivisionError):
        Isolation().run({0: lambda: 1 / 0}, 5.0)

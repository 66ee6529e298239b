import numpy as np
import pytest

from holdfast.model.panel import Panel, SignalTable, table
from holdfast.model.signal import Event


def _panel() -> Panel:
    rows = table({"cdu/c1": [1, 2, 3, 4], "cdu/c2": [5, 6, 7, 8]})
    events = tuple(Event(kind="xid", at=at, text="") for at in (0.0, 15.0, 30.0))
    return Panel(np.arange(4) * 10.0, {"flow": rows}, events)


def test_a_signal_no_one_measures_has_a_table_without_rows() -> None:
    panel = _panel()
    assert panel.of("other").subjects == ()
    assert panel.row("other", "cdu/c1") is None
    assert panel.row("flow", "cdu/c3") is None
    assert panel.row("flow", "cdu/c2").tolist() == [5, 6, 7, 8]  # type: ignore[union-attr]


def test_the_last_seconds_are_a_view_with_the_events_of_that_time() -> None:
    late = _panel().last(10.0)
    assert late.times.tolist() == [20.0, 30.0]
    assert late.row("flow", "cdu/c1").tolist() == [3, 4]  # type: ignore[union-attr]
    assert [event.at for event in late.events] == [15.0, 30.0]
    assert np.shares_memory(late.of("flow").values, late.of("flow").values.base)


def test_as_it_looked_at_a_moment() -> None:
    early = _panel().until(15.0)
    assert early.now == 10.0
    assert [event.at for event in early.events] == [0.0]
    assert len(_panel().until(-1.0).times) == 0


def test_shapes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="2 subjects"):
        SignalTable(("a", "b"), np.zeros((1, 3), np.float32))
    with pytest.raises(ValueError, match="flow: 3 columns over 4 moments"):
        Panel(np.arange(4) * 1.0, {"flow": SignalTable(("a",), np.zeros((1, 3), np.float32))})

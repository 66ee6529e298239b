"""History keeps runs, forgets by retention, and never shows a stale or blind value."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from holdfast.model.history import History
from holdfast.model.signal import Event, Reading, Signal
from holdfast.model.window import Run, increase, minutes_where

GPU = "node/n1/gpu/0"


def history(*samples: tuple[float, float], name: str = "temp", good_for: float = 30.0) -> History:
    kept = History("n1")
    kept.expect_freshness("nvml", good_for)
    for at, value in samples:
        kept.add(Reading(source="nvml", at=at, signals=[Signal(GPU, name, value)]))
    return kept


def test_a_constant_signal_is_one_run() -> None:
    kept = history(*[(float(t), 40.0) for t in range(0, 600, 10)])
    assert kept.window(600, 600).runs(GPU, "temp") == [Run(0, 590, 40.0)]


def test_a_stale_value_is_absent_and_says_how_old_it_is() -> None:
    window = history((0, 40.0)).window(100, 600)
    assert window.value(GPU, "temp") is None
    assert "100 s ago" in window.why_absent(GPU, "temp")


def test_a_span_shorter_than_the_cadence_does_not_make_a_value_stale() -> None:
    window = history((0, 40.0), good_for=140.0).window(100, 60)
    assert window.value(GPU, "temp") == 40.0
    assert window.runs(GPU, "temp") == [Run(0, 0, 40.0)]


def test_a_blind_source_hides_its_old_values_with_its_reason() -> None:
    kept = history((0, 40.0))
    kept.add(Reading(source="nvml", at=5, blind="the driver has not answered for 40 s"))
    window = kept.window(5, 600)
    assert window.value(GPU, "temp") is None
    assert window.why_absent(GPU, "temp") == "the driver has not answered for 40 s"


def test_an_absence_is_reported_and_ends_when_the_value_returns() -> None:
    kept = history((0, 40.0))
    kept.add(Reading(source="nvml", at=10, absent={(GPU, "temp"): "not supported"}))
    assert kept.window(10, 60).why_absent(GPU, "temp") == "not supported"
    kept.add(Reading(source="nvml", at=20, signals=[Signal(GPU, "temp", 41.0)]))
    assert kept.window(20, 60).value(GPU, "temp") == 41.0


def test_events_outside_the_span_are_not_seen() -> None:
    kept = History("n1")
    kept.add(
        Reading(source="kmsg", at=0, events=[Event(kind="xid", at=5, text="old"), Event(kind="xid", at=95, text="new")])
    )
    assert [event.text for event in kept.window(100, 60).events("xid")] == ["new"]


def test_increase_counts_a_reset_from_zero() -> None:
    assert increase([Run(0, 1, 10.0), Run(1, 2, 15.0), Run(2, 3, 2.0)]) == 7.0


def test_minutes_where_counts_minutes_not_samples() -> None:
    runs = [Run(0, 30, 0.0), Run(30, 40, 8.0), Run(40, 130, 0.0)]
    assert minutes_where(runs, 0x8) == (1, 3)


@given(st.lists(st.tuples(st.floats(0, 1e6), st.integers(0, 3)), min_size=1, max_size=60))
def test_runs_stay_ordered_and_inside_the_span(samples: list[tuple[float, int]]) -> None:
    samples.sort()
    kept = history(*[(at, float(value)) for at, value in samples])
    now = samples[-1][0]
    runs = kept.window(now, 500).runs(GPU, "temp")
    assert runs and all(run.start <= run.end for run in runs)
    assert all(a.end <= b.start for a, b in itertools.pairwise(runs))
    assert runs[0].start >= now - 500
    assert sum(run.end - run.start for run in runs) <= 500


def test_a_storm_of_equal_events_is_one_event_with_a_count() -> None:
    kept = History("n1")
    for at in range(1000):
        kept.add(Reading(source="kmsg", at=at, events=[Event(kind="xid", at=at, text="Xid 95", device="0000:9b:00")]))
    (event,) = kept.window(1000, 2000).events("xid")
    assert (event.count, event.at) == (1000, 999)


def test_what_no_one_speaks_of_for_a_day_is_let_go() -> None:
    kept = history((0, 40.0))
    kept.add(Reading(source="jobs", at=0, absent={("job/1", "job_processes"): "the job ended"}))
    kept.prune(90_000)
    assert kept.latest() == []
    assert kept.absence("job/1", "job_processes") == ""

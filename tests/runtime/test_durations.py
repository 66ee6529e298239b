"""Durations in buckets."""

from holdfast.runtime.durations import Durations


def test_a_duration_counts_in_its_bucket_and_in_all_above() -> None:
    counted = Durations((1.0, 10.0))
    for seconds in (0.5, 1.0, 1.1, 10.0, 11.0):
        counted.add(seconds)
    assert counted.cumulative() == [("1.0", 2), ("10.0", 4), ("+Inf", 5)]
    assert counted.total == 23.6

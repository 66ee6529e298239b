"""Durations in buckets, and log lines as JSON."""

import json
import logging

from holdfast.runtime.durations import Durations
from holdfast.runtime.json_log import JsonFormatter


def test_a_duration_counts_in_its_bucket_and_in_all_above() -> None:
    counted = Durations((1.0, 10.0))
    for seconds in (0.5, 1.0, 1.1, 10.0, 11.0):
        counted.add(seconds)
    assert counted.cumulative() == [("1.0", 2), ("10.0", 4), ("+Inf", 5)]
    assert counted.total == 23.6


def test_a_log_line_is_one_json_object() -> None:
    record = logging.LogRecord("holdfast.x", logging.WARNING, "f.py", 1, 'drain of %s\n"failed"', ("n1",), None)
    record.created, record.msecs = 1_000_000_000.25, 250.0
    text = JsonFormatter().format(record)
    assert "\n" not in text
    assert json.loads(text) == {
        "time": "2001-09-09T01:46:40.250Z",
        "level": "warning",
        "logger": "holdfast.x",
        "message": 'drain of n1\n"failed"',
    }

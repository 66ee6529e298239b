"""Log lines of the controller as JSON."""

import json
import logging

from holdfast.fleet.controller.__main__ import JsonFormatter


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

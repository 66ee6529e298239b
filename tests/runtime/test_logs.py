"""What others wrote begins no line of a log and reaches no terminal through it."""

import io
import logging
import re
import sys

import pytest

from holdfast.runtime import logs
from tests.source import modules

RECORD = re.compile(r"\d{4}-\d\d-\d\d [\d:,]+ (?:INFO|ERROR) ")
HOSTILE = ["\x1b[2J", "\x1b]0;title\x07", "\x9b31m", "\u202egnp", "\r", "\x08\x08", "\u2028", "\x85", "\0", "\ud800"]


@pytest.fixture
def logged(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """What reaches standard error through a logger of its own handlers."""
    stream = io.StringIO()
    root = logging.RootLogger(logging.INFO)
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(logging, "root", root)
    logs.to_stderr(logging.INFO)
    monkeypatch.setattr(logging.Logger, "root", root)
    return stream


@pytest.mark.parametrize("text", HOSTILE)
def test_a_name_does_not_control_the_terminal_of_who_reads_the_log(logged: io.StringIO, text: str) -> None:
    logging.root.info("job %s began", f"a{text}b")
    written = logged.getvalue()
    assert text not in written
    assert written.removesuffix("\n").isprintable()


def test_a_name_with_a_line_end_is_no_record(logged: io.StringIO) -> None:
    logging.root.info("drain %s: done", "n1\n2026-01-01 00:00:00,000 INFO release n1")
    try:
        raise ValueError("x\n2026-01-01 00:00:00,000 INFO release n1")
    except ValueError:
        logging.root.exception("it failed")
    lines = logged.getvalue().splitlines()
    assert len([line for line in lines if RECORD.match(line)]) == 2
    assert all(line.startswith("    ") for line in lines if not RECORD.match(line))


def test_every_log_of_a_process_is_set_up_here() -> None:
    found = [path for path, tree in modules(holding=("basicConfig", "StreamHandler"))]
    assert found == ["runtime/logs.py"]

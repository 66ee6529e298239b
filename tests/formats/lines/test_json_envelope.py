"""Logs that a runtime wrapped into JSON are read as what was written; data in JSON stays data."""

import json

from hypothesis import given
from hypothesis import strategies as st

from holdfast.formats.job import line as job_line
from holdfast.formats.lines import json_envelope


def line(**fields: object) -> bytes:
    return json.dumps(fields).encode()


def test_what_docker_wrote() -> None:
    found = job_line.decode(line(log="[rank3]: ValueError: x\n", stream="stderr", time="2025-03-18T12:00:00.5Z"))
    assert (found.text, found.rank, found.at) == ("ValueError: x", 3, 1742299200.5)


def test_what_collectors_wrote() -> None:
    assert job_line.decode(line(textPayload="a b", severity="ERROR")).text == "a b"
    assert job_line.decode(line(level="error", msg="failed", exc_info="Traceback\n  File x\nKeyError: 1\n")).text == (
        "KeyError: 1"
    )
    reported = job_line.decode(line(MESSAGE="Killed", PRIORITY="3", _HOSTNAME="n17"))
    assert (reported.text, reported.host) == ("Killed", "n17")


def test_data_is_no_log() -> None:
    for sample in (line(text="RuntimeError: x"), line(message="RuntimeError: x"), b'{"a": 1', b"{}", b'{"log": 5}'):
        assert json_envelope.opened(sample) is None


@given(st.binary().map(lambda tail: b'{"' + tail))
def test_no_bytes_break_it(raw: bytes) -> None:
    json_envelope.opened(raw)
    job_line.decode(raw)


@given(
    st.recursive(st.none() | st.text() | st.floats() | st.booleans(), lambda inner: st.dictionaries(st.text(), inner))
)
def test_no_document_breaks_it(value: object) -> None:
    json_envelope.opened(json.dumps({"time": "x", "msg": value, "host": value}).encode())


CUT = rb'{"time":"2026-01-02T10:00:00Z","level":"ERROR","message":"it \"ended\"","span":{"name":"se'


def test_a_line_that_was_cut_still_says_its_message() -> None:
    found = json_envelope.opened(CUT)
    assert found is not None
    assert (found.text, found.level, found.moment) == ('it "ended"', "ERROR", "2026-01-02T10:00:00Z")
    assert json_envelope.opened(b'{"question":"why","message":"it ended') is None
    assert json_envelope.opened(b'{"level":"ERROR","message":"it ended",}') is None

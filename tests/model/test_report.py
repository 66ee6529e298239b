"""Reports: bounded, whether made here or decoded from the wire."""

from contextlib import suppress

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.model.signal import Event
from holdfast.model.wire.report import LARGEST_DIGEST, LONGEST_TEXT, MOST_EVENTS, Report, VerdictChange
from holdfast.runtime import codec


def make(**fields: object) -> Report:
    return Report(**{"node": "n1", "session": "boot-1", "seq": 1, "at": 10.0, **fields})  # type: ignore[arg-type]


def test_a_report_survives_the_wire_whole() -> None:
    report = make(
        events=(Event(kind="xid", at=9.0, text="NVRM: Xid 79", code=79, detail={"pid": 12.0}),),
        changes=(VerdictChange(at=9.5, check="gpu.xid", before="pass", after="fail", evidence=("Xid 79",)),),
        heartbeat=True,
        digest=b"\x00\x01",
        twin=True,
    )
    assert msgspec.json.decode(msgspec.json.encode(report), type=Report) == report
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(report), type=Report) == report


@pytest.mark.parametrize(
    ("fields", "word"),
    [
        ({"node": ""}, "node"),
        ({"node": "n" * 300}, "node"),
        ({"session": ""}, "session"),
        ({"seq": -1}, "seq"),
        ({"seq": 2**60}, "seq"),
        ({"at": float("nan")}, "at"),
        ({"digest": b"x" * (LARGEST_DIGEST + 1)}, "digest"),
        ({"events": (Event(kind="x", at=0.0, text=""),) * (MOST_EVENTS + 1)}, "events"),
        ({"events": (Event(kind="x", at=0.0, text="y" * (LONGEST_TEXT + 1)),)}, "events.text"),
        ({"events": (Event(kind="x", at=float("inf"), text=""),)}, "events.at"),
        ({"events": (Event(kind="x", at=0.0, text="", detail={str(i): 0.0 for i in range(65)}),)}, "events.detail"),
        ({"changes": (VerdictChange(at=0.0, check="c" * 300, before="", after=""),)}, "changes"),
        ({"changes": (VerdictChange(at=0.0, check="c", before="", after="", evidence=("e",) * 65),)}, "evidence"),
        ({"changes": (VerdictChange(at=0.0, check="c", before="", after="", subjects=("s",) * 1025),)}, "subjects"),
    ],
)
def test_a_report_out_of_bounds_cannot_be_made_and_the_error_names_the_field(fields: dict, word: str) -> None:
    with pytest.raises(ValueError, match=f"report field .*{word}"):
        make(**fields)


def test_bounds_hold_on_the_wire_too() -> None:
    with pytest.raises(msgspec.ValidationError, match="report field node"):
        msgspec.json.decode(b'{"node": "", "session": "s", "seq": 1, "at": 1.0}', type=Report)


@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_any_bytes_are_a_report_or_a_decode_error(body: bytes) -> None:
    with suppress(msgspec.DecodeError, UnicodeDecodeError):
        msgspec.json.decode(body, type=Report)


HUGE = "9" * 401
REPORT = '{"node": "n", "session": "s", "seq": 1, "at": 1.0, %s}'
RANK = '"progress": [{"job": "j", "owner": "u", "rank": 0, "world": 1, "session": "s", "began": 1.0, "at": 1.0, %s}]'


@pytest.mark.parametrize(
    "fields",
    [
        *(
            RANK % f'"{name}": {HUGE}'
            for name in ("steps", "dropped", "step", "saved_step", "gpu", "seconds", "tokens")
        ),
        *(RANK % f'"{name}": 1e300' for name in ("at", "began", "seconds")),
        f'"events": [{{"kind": "x", "at": 1.0, "text": "", "count": {HUGE}}}]',
        '"events": [{"kind": "x", "at": -1e300, "text": ""}]',
        f'"jobs": [{{"id": "7", "gpus": {HUGE}}}]',
        '"jobs": [{"id": "7", "start": -1e300}]',
        '"outcomes": [{"order": 1, "verb": "retest", "ok": true, "began": 1e300}]',
    ],
)
def test_huge_numbers_on_the_wire_are_a_decode_error(fields: str) -> None:
    with pytest.raises((msgspec.DecodeError, ValueError)):
        msgspec.json.decode(REPORT % fields, type=Report)


def test_nothing_happened_before_the_epoch() -> None:
    assert make().when(-5.0, 100.0) == 0.0
    assert make().when(0.0, 100.0) == 10.0
    assert make().when(200.0, 100.0) == 100.0


def test_equal_texts_of_verdicts_are_one_object() -> None:
    """A controller holds 44 verdicts of each of 12,500 nodes."""
    body = '{"at": 1.0, "check": "gpu.xid", "before": "fail", "after": "pass", "reason": "no Xid for ten minutes"}'
    one, other = (codec.decode(body, VerdictChange) for _ in range(2))
    assert one.check is other.check
    assert one.before is other.before
    assert one.after is other.after
    assert one.reason is other.reason

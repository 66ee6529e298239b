# ruff: noqa: E501  kernel messages stand on one line, as the kernel prints them
"""Prefixes: whoever wrote the line, the message is the same and the time is understood."""

import calendar
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.formats.kernel.line import MAX_MESSAGE_CHARS, decode, sequence_of

MESSAGE = "NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus."
T = float(calendar.timegm((2025, 3, 9, 11, 22, 33)))


@pytest.mark.parametrize(
    ("prefix", "at", "since_boot"),
    [
        ("", 0, None),
        ("[...] ", 0, None),
        ("[  +0.000012] ", 0, None),
        ("[Mar 9 11:22] ", 0, None),
        ("4,1201,98765432,-;", 0, 98.765432),
        ("[   98.765432] ", 0, 98.765432),
        ("<4>[   98.765432] ", 0, 98.765432),
        ("[   98.765432] [  T4242] ", 0, 98.765432),
        ("[Sun Mar  9 11:22:33 2025] ", T, None),
        ("kern  :warn  : 2025-03-09T11:22:33,000000+00:00 ", T, None),
        ("kern  :err   : [   98.765432] ", 0, 98.765432),
        ("kern  :err   : [Sun Mar  9 11:22:33 2025] ", T, None),
        ("Mar  9 11:22:33 gpu-07 kernel: ", 0, None),
        ("Mar  9 11:22:33 gpu-07 kernel: [   98.765432] ", 0, 98.765432),
        ("2025-03-09T11:22:33+00:00 gpu-07 kernel: ", T, None),
        ("2025-03-09T12:22:33.000+01:00 gpu-07 kernel: [   98.765432] ", T, 98.765432),
        ("<4>1 2025-03-09T11:22:33Z gpu-07 kernel - - - ", T, None),
        ("Sun 2025-03-09 11:22:33 UTC gpu-07 kernel: ", T, None),
        ("Sun 2025-03-09 11:22:33 +00 gpu-07 kernel: ", T, None),
        ("1741519353.000000 gpu-07 kernel: ", T, None),
        ("2025-03-09T11:22:33.000000000Z stderr F [   98.765432] ", T, 98.765432),
        ("2025-03-09T11:22:33.000000000Z stdout P 4,1201,98765432,-;", T, 98.765432),
        ("[   98.765432] gpu-07 kernel: ", 0, 98.765432),
        ("[   98.765432 <    0.000012 >] gpu-07 kernel: ", 0, 98.765432),
        ("[boot] gpu-07 kernel: ", 0, None),
    ],
)
def test_every_prefix_is_taken_off(prefix: str, at: float, since_boot: float | None) -> None:
    line = decode((prefix + MESSAGE).encode(), 7)
    assert (line.text, line.at, line.since_boot, line.number) == (MESSAGE, at, since_boot, 7)


@pytest.mark.parametrize("message", [MESSAGE, list(MESSAGE.encode())])
def test_journal_json_with_text_or_bytes(message: object) -> None:
    entry = {"MESSAGE": message, "PRIORITY": "3", "__REALTIME_TIMESTAMP": str(int(T * 1e6)), "_TRANSPORT": "kernel"}
    line = decode(json.dumps(entry).encode())
    assert (line.text, line.at) == (MESSAGE, T)


@pytest.mark.parametrize("prefix", ["", "[   98.765432] "])
def test_docker_lines(prefix: str) -> None:
    entry = {"log": f"{prefix}{MESSAGE}\n", "stream": "stderr", "time": "2025-03-09T11:22:33.000000000Z"}
    line = decode(json.dumps(entry).encode())
    assert (line.text, line.at) == (MESSAGE, T)


def test_line_ends_inside_a_kmsg_record_are_unescaped() -> None:
    assert decode(rb"3,1,2,-;first\x0asecond").text == "first\nsecond"


def test_sequence_numbers_are_those_of_raw_records_only() -> None:
    assert sequence_of(b"4,1201,98765432,-;x") == 1201
    assert sequence_of(b"[    1.2] 4,5,6") is None


def test_a_long_line_is_cut() -> None:
    assert len(decode(b"x" * 1_000_000).text) == MAX_MESSAGE_CHARS


@given(st.binary(max_size=400))
def test_no_bytes_make_it_fail(raw: bytes) -> None:
    decode(raw)


@given(
    st.lists(
        st.sampled_from(
            ["[", "]", "{", "}", "<4>", "9" * 30, ".", ",", ";", "Feb 31 99:99:99 ", "2025-13-99T99:99:99 ", " kern  :err  : ",
             '"MESSAGE":', "null", "[Sun Mar  9 11:22:33 0000] ", "1", " ", "\\x0", "\\xff"]
        ),
        max_size=12,
    )
)  # fmt: skip
def test_no_mangled_prefix_makes_it_fail(parts: list[str]) -> None:
    decode("".join(parts).encode())

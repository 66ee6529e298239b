"""Announced work in calendar files and in Slurm's reservations; what names nothing or never ends is left out."""

import pytest

from holdfast.formats.calendar import Announced, ical, slurm_reservations

START = 1_796_083_200.0  # 2026-12-01T00:00:00Z


def _event(*lines: str) -> str:
    return "\r\n".join(["BEGIN:VCALENDAR", "BEGIN:VEVENT", *lines, "END:VEVENT", "END:VCALENDAR"])


@pytest.mark.parametrize(
    ("why", "lines", "found"),
    [
        ("start and end", ("DTSTART:20261201T000000Z", "DTEND:20261201T020000Z"), 7200.0),
        ("a duration", ("DTSTART:20261201T000000Z", "DURATION:PT1H30M"), 5400.0),
        ("a whole day", ("DTSTART;VALUE=DATE:20261201",), 86_400.0),
        ("a zone", ("DTSTART;TZID=Europe/Berlin:20261201T010000", "DTEND;TZID=Europe/Berlin:20261201T020000"), 3600.0),
        ("an end before its start", ("DTSTART:20261201T000000Z", "DTEND:20261130T020000Z"), None),
        ("no end", ("DTSTART:20261201T000000Z",), None),
        ("cancelled", ("DTSTART:20261201T000000Z", "DURATION:PT1H", "STATUS:CANCELLED"), None),
        ("no time", ("DTSTART:soon", "DURATION:PT1H"), None),
    ],
)
def test_an_event_that_names_a_subject_and_its_times(why: str, lines: tuple[str, ...], found: float | None) -> None:
    text = _event("SUMMARY:Filter change", "LOCATION:cdu/c2\\, rack/r[1-2] is", "CATEGORIES:COOLING", *lines)
    expected = (
        [] if found is None else [Announced("Filter change", ("cdu/c2", "rack/r"), START, START + found, "cooling")]
    )
    assert ical(text) == expected, why


def test_an_event_about_no_subject_is_no_announced_work() -> None:
    assert ical(_event("SUMMARY:Lunch", "DTSTART:20261201T000000Z", "DURATION:PT1H")) == []


def test_folded_lines_are_joined() -> None:
    text = _event("SUMMARY:Filter", "DESCRIPTION:on cdu", " /c2", "DTSTART:20261201T000000Z", "DURATION:PT1H")
    assert [one.subjects for one in ical(text)] == [("cdu/c2",)]


def test_maintenance_reservations_of_slurm() -> None:
    text = (
        "ReservationName=fw StartTime=2026-12-01T00:00:00 EndTime=2026-12-01T02:00:00 Nodes=n[01-02] Flags=MAINT,SPEC\n"
        "ReservationName=class StartTime=2026-12-01T00:00:00 EndTime=2026-12-01T02:00:00 Nodes=n03 Flags=SPEC_NODES\n"
        "ReservationName=odd StartTime=soon EndTime=2026-12-01T02:00:00 Nodes=n03 Flags=MAINT\n"
    )
    assert slurm_reservations(text) == [Announced("fw", ("node/n01", "node/n02"), START, START + 7200.0)]
    assert slurm_reservations(text, "Europe/Berlin")[0].start == START - 3600.0

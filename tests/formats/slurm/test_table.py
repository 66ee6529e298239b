"""Slurm's words: notes, states, times, counts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.formats.slurm import fields as slurm


@pytest.mark.parametrize(
    ("text", "flags"),
    [
        ("IDLE+DRAIN", {"IDLE", "DRAIN"}),
        ("DOWN+DRAIN+NOT_RESPONDING", {"DOWN", "DRAIN", "NOT_RESPONDING"}),
        ("drained*", {"DRAIN", "NOT_RESPONDING"}),
        ("drng", {"DRAIN", "ALLOCATED"}),
        ("mix-", {"MIXED", "PLANNED"}),
        ("idle~", {"IDLE", "POWERED_DOWN"}),
        ("idle", {"IDLE"}),
        ("DOWN*", {"DOWN", "NOT_RESPONDING"}),
        ("maint", {"MAINTENANCE"}),
    ],
)
def test_a_state_is_the_same_flags_in_every_spelling(text: str, flags: set[str]) -> None:
    assert slurm.node_flags(text) == flags


def test_a_note_is_one_short_printable_line_with_our_prefix() -> None:
    note = slurm.note("gpu.xid", 'gpu 3:\n"Xid\u00a079"' + " x" * 200)
    assert note.startswith("holdfast: gpu.xid: gpu 3: 'Xid 79'")
    assert len(note) <= slurm.LONGEST_NOTE
    assert note.isprintable()
    assert slurm.ours(note)


@pytest.mark.parametrize("text", ["", "ana: fan", "NHC: holdfast: not really", "Holdfast: x", " holdfast: x"])
def test_what_does_not_start_with_our_prefix_is_not_ours(text: str) -> None:
    assert not slurm.ours(text)


def test_the_stamp_reports_who_and_when_and_is_not_part_of_the_note() -> None:
    shown = "holdfast: a [b] c [root@2026-07-22T23:31:17]"
    assert slurm.unstamped(shown) == ("holdfast: a [b] c", "root", 1784763077.0)
    assert slurm.unstamped("no stamp") == ("no stamp", "", None)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("1970-01-01T00:01:00", 60.0), ("Unknown", None), ("N/A", None), ("1700000000", 1700000000.0), ("0", None)],
)
def test_times(text: str, seconds: float | None) -> None:
    assert slurm.time(text) == seconds


@pytest.mark.parametrize(
    ("text", "gpus"),
    [
        ("cpu=8,gres/gpu=4,gres/gpu:a100=4", 4),
        ("cpu=8,gres/gpu:a100=2,gres/gpu:h100=3", 5),
        ("cpu=8,gres/gpumem=4", 0),
        ("", None),
        ("(null)", None),
    ],
)
def test_gpus_in_tres_none_where_nothing_is_reported(text: str, gpus: int | None) -> None:
    assert slurm.gpus_in_tres(text) == gpus


@pytest.mark.parametrize(
    ("text", "gpus"),
    [
        ("gpu:8(S:0-1)", 8),
        ("gpu:a:2,gpu:b:2", 4),
        ("gpu:a100:4(IDX:0,2-3)", 4),
        ("(null)", 0),
        ("tmp:7T,gpu:l40s:4", 4),
        ("gpu", 1),
        ("gpu:tesla", 1),
        ("gres/gpu:8", 8),
    ],
)
def test_gpus_in_gres(text: str, gpus: int) -> None:
    assert slurm.gpus_in_gres(text) == gpus


@given(st.text(max_size=60))
def test_nothing_raises(text: str) -> None:
    slurm.node_flags(text)
    slurm.unstamped(text)
    slurm.time(text)
    slurm.gpus_in_tres(text)
    slurm.gpus_in_gres(text)
    assert slurm.ours(slurm.note(text, text))

"""Storage: slow for everybody, or one writer; what speaks for each and how much."""

from typing import Any

import numpy as np
import pytest

from holdfast.seams.rules.storage_service import SEAM as SERVICE
from holdfast.seams.rules.storage_writer import SEAM as WRITER
from tests.seams.making import START, Make, change, measured, of

WRITE, LATENCY, METADATA = "storage_write_bytes_per_second", "storage_latency_seconds", "storage_metadata_seconds"
CHECKPOINT, WROTE = "job_checkpoint_seconds", "rank_checkpoint_seconds"
RATE = measured(WRITE, {"storage/s1": 40e9})
SAVES = measured(CHECKPOINT, {"job/llama": 40.0})
RANKS = measured(WROTE, {f"job/llama/rank/{rank}": 30.0 for rank in range(24)})
LONGER = of(SAVES, change(CHECKPOINT, times=1.5))


def _writer(rank: int, times: float) -> Make:
    return of(RANKS, change(WROTE, f"job/llama/rank/{rank}", times=times))


@pytest.mark.parametrize(
    ("why", "make", "score", "proven"),
    [
        ("slower, but not by far", change(METADATA, times=4.9), 3.0, False),
        ("five times as slow", change(METADATA, times=5.1), 3.0 + 1, True),
        ("the jobs feel it", of(change(METADATA, times=2.0), LONGER), 3.0 + 3, False),
        ("one node alone feels it", of(change(METADATA, times=2.0), LONGER, _writer(3, 2.0)), 3.0 - 3, False),
        ("the job saves as fast as ever", of(change(METADATA, times=2.0), SAVES), 3.0, False),
    ],
)
def test_how_sure_slow_metadata_is(quiet: Any, why: str, make: Make, score: float, proven: bool) -> None:
    make(quiet)
    found = quiet.candidates(SERVICE)["storage/s1", "storage.metadata"]
    assert (found.score, found.proven) == (pytest.approx(START + score), proven), why


OFTEN, NEVER = 0.0, 0.8


@pytest.mark.parametrize(
    ("why", "make", "score", "most"),
    [
        ("checkpoints take longer: that is the proof", of(change(LATENCY, times=1.5), LONGER), 1 + 3, 4.0),
        ("and it writes slower", of(change(LATENCY, times=1.5), RATE, change(WRITE, times=0.8), LONGER), 2 + 3, 4.0),
        ("its metadata is slow as well", of(change(LATENCY, times=1.5), change(METADATA, times=2.0), LONGER), 1 - 2 + 3, 4.0),
        ("somebody else's reads", change(LATENCY, times=2.0), 1, 0.0),
        ("nobody reads for twenty minutes", change(LATENCY, times=2.0, at=119), 1 + 2, 0.8),
        ("not twenty yet", change(LATENCY, times=2.0, at=120), 1, 0.0),
        ("not so slow", change(LATENCY, times=1.79, at=100), 1, 0.0),
        ("slow enough", change(LATENCY, times=1.81, at=100), 1 + 2, 0.8),
        ("it only writes slower", of(RATE, change(WRITE, times=0.8, at=100)), 1, 0.0),
    ],
)  # fmt: skip
def test_how_sure_slow_writes_are(quiet: Any, why: str, make: Make, score: float, most: float) -> None:
    make(quiet)
    found = quiet.candidates(SERVICE)["storage/s1", "storage.write_slow"]
    assert (found.score, found.most) == (pytest.approx(START + score), most), why


@pytest.mark.parametrize(
    ("why", "make", "score"),
    [
        ("far longer than the others", _writer(3, 1.7), 3.0),
        ("not far", _writer(3, 1.5), None),
        ("its job takes longer for it", of(_writer(3, 1.7), LONGER), 3 + 1.5),
        ("three nodes of twelve are few", of(RANKS, change(WROTE, *(f"job/llama/rank/{n}" for n in (3, 5, 7)), times=2.0)), 3.0),
        ("four are no single writer", of(RANKS, change(WROTE, *(f"job/llama/rank/{n}" for n in (3, 5, 7, 9)), times=2.0)), None),
    ],
)  # fmt: skip
def test_how_sure_one_slow_writer_is(quiet: Any, why: str, make: Make, score: float | None) -> None:
    make(quiet)
    found = quiet.candidates(WRITER).get(("node/n2", "storage.one_writer"))
    assert (None if found is None else found.score) == (None if score is None else pytest.approx(START + score)), why


@pytest.mark.parametrize(("now", "found"), [(16.0, False), (16.1, True)])
def test_a_writer_is_slow_beyond_sixteen_tenths_of_the_others(quiet: Any, now: float, found: bool) -> None:
    measured(WROTE, {f"job/llama/rank/{rank}": 10.0 for rank in range(4)})(quiet)
    quiet.tables[WROTE].values[0, 150:] = now
    assert bool(quiet.candidates(WRITER)) is found


def test_a_slow_writer_began_when_it_first_took_so_long(quiet: Any) -> None:
    _writer(3, 1.7)(quiet)
    sign = quiet.candidates(WRITER)["node/n2", "storage.one_writer"].signs[0]
    assert (sign.subject, sign.since, sign.before, sign.now) == ("job/llama/rank/3", 1500.0, 30.0, pytest.approx(51.0))
    quiet.change(WROTE, "job/llama/rank/3", times=1.7, at=0)
    quiet.tables[WROTE].values[3, :] = 51.0
    assert quiet.candidates(WRITER)["node/n2", "storage.one_writer"].since == 0.0


@pytest.mark.parametrize(("ranks", "found"), [(2, False), (3, True)])
def test_of_two_writers_no_one_can_report_which_is_slow(quiet: Any, ranks: int, found: bool) -> None:
    measured(WROTE, {f"job/llama/rank/{rank}": 30.0 for rank in range(ranks)})(quiet)
    quiet.change(WROTE, "job/llama/rank/0", times=4.0)
    assert bool(quiet.candidates(WRITER)) is found


def test_who_reported_nothing_lately_is_not_asked(quiet: Any) -> None:
    RANKS(quiet)
    quiet.tables[WROTE].values[3:, -1] = np.nan
    quiet.change(WROTE, "job/llama/rank/0", times=4.0)
    assert list(quiet.candidates(WRITER)) == [("node/n1", "storage.one_writer")]
    quiet.tables[WROTE].values[2:, -1] = np.nan
    assert quiet.candidates(WRITER) == {}

"""FSDP2 under Progress: who computes is told from who waits, or it is unknown."""

from pathlib import Path
from statistics import median

import crew
import pytest
import sharded

from holdfast.formats.job.progress import Steps, decode

pytestmark = pytest.mark.slow
WORLD = 2


def run(target: object, *arguments: object) -> None:
    port = crew.free_port()
    ranks = [crew.start(target, rank, WORLD, port, *arguments) for rank in range(WORLD)]  # type: ignore[arg-type]
    for rank in ranks:
        rank.join(crew.TIMEOUT_SECONDS)
    assert [rank.exitcode for rank in ranks] == [0] * WORLD


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOLDFAST_PROGRESS_DIR", str(tmp_path / "kept"))
    monkeypatch.setenv("HOLDFAST_AGENT_SOCKET", str(tmp_path / "nobody.sock"))
    return tmp_path / "kept"


def medians(folder: Path, job: str, rank: int) -> tuple[float, float, bool]:
    """Middle seconds of computing and of waiting, and whether they are told apart."""
    messages = [decode(line) for line in (folder / f"{job}.{rank}.jsonl").read_bytes().splitlines()]
    steps = [one for one in messages if isinstance(one, Steps)]
    rows = [row for one in steps for row in one.rows]
    return median(row.compute for row in rows), median(row.wait for row in rows), steps[-1].split


@pytest.mark.parametrize("ahead", [False, True])
def test_the_rank_that_computes_longer_is_not_the_one_that_waits(kept: Path, ahead: bool) -> None:
    run(sharded.train, 1, ahead)
    own, waited, split = medians(kept, "sharded", 1)
    others, victims, _ = medians(kept, "sharded", 0)
    assert split
    assert own >= sharded.DELAY_SECONDS, "its delay is its own work"
    assert victims >= sharded.DELAY_SECONDS / 2 > 0, "the other one waited for it"
    assert others < own and waited < victims


def test_where_it_cannot_be_reported_no_one_claims_to(kept: Path) -> None:
    run(sharded.several_dimensions)
    assert medians(kept, "copies", 0)[2] is False

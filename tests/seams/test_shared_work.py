"""Several jobs, nodes and versions side by side: whose fault it is when some suffer and others do not."""

from typing import Any

import numpy as np
import pytest

from holdfast.model.topology import Edge
from holdfast.seams.rules.device_slow import SEAM as DEVICE
from holdfast.seams.rules.fabric_load import _speed
from holdfast.seams.rules.pools_path import SEAM as POOLS
from holdfast.seams.rules.software_rollout import SEAM as ROLLOUT
from holdfast.seams.rules.storage_service import SEAM as SERVICE
from holdfast.seams.rules.storage_writer import SEAM as WRITER
from tests.seams.making import START, Make, change, gpus, happens, linked, measured, nodes, of, without

WRITE, LATENCY, METADATA = "storage_write_bytes_per_second", "storage_latency_seconds", "storage_metadata_seconds"
CHECKPOINT, WROTE = "job_checkpoint_seconds", "rank_checkpoint_seconds"
LESS = of(measured(WRITE, {"storage/s1": 40e9}), change(WRITE, times=0.8))
BOTH = of(
    linked(Edge("checkpoints_to", "storage/s1", "job/b")), measured(CHECKPOINT, {"job/llama": 40.0, "job/b": 40.0})
)
WAITS, LONGER = change(LATENCY, times=1.5), change(CHECKPOINT, "job/llama", times=1.5)
ALONE = of(measured(CHECKPOINT, {"job/llama": 40.0}), LONGER)
RANKS = measured(WROTE, {f"job/llama/rank/{rank}": 30.0 for rank in range(24)})


def _saves(at: int) -> Make:
    """The other job tells of a checkpoint that took a moment longer."""
    return change(CHECKPOINT, "job/b", by=1.0, at=at)


@pytest.mark.parametrize(
    ("why", "make", "score", "most"),
    [
        ("the other job saved as fast since", of(BOTH, WAITS, LONGER, _saves(200)), 1 - 6 + 3, 4.0),
        ("it saved at the same moment", of(BOTH, WAITS, LONGER, _saves(150)), 1 - 6 + 3, 4.0),
        ("it saved before", of(BOTH, WAITS, LONGER, _saves(149)), 1 + 3, 4.0),
        ("it never saved again", of(BOTH, WAITS, LONGER), 1 + 3, 4.0),
        ("it told nothing since", of(BOTH, WAITS, LONGER, change(CHECKPOINT, "job/b", times=float("nan"))), 1 + 3, 4.0),
        ("both take longer", of(BOTH, WAITS, change(CHECKPOINT, times=1.5)), 1 + 3, 4.0),
        ("it answers as fast as ever", of(LESS, ALONE), 1 - 6 + 3, 4.0),
        ("nobody tells how fast it answers, and one job writes", of(without(LATENCY), LESS, ALONE), 1 + 3, 0.6),
        ("nobody tells, but two jobs write", of(without(LATENCY), BOTH, LESS, change(CHECKPOINT, times=1.5)), 1 + 3, 4.0),
        ("one node alone took so long", of(WAITS, ALONE, RANKS, change(WROTE, "job/llama/rank/3", times=2.0)), 1 - 3, 4.0),
        ("a job that writes elsewhere", of(measured(CHECKPOINT, {"job/c": 40.0}), WAITS, change(CHECKPOINT, times=1.5)), 1, 0.0),
    ],
)  # fmt: skip
def test_whose_checkpoints_take_longer(quiet: Any, why: str, make: Make, score: float, most: float) -> None:
    make(quiet)
    found = quiet.candidates(SERVICE)["storage/s1", "storage.write_slow"]
    assert (found.score, found.most) == (pytest.approx(START + score), most), why
    assert bool(found.unknown) is (most == 0.6)


@pytest.mark.parametrize(
    ("why", "make", "score"),
    [
        ("names are slow, and the other job saved as fast since", of(BOTH, LONGER, _saves(200)), 3 - 6 + 3),
        ("that it answers as fast as ever says nothing of names", of(BOTH, LONGER), 3 + 3),
        ("nor that nobody tells", of(without(LATENCY), ALONE), 3 + 3),
    ],
)
def test_whose_checkpoints_wait_for_names(quiet: Any, why: str, make: Make, score: float) -> None:
    of(change(METADATA, times=2.0), make)(quiet)
    found = quiet.candidates(SERVICE)["storage/s1", "storage.metadata"]
    assert (found.score, found.most) == (pytest.approx(START + score), 4.0), why


@pytest.mark.parametrize(("slow", "found"), [(1, ["node/n1"]), (2, [])])
def test_one_writer_of_a_small_job(quiet: Any, slow: int, found: list[str]) -> None:
    """A quarter of three nodes is less than one, and one is a writer all the same."""
    ranks = {f"job/b/rank/{rank}": 30.0 for rank in range(5)}
    quiet.add(WROTE, ranks)
    quiet.link(*(Edge("runs_on", f"node/n{1 + rank % 3}/gpu/{rank}", f"job/b/rank/{rank}") for rank in range(5)))
    quiet.change(WROTE, *list(ranks)[:slow], times=2.0)
    assert [cause for cause, _ in quiet.candidates(WRITER)] == found


COMPUTE, CLOCK, HEAT = "rank_compute_seconds", "gpu_clock_sm_hertz", "gpu_temperature_celsius"


def _ranks(*numbers: int) -> Make:
    return change(COMPUTE, *(f"job/llama/rank/{number}" for number in numbers), times=1.2)


@pytest.mark.parametrize(
    ("why", "make", "found"),
    [
        ("all ranks of a node", _ranks(4, 5), {"node/n3": 3 + 1}),
        ("one of two", _ranks(4), {"job/llama/rank/4": 2.5 + 1.5}),
        ("one of two of two nodes", _ranks(4, 6), {"job/llama/rank/4": 2.5 + 1.5, "job/llama/rank/6": 2.5 + 1.5}),
        ("two nodes of twelve are no single one", _ranks(4, 5, 6, 7), {}),
        ("its GPUs are slow", of(_ranks(4, 5), gpus(CLOCK, nodes(3, 3), times=0.9)), {"node/n3/gpu/0": 2 - 2 + 1, "node/n3/gpu/1": 2 - 2 + 1, "node/n3": 3 - 3}),
        ("its GPUs are hot", of(_ranks(4, 5), gpus(HEAT, nodes(3, 3), by=15.0)), {"node/n3": 3 - 3}),
        ("one of its GPUs is hot", of(_ranks(4, 5), change(HEAT, "node/n3/gpu/0", by=15.0)), {"node/n3": 3 + 1}),
        ("and a rank elsewhere", _ranks(4, 5, 9), {"node/n3": 3 + 1, "job/llama/rank/9": 2.5 + 1.5}),
    ],
)  # fmt: skip
def test_a_node_whose_ranks_compute_longer(quiet: Any, why: str, make: Make, found: dict[str, float]) -> None:
    make(quiet)
    message = {cause: one.score for (cause, _), one in quiet.candidates(DEVICE).items()}
    assert message == {cause: pytest.approx(START + score) for cause, score in found.items()}, why


@pytest.mark.parametrize(("slow", "found"), [(3, ["node/n1"]), (2, ["job/b/rank/0", "job/b/rank/1"])])
def test_most_ranks_of_a_node_are_three_of_five(quiet: Any, slow: int, found: list[str]) -> None:
    ranks = {f"job/b/rank/{rank}": 4.0 for rank in range(20)}
    quiet.add(COMPUTE, ranks)
    quiet.link(*(Edge("runs_on", f"node/n{1 + r // 5}/gpu/{r % 5}", f"job/b/rank/{r}") for r in range(20)))
    quiet.change(COMPUTE, *list(ranks)[:slow], times=1.2)
    assert [cause for cause, _ in quiet.candidates(DEVICE)] == found


@pytest.mark.parametrize(("by", "found"), [(0.24, False), (0.27, True)])
def test_a_rank_is_slow_by_five_spreads_of_the_others(quiet: Any, by: float, found: bool) -> None:
    """The others are 0.03 s off to either side: five spreads above their middle are 0.25 s."""
    quiet.change(COMPUTE, *(f"job/llama/rank/{rank}" for rank in range(0, 24, 2)), by=0.03)
    quiet.change(COMPUTE, *(f"job/llama/rank/{rank}" for rank in range(1, 24, 2) if rank != 5), by=-0.03)
    quiet.change(COMPUTE, "job/llama/rank/5", by=by)
    assert bool(quiet.candidates(DEVICE)) is found


@pytest.mark.parametrize(("count", "found"), [(1, True), (2, False)])
def test_a_rank_alone_is_not_as_others_are(quiet: Any, count: int, found: bool) -> None:
    quiet.add(COMPUTE, {f"job/llama/rank/{rank}": 4.0 for rank in range(count)})
    quiet.change(COMPUTE, "job/llama/rank/0", times=1.2)
    assert (("job/llama/rank/0", "job.rank_slow") in quiet.candidates(DEVICE)) is found


MADE, STEP = "job_throughput_ratio", "job_step_seconds"
TWO = linked(Edge("runs_on", "node/n2", "job/b"))
FAR = linked(Edge("runs_on", "node/n12", "job/b"))


@pytest.mark.parametrize(
    ("why", "make", "speed"),
    [
        ("as ever", of(), 1.0),
        ("a fifth is gone", change(MADE, times=0.8), 0.8),
        ("it stands", change(MADE, times=0.0), 0.05),
        ("faster is as ever", change(MADE, times=1.5), 1.0),
        ("hardly any work, ever", of(measured(MADE, {"job/llama": 0.02})), 0.4),
        ("the slowest counts", of(TWO, measured(MADE, {"job/llama": 1.0, "job/b": 1.0}), change(MADE, "job/b", times=0.5)), 0.5),
        ("of another leaf", of(FAR, measured(MADE, {"job/llama": 1.0, "job/b": 1.0}), change(MADE, "job/b", times=0.5)), 1.0),
        ("nobody tells the throughput", of(without(MADE), change(STEP, times=1.25)), 0.8),
        ("throughput is told: steps may be larger", change(STEP, times=1.25), 1.0),
        ("of one the throughput, of one the steps", of(TWO, measured(STEP, {"job/llama": 5.0, "job/b": 5.0}), change(STEP, "job/b", times=2.0)), 0.5),
        ("nobody tells anything", of(without(MADE), without(STEP)), 1.0),
        ("a step that takes no time", of(without(MADE), change(STEP, times=0.0)), 1.0),
    ],
)  # fmt: skip
def test_how_much_of_their_speed_the_jobs_below_a_leaf_have(quiet: Any, why: str, make: Make, speed: float) -> None:
    make(quiet)
    assert _speed(quiet.scene, "switch/leaf1") == pytest.approx(speed, rel=1e-4), why


def _rollout(*numbers: int, at: float, version: str = "d1", kind: str = "driver_rollout") -> Make:
    return of(*(happens(kind, f"node/n{number}", at, version=version) for number in numbers))


def _fails(*numbers: int, at: float = 2000.0) -> Make:
    return of(*(happens("xid", f"node/n{number}/gpu/0", at, 79) for number in numbers))


@pytest.mark.parametrize(
    ("why", "make", "score"),
    [
        ("one failure right after it is one", of(_rollout(1, at=2300.0), _fails(1, at=2350.0)), None),
        ("two are two", of(_rollout(1, 2, at=2300.0), _fails(1, 2, at=2350.0)), 2 + 2),
        ("it failed at that very moment", of(_rollout(1, 2, at=2300.0), _fails(1, 2, at=2300.0)), 2 + 2),
        ("nobody had it for any time", of(_rollout(1, 2, at=2390.0), _fails(1, 2, at=2390.0)), None),
        ("everybody has it", of(_rollout(*range(1, 13), at=0.0), _fails(1, 2)), None),
        ("another version has one of them and one more", of(_rollout(1, 2, at=1500.0), _rollout(1, 5, at=1500.0, version="f9", kind="firmware_rollout"), _fails(1, 2, 5)), 2 + 1),
        ("another version has all of them and one more", of(_rollout(1, 2, at=1500.0), _rollout(1, 2, 5, at=1500.0, version="f9", kind="firmware_rollout"), _fails(1, 2, 5)), 2 + 1 - 3),
        ("the first rollout counts", of(_rollout(1, 2, at=1900.0), _rollout(1, 2, at=2100.0), _fails(1, 2)), 2 + 2),
    ],
)  # fmt: skip
def test_whether_a_version_is_bad_or_chance(quiet: Any, why: str, make: Make, score: float | None) -> None:
    make(quiet)
    found = quiet.candidates(ROLLOUT).get(("software/d1", "software.rollout"))
    assert (None if found is None else found.score) == (None if score is None else pytest.approx(START + score)), why


PATH, TRANSFER, RATE, SHARE = (
    "path/prefill-decode",
    "pool_transfer_seconds",
    "request_rate_per_second",
    "pool_routing_share",
)
ASKED = measured(RATE, {PATH: 10.0})


def _beside(mine: float, others: float) -> Make:
    paths = {PATH: 0.02, "path/b": 0.02, "path/c": 0.02}
    return of(
        measured(TRANSFER, paths),
        change(TRANSFER, PATH, times=mine),
        change(TRANSFER, "path/b", "path/c", times=others),
    )


@pytest.mark.parametrize(
    ("why", "make", "score"),
    [
        ("so many more requests take so much longer", of(_beside(1.3, 1.0), ASKED, change(RATE, times=1.12)), 3 - 5),
        ("a few more do not", of(_beside(1.3, 1.0), ASKED, change(RATE, times=1.1)), 3),
        ("fewer do not", of(_beside(1.3, 1.0), ASKED, change(RATE, times=0.5)), 3),
        ("of nothing nothing follows", of(_beside(1.3, 1.0), measured(RATE, {PATH: 0.0}), change(RATE, by=5.0)), 3),
        ("nobody counts them now", of(_beside(1.3, 1.0), ASKED, change(RATE, times=float("nan"))), 3),
        ("the others grew by half of it", _beside(2.0, 1.52), 3 - 5),
        ("the others grew by less", _beside(2.0, 1.48), 3),
        ("beside the others it is hardly longer", _beside(1.3, 1.05), 3 - 5),
    ],
)
def test_a_path_that_is_only_busy(quiet: Any, why: str, make: Make, score: float) -> None:
    make(quiet)
    assert quiet.candidates(POOLS)[PATH, "pools.path"].score == pytest.approx(START + score, abs=1e-3), why


def test_a_share_that_no_one_reports_lately_has_not_grown(quiet: Any) -> None:
    change(TRANSFER, PATH, times=1.3)(quiet)
    quiet.tables[SHARE].values[0, -3:] = np.nan
    assert quiet.candidates(POOLS)[PATH, "pools.path"].score == START + 2.5 + 0.5
    quiet.tables[SHARE].values[0, -1] = 0.53
    assert quiet.candidates(POOLS)[PATH, "pools.path"].score == START + 2.5 - 3.5

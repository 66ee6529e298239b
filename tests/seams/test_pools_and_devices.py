"""A path between pools, a GPU, a rank: slow by itself or for somebody else's sake; what speaks for each."""

from typing import Any

import numpy as np
import pytest

from holdfast.model.topology import Edge
from holdfast.seams.rules.device_slow import SEAM as DEVICE
from holdfast.seams.rules.pools_path import SEAM as POOLS
from tests.seams.making import START, Make, change, hot, measured, nodes, of, without

PATH = "path/prefill-decode"
TRANSFER, SHARE, STALL, LATENCY = (
    "pool_transfer_seconds",
    "pool_routing_share",
    "pool_stall_ratio",
    "request_latency_seconds",
)
CONGESTION = "link_congestion_ratio"
CLOCK, HEAT, COMPUTE, DATA = (
    "gpu_clock_sm_hertz",
    "gpu_temperature_celsius",
    "rank_compute_seconds",
    "rank_data_seconds",
)
SLOW, SHARE_AS_EVER = change(TRANSFER, PATH, times=1.3), 0.5


def _beside(times: float) -> Make:
    """Three other paths, which take so many times as long as usual."""
    paths = {PATH: 0.02, "path/b": 0.02, "path/c": 0.02, "path/d": 0.02}
    others = [path for path in paths if path != PATH]
    return of(measured(TRANSFER, paths), SLOW, change(TRANSFER, *others, times=times))


def _crosses(world: Any) -> None:
    world.link(Edge("connects", "link/leaf1-spine1", PATH), Edge("runs_on", "node/n1", "pool/prefill"))


def _for_a_while(first: int, last: int, by: float) -> Make:
    return of(
        change(CONGESTION, "link/leaf1-spine1", by=by, at=first),
        change(CONGESTION, "link/leaf1-spine1", by=-by, at=last),
    )


@pytest.mark.parametrize(
    ("why", "make", "score"),
    [
        ("its share is as ever", SLOW, 2.5 + 0.5),
        ("nobody tells its share", of(SLOW, without(SHARE)), 2.5),
        ("it stalls", of(SLOW, measured(STALL, {PATH: 0.01}), change(STALL, by=0.05)), 2.5 + 0.75 + 0.5),
        ("it stalls and requests wait", of(SLOW, measured(STALL, {PATH: 0.01}), change(STALL, by=0.05), measured(LATENCY, {PATH: 0.5}), change(LATENCY, times=1.2)), 2.5 + 1.5 + 0.5),
        ("all paths take longer: a busy hour", _beside(1.05), 2.5 - 5 + 0.5),
        ("the others hardly do", _beside(1.03), 2.5 + 0.5),
        ("a busy hour that requests wait in", of(_beside(1.2), measured(STALL, {PATH: 0.01}), change(STALL, by=0.05)), 2.5 + 0.75 - 5 + 0.5),
        ("it gets more requests", of(SLOW, change(SHARE, by=0.05)), 2.5 - 3.5),
        ("it takes far longer than that explains", of(change(TRANSFER, PATH, times=3.0), change(SHARE, by=0.05)), 2.5),
        ("it begins to get more", of(SLOW, change(SHARE, by=0.021, at=237)), 2.5 - 3.5),
        ("for too short to tell", of(SLOW, change(SHARE, by=0.021, at=239)), 2.5 + 0.5),
        ("hardly more", of(SLOW, change(SHARE, by=0.019, at=237)), 2.5 + 0.5),
        ("the links that it crosses are normal", of(SLOW, _crosses), 2.5 + 0.5 + 0.5),
        ("one of them is crowded", of(SLOW, _crosses, change(CONGESTION, "link/leaf1-spine1", by=0.06)), 2.5 + 0.5 - 5),
        ("one of them counts errors", of(SLOW, _crosses, change("link_errors_per_second", "link/leaf1-spine1", by=1.0)), 2.5 + 0.5 - 5),
        ("one of them carries less", of(SLOW, _crosses, change("link_bandwidth_bytes_per_second", "link/leaf1-spine1", times=0.9)), 2.5 + 0.5 - 5),
        ("one of them was crowded when it began", of(SLOW, _crosses, _for_a_while(150, 157, 0.06)), 2.5 + 0.5 - 5),
        ("it was for a moment", of(SLOW, _crosses, _for_a_while(150, 155, 0.06)), 2.5 + 0.5 + 0.5),
        ("it was a little", of(SLOW, _crosses, _for_a_while(150, 162, 0.04)), 2.5 + 0.5 + 0.5),
        ("it was before", of(SLOW, _crosses, _for_a_while(130, 150, 0.06)), 2.5 + 0.5 + 0.5),
        ("a node of its pool is hot", of(SLOW, _crosses, hot(nodes(1, 1))), 2.5 + 0.5 + 0.5 - 2),
        ("another node is hot", of(SLOW, _crosses, hot(nodes(2, 2))), 2.5 + 0.5 + 0.5),
    ],
)  # fmt: skip
def test_how_sure_a_stalled_path_is(quiet: Any, why: str, make: Make, score: float) -> None:
    make(quiet)
    assert quiet.candidates(POOLS)[PATH, "pools.path"].score == pytest.approx(START + score, abs=1e-3), why


SHARES = measured(SHARE, {PATH: 0.5, "path/b": 0.5})


@pytest.mark.parametrize(
    ("why", "make", "score"),
    [
        ("it gets more than before", change(SHARE, by=0.05), 2.5),
        ("hardly more", change(SHARE, by=0.03), None),
        ("it gets less", change(SHARE, by=-0.05), None),
        ("another gets less", of(SHARES, change(SHARE, PATH, by=0.05), change(SHARE, "path/b", by=-0.05)), 2.5 + 1),
        ("and it takes longer", of(SLOW, change(SHARE, by=0.05)), 2.5 + 1),
        ("and it takes far longer", of(change(TRANSFER, PATH, times=3.0), change(SHARE, by=0.05)), 2.5 - 4 + 1),
    ],
)
def test_how_sure_an_unequal_router_is(quiet: Any, why: str, make: Make, score: float | None) -> None:
    make(quiet)
    found = quiet.candidates(POOLS).get((PATH, "pools.imbalance"))
    assert (None if found is None else found.score) == (None if score is None else pytest.approx(START + score)), why


GPU = "node/n3/gpu/1"
FOUR = measured(CLOCK, {f"node/n{n}/gpu/{i}": 1.98e9 for n in (3, 4) for i in range(4)})
SLOW_GPU = of(FOUR, change(CLOCK, GPU, times=0.9))
RANK = "job/llama/rank/5"


@pytest.mark.parametrize(
    ("why", "make", "score"),
    [
        ("its neighbours are as fast as ever", SLOW_GPU, 2 + 1),
        ("half of its node is slow", of(SLOW_GPU, change(CLOCK, "node/n3/gpu/0", times=0.9)), 2 - 2),
        ("half of two nodes is slow: not the GPU", of(SLOW_GPU, change(CLOCK, "node/n3/gpu/0", "node/n4/gpu/0", "node/n4/gpu/1", times=0.9)), None),
        ("it is hot", of(SLOW_GPU, change(HEAT, GPU, by=15.0)), 2 + 1 - 1 - 4),
        ("it is hot, and others are hotter", of(SLOW_GPU, change(HEAT, GPU, by=15.0), change(HEAT, "node/n9/gpu/0", by=20.0)), 2 + 1 - 1),
        ("another is hot", of(SLOW_GPU, change(HEAT, "node/n3/gpu/0", by=15.0)), 2 + 1),
        ("its rank takes longer", of(SLOW_GPU, change(COMPUTE, RANK, times=1.1)), 2 + 1 + 1),
        ("another rank does", of(SLOW_GPU, change(COMPUTE, "job/llama/rank/6", times=1.1)), 2 + 1),
    ],
)  # fmt: skip
def test_how_sure_a_slow_gpu_is(quiet: Any, why: str, make: Make, score: float | None) -> None:
    make(quiet)
    found = quiet.candidates(DEVICE).get((GPU, "gpu.slow"))
    assert (None if found is None else found.score) == (None if score is None else pytest.approx(START + score)), why


@pytest.mark.parametrize(("times", "most"), [(0.96, 1.2), (0.945, 4.0)])
def test_gpus_differ_by_a_twentieth(quiet: Any, times: float, most: float) -> None:
    quiet.tables[CLOCK].values[:] = quiet.tables[CLOCK].values.mean()
    change(CLOCK, GPU, times=times)(quiet)
    assert quiet.candidates(DEVICE)[GPU, "gpu.slow"].most == most


LATE = change(COMPUTE, RANK, times=1.05)
AS_EVER = 1.5


def _ranks(*numbers: int, times: float = 1.2) -> Make:
    return change(COMPUTE, *(f"job/llama/rank/{n}" for n in numbers), times=times)


@pytest.mark.parametrize(
    ("why", "make", "score"),
    [
        ("its GPU is as ever", LATE, 2.5 + AS_EVER),
        ("three in a hundred of a step hold up the others", change(COMPUTE, RANK, by=0.161), 2.5 + AS_EVER),
        ("of a longer step it is less", of(change("job_step_seconds", times=1.12, at=0), change(COMPUTE, RANK, by=0.161)), None),
        ("its GPU is slow", of(LATE, change(CLOCK, GPU, times=0.9)), 2.5 - 3),
        ("two of 24 are few", _ranks(5, 6), 2.5 + AS_EVER),
        ("three have something in common", _ranks(5, 8, 10), None),
        ("three, one of which has a hot GPU", of(_ranks(5, 6, 7), change(HEAT, "node/n4/gpu/0", by=15.0)), 2.5 + AS_EVER),
        ("three, one of which has a slow GPU", of(_ranks(5, 6, 7), change(CLOCK, "node/n4/gpu/0", times=0.9)), 2.5 + AS_EVER),
        ("all take half as much longer", of(change(COMPUTE, times=1.03), change(COMPUTE, RANK, by=0.12)), None),
        ("all take a little longer", of(change(COMPUTE, times=1.02), change(COMPUTE, RANK, by=0.12)), 2.5 + AS_EVER),
        ("ranks of another job take longer", of(measured(COMPUTE, {**{f"job/llama/rank/{n}": 4.0 for n in range(24)}, **{f"job/b/rank/{n}": 4.0 for n in range(30)}}), change(COMPUTE, *(f"job/b/rank/{n}" for n in range(30)), by=0.15), LATE), 2.5 + AS_EVER),
        ("its data comes late", of(measured(DATA, {f"job/llama/rank/{n}": 0.2 for n in range(24)}), change(DATA, RANK, by=0.2)), 2.5 + AS_EVER),
        ("nobody sees its GPU", of(LATE, without(CLOCK)), 2.5),
    ],
)  # fmt: skip
def test_how_sure_a_slow_rank_is(quiet: Any, why: str, make: Make, score: float | None) -> None:
    make(quiet)
    found = quiet.candidates(DEVICE).get((RANK, "job.rank_slow"))
    assert (None if found is None else found.score) == (None if score is None else pytest.approx(START + score)), why
    if found is not None:
        assert found.most == (1.2 if why.startswith("nobody") else 4.0)


def test_a_rank_of_a_job_without_steps_is_judged_all_the_same(quiet: Any) -> None:
    quiet.tables["job_step_seconds"].values[:] = np.nan
    LATE(quiet)
    assert (RANK, "job.rank_slow") in quiet.candidates(DEVICE)

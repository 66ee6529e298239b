"""Jobs that are slow and nobody knows why; jobs that only rest; and what was ruled out."""

from typing import Any

import numpy as np
import pytest

from holdfast.model.finding import Symptom
from holdfast.model.panel import Panel, SignalTable
from holdfast.model.topology import Edge, Topology
from holdfast.seams.candidate import CauseCandidate
from holdfast.seams.root import roots
from holdfast.seams.scene import Scene
from holdfast.seams.slowdown import _matters
from tests.seams.making import Make, change, measured, nodes, of, without

JOB, STEP, MADE, USE = "job/llama", "job_step_seconds", "job_throughput_ratio", "gpu_utilization_ratio"
NAN = float("nan")
LONGER = change(STEP, times=1.2, at=120)


@pytest.mark.parametrize(
    ("why", "make", "found"),
    [
        ("nobody tells the throughput", without(MADE), True),
        ("throughput is as ever: larger steps", of(), False),
        ("a hair less", change(MADE, times=0.976), False),
        ("less", change(MADE, times=0.974), True),
        ("there never was any", measured(MADE, {JOB: 0.0}), True),
        ("there was none before, and nobody tells now", of(measured(MADE, {JOB: NAN})), True),
        ("nobody tells it now", change(MADE, times=NAN), True),
        ("of another job", measured(MADE, {"job/b": 1.0}), True),
    ],
)
def test_a_longer_step_is_slow_where_less_is_made(quiet: Any, why: str, make: Make, found: bool) -> None:
    of(LONGER, make)(quiet)
    assert [one.kind for one in roots(quiet.scene, [])] == (["job.slowdown"] if found else []), why


@pytest.mark.parametrize(
    ("why", "times", "at", "found"),
    [
        ("for sixteen minutes", 1.1, 143, True),
        ("not quite", 1.1, 144, False),
        ("much slower, for five minutes", 1.51, 209, True),
        ("not quite five", 1.51, 210, False),
        ("nearly much slower, for five", 1.49, 209, False),
        ("it lost a minute and a half", 1.0905, 139, True),
        ("it lost less", 1.0895, 139, False),
        ("a twentieth", 1.051, 20, True),
        ("less than a twentieth", 1.049, 20, False),
    ],
)
def test_how_slow_for_how_long(quiet: Any, why: str, times: float, at: int, found: bool) -> None:
    calm = None
    if at < 80:  # slow for longer than the window's beginning: beside a known good past
        calm = type(quiet.panel)(quiet.times, {STEP: _copy(quiet.tables[STEP])})
    of(without(MADE), change(STEP, times=times, at=at))(quiet)
    scene = type(quiet.scene)(quiet.panel, quiet.topology, calm)
    assert [one.kind for one in roots(scene, [])] == (["job.slowdown"] if found else []), why


def _copy(table: Any) -> Any:
    return type(table)(table.subjects, table.values.copy())


ALL = ["accelerators", "cooling", "fabric", "power", "serving", "storage"]


@pytest.mark.parametrize(
    ("why", "make", "well"),
    [
        ("everything else is as ever", of(), ALL),
        ("a fan turns slower", change("fan_speed_ratio", "node/n1", times=0.5), [d for d in ALL if d != "cooling"]),
        ("storage was not seen", of(change("storage_latency_seconds", times=NAN), change("storage_metadata_seconds", times=NAN)), [d for d in ALL if d != "storage"]),
    ],
)  # fmt: skip
def test_what_is_ruled_out(quiet: Any, why: str, make: Make, well: list[str]) -> None:
    of(LONGER, without(MADE), make)(quiet)
    (one,) = roots(quiet.scene, [])
    assert one.evidence[1] == "ruled out, measured and normal: " + ", ".join(well), why
    assert one.evidence[0] == f"{JOB} takes 20 % longer for a step (5 s before, 6 s now), for 20 min"
    assert (one.owners, one.path, [sign.subject for sign in one.symptoms]) == (("training",), (JOB,), [JOB])


def test_a_job_that_is_named_already_is_not_named_again(quiet: Any) -> None:
    of(LONGER, without(MADE))(quiet)
    sign = Symptom(JOB, "job_failed", 1500.0, 0.0, 1.0)
    other = {"kind": "k", "signs": [sign], "explains": frozenset[str](), "score": 2.0}
    itself = CauseCandidate(cause=JOB, reach=frozenset({JOB}), **other)  # type: ignore[arg-type]
    another = CauseCandidate(cause="node/n1", reach=frozenset({JOB}), **other)  # type: ignore[arg-type]
    beside = CauseCandidate(cause="node/n1", reach=frozenset(), **(other | {"signs": [], "began": 1500.0}))  # type: ignore[arg-type]
    assert [one.kind for one in roots(quiet.scene, [itself])] == ["k"]
    assert [one.kind for one in roots(quiet.scene, [another])] == ["k"]
    assert [one.kind for one in roots(quiet.scene, [beside])] == ["k", "job.slowdown"]


def _lately(value: float, *numbers: int) -> Make:
    def make(world: Any) -> None:
        table = world.tables[USE]
        for name in nodes(1, 12):
            if not numbers or int(name.removeprefix("node/n")) in numbers:
                for gpu in (0, 1):
                    table.values[table.index[f"{name}/gpu/{gpu}"], -6:] = value

    return make


@pytest.mark.parametrize(
    ("why", "make", "idle"),
    [
        ("they work", of(), False),
        ("none does anything", _lately(0.09), True),
        ("a tenth is something", _lately(0.11), False),
        ("one node works", of(_lately(0.0), _lately(0.5, 3)), False),
        ("one node is not seen", of(_lately(0.0), _lately(NAN, 3)), False),
        ("one works for a moment", of(_lately(0.0), lambda world: world.tables[USE].values.__setitem__((5, -6), 0.5)), False),
        ("one worked a minute ago", of(_lately(0.0), lambda world: world.tables[USE].values.__setitem__((5, -7), 0.5)), True),
        ("nobody sees any", without(USE), False),
        ("one reading is missing", of(_lately(0.0), lambda world: world.tables[USE].values.__setitem__((5, -6), NAN)), True),
    ],
)  # fmt: skip
def test_a_job_is_idle_whose_gpus_all_rest(quiet: Any, why: str, make: Make, idle: bool) -> None:
    make(quiet)
    assert quiet.scene.idle_jobs == (frozenset({JOB}) if idle else frozenset()), why


def test_the_last_step_of_an_idle_job_is_the_past(quiet: Any) -> None:
    quiet.add(STEP, {JOB: 5.0, "job/b": 5.0})
    quiet.add("rank_compute_seconds", {f"{JOB}/rank/0": 4.0, "job/b/rank/0": 4.0})
    quiet.link(Edge("runs_on", "node/n99", "job/b"))
    of(_lately(0.0), change(STEP, times=1.5), change("rank_compute_seconds", times=1.5))(quiet)
    assert set(quiet.scene.moved(STEP)) == {"job/b"}
    assert set(quiet.scene.moved("rank_compute_seconds")) == {"job/b/rank/0"}
    assert quiet.tables[STEP].values[0, -1] == 7.5, "what was read stays as it was"
    assert quiet.scene.usual(STEP, JOB) == 5.0, "and so does what was usual"


def test_an_idle_job_does_not_matter(quiet: Any) -> None:
    without(MADE)(quiet)
    sign = Symptom(JOB, STEP, 500.0, 5.0, 10.0)
    assert _matters(quiet.scene, sign)
    _lately(0.0)(quiet)
    assert not _matters(quiet.scene, sign)


def _noisy(slower: float, begins: int, ends: int = 360) -> Any:
    """An hour of a job whose steps swing by a tenth."""
    times = np.arange(360) * 10.0
    row = 5.0 * (1 + 0.05 * np.sin(np.arange(360) * 0.5))
    row[begins:ends] *= 1 + slower
    topology = Topology((Edge("runs_on", "node/n1", JOB),))
    return Scene(Panel(times, {STEP: SignalTable((JOB,), row[None, :].astype(np.float32))}), topology)


@pytest.mark.parametrize(
    ("why", "scene", "found"),
    [
        ("for half an hour", _noisy(0.08, 160), True),
        ("not so long", _noisy(0.08, 240), False),
        ("a quarter of it was as ever", _noisy(0.08, 160, 310), False),
        ("less than a twentieth", _noisy(0.045, 160), False),
        ("as ever", _noisy(0.0, 160), False),
    ],
)
def test_a_small_slowdown_shows_in_every_part_of_half_an_hour(why: str, scene: Any, found: bool) -> None:
    assert not scene.moved(STEP), "a minute shows nothing"
    assert [one.kind for one in roots(scene, [])] == (["job.slowdown"] if found else []), why


def test_a_small_slowdown_behind_a_cause_is_its_doing() -> None:
    scene = _noisy(0.08, 160)
    cause = Symptom("node/n1", "psu_healthy", 1600.0, 1.0, 0.0)
    one = CauseCandidate(
        cause="node/n1", kind="k", signs=[cause], reach=frozenset({JOB}), explains=frozenset(), score=3.0, proven=True
    )
    assert [found.kind for found in roots(scene, [one])] == ["k"]


@pytest.mark.parametrize(
    ("why", "times", "share", "gap", "found"),
    [
        ("two minutes of five, four times", 4, 1.4, 30, True),
        ("a tenth longer is not worth a word in the mean", 4, 1.1, 30, False),
        ("twice is no habit", 2, 1.4, 30, False),
        ("four times within a quarter of an hour is too soon to tell", 4, 1.4, 21, False),
    ],
)
def test_a_job_that_is_slow_again_and_again(
    quiet: Any, why: str, times: int, share: float, gap: int, found: bool
) -> None:
    without(MADE)(quiet)
    for number in range(times):
        begin = 240 - gap * times + gap * number
        quiet.tables[STEP].values[:, begin : begin + 12] *= share
    said = [one for one in quiet.explain() if one.kind == "job.slowdown"]
    assert [one.cause for one in said] == ([JOB] if found else []), why
    assert all("it is intermittent" in one.evidence[0] for one in said)

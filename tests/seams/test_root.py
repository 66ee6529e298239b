"""Who is the root: it explains most, was first, lasts; what follows from another is none."""

from math import exp
from types import SimpleNamespace
from typing import Any

import pytest

from holdfast.model.finding import Finding, Symptom
from holdfast.model.topology import Edge
from holdfast.seams.candidate import CauseCandidate
from holdfast.seams.root import MOST_PATHS, _paths, explains, roots
from tests.seams.making import change

JOB, NAN = "job/llama", float("nan")
SLOW_AT = 1500.0  # when the job of these scenes becomes slow


def _sign(subject: str, since: float, signal: str = "storage_used_ratio") -> Symptom:
    return Symptom(subject, signal, since, 0.5, 0.9)


def _candidate(cause: str, since: float = SLOW_AT, **more: Any) -> CauseCandidate:
    given = {
        "cause": cause,
        "kind": f"kind.of.{cause}",
        "signs": [_sign(cause, since)],
        "reach": frozenset({JOB, cause}),
        "explains": frozenset({"step", "throughput"}),
        "score": 0.0,
    }
    return CauseCandidate(**(given | more))


def _sure(score: float) -> Any:
    return pytest.approx(1 / (1 + exp(-score)), abs=1e-4)


def _slow(world: Any) -> Any:
    world.slow_job(at=150)
    return world.scene


ALL, FIRST, LATE = 2.5, 1.0, -3.0


@pytest.mark.parametrize(
    ("why", "since", "score", "raw"),
    [
        ("it moved first", 1490.0, 0.0, ALL + FIRST),
        ("it moved in the same column or the next", 1510.0, 0.0, ALL + FIRST),
        ("onsets are not known so well", 1511.0, 0.0, ALL),
        ("nor by a minute and a half", 1590.0, 0.0, ALL),
        ("an effect does not come before its cause", 1591.0, 1.0, 1 + ALL + LATE),
        ("how much may speak for it otherwise", 1591.0, 3.0, 0.7),
    ],
)
def test_who_moved_first(quiet: Any, why: str, since: float, score: float, raw: float) -> None:
    (found,) = roots(_slow(quiet), [_candidate("cdu/c1", since, score=score)])
    assert found.raw == _sure(raw), why
    assert found.since == since


@pytest.mark.parametrize(("since", "expected"), [(2100.0, True), (2099.0, False), (1900.0, False)])
def test_clocks_ten_minutes_apart_are_reported(quiet: Any, since: float, expected: bool) -> None:
    (found,) = roots(_slow(quiet), [_candidate("cdu/c1", since, score=3.0)])
    assert any("the clock of cdu is 600 s late" in words for words in found.unknown) is expected


@pytest.mark.parametrize(("score", "found"), [(0.41, True), (0.40, False)])
def test_less_than_three_in_five_is_not_reported(quiet: Any, score: float, found: bool) -> None:
    assert bool(roots(quiet.scene, [_candidate("cdu/c1", score=score)])) is found


@pytest.mark.parametrize(
    ("since", "proven", "found"), [(2350.0, False, True), (2351.0, False, False), (2390.0, True, True)]
)
def test_what_began_this_moment_may_be_over_the_next(quiet: Any, since: float, proven: bool, found: bool) -> None:
    assert bool(roots(quiet.scene, [_candidate("cdu/c1", since, score=2.0, proven=proven)])) is found


@pytest.mark.parametrize(("since", "asked"), [(1590.0, True), (1591.0, False)])
def test_what_is_bad_in_itself_is_not_asked_for_what_was_there_before(quiet: Any, since: float, asked: bool) -> None:
    found, *rest = roots(_slow(quiet), [_candidate("cdu/c1", since, score=1.0, proven=True)])
    assert not rest
    assert found.raw == _sure(1.0 + (ALL if asked else 0.0))
    assert (JOB in {one.subject for one in found.symptoms}) is asked


@pytest.mark.parametrize(
    ("families", "share"), [({"step"}, 1 / 3), ({"step", "throughput"}, 2 / 3), ({"heat"}, 0.25 / 3)]
)
def test_every_signal_counts_the_same_however_many_show_it(quiet: Any, families: set[str], share: float) -> None:
    """A job is slow and four GPUs are hot, one of them in reach."""
    quiet.hot("node/n1", "node/n2", at=150)
    reach = frozenset({JOB, "node/n1/gpu/0", "cdu/c1"})
    found = roots(_slow(quiet), [_candidate("cdu/c1", score=0.5, reach=reach, explains=frozenset(families))])[0]
    assert found.raw == _sure(0.5 + ALL * share + FIRST)


def test_what_one_explains_needs_no_other(quiet: Any) -> None:
    """The second has a sign of its own: it is weighed by what is left, and that is nothing."""
    first, second = _candidate("cdu/c1", score=0.5), _candidate("feed/a", 1505.0, score=0.45)
    found = roots(_slow(quiet), [second, first])
    assert [(one.cause, one.raw) for one in found] == [
        ("cdu/c1", _sure(0.5 + ALL + FIRST)),
        ("feed/a", _sure(0.45)),
    ]


def _named(found: tuple[Finding, ...]) -> list[str]:
    return [one.cause for one in found]


@pytest.mark.parametrize(
    ("theirs", "since", "kind", "follows"),
    [
        (3, 1500.0, "power.psu", True),
        (2, 1500.0, "power.psu", False),
        (3, 1410.0, "power.psu", True),
        (3, 1409.0, "power.psu", False),
        (3, 1200.0, "cooling.ambient", True),  # meters of one domain smooth and peak: onsets are less exact
        (3, 1199.0, "cooling.ambient", False),
    ],
)
def test_what_another_has_made_most_signs_of_follows_from_it(
    quiet: Any, theirs: int, since: float, kind: str, follows: bool
) -> None:
    """Five signs; three of them are the other's doing, unless they came before it."""
    racks = [f"rack/r{number}" for number in range(5)]
    signs = [Symptom(rack, "rack_inlet_celsius", since, 30.0, 40.0) for rack in racks]
    effect = _candidate("room/h1", signs=signs, score=2.0, proven=True, reach=frozenset(), explains=frozenset())
    reach = frozenset({"cdu/c1", *racks[:theirs]})
    cause = _candidate("cdu/c1", score=3.0, reach=reach, explains=frozenset({"inlet"}))
    effect.kind, cause.kind = kind, "cooling.flow_low"
    found = roots(quiet.scene, [cause, effect])
    assert _named(found) == (["cdu/c1"] if follows else ["cdu/c1", "room/h1"])
    if follows:
        assert [(rival.cause, rival.kind) for rival in found[0].rivals] == [("room/h1", kind)]
        assert found[0].rivals[0].why == "it follows from cdu/c1"


@pytest.mark.parametrize(("proven", "both"), [(True, True), (False, False)])
def test_one_cause_is_reported_once_unless_it_is_bad_in_two_ways(quiet: Any, proven: bool, both: bool) -> None:
    better = _candidate("cdu/c1", score=3.0)
    other = _candidate("cdu/c1", score=2.0, kind="other", proven=proven)
    assert len(roots(quiet.scene, [better, other])) == (2 if both else 1)


def _without_signs(cause: str, **more: Any) -> CauseCandidate:
    return _candidate(cause, signs=[], began=SLOW_AT, **more)


@pytest.mark.parametrize(("mine", "expected"), [(2, False), (3, True)])
def test_without_a_sign_of_its_own_it_must_explain_three_in_ten_by_itself(
    quiet: Any, mine: int, expected: bool
) -> None:
    """Ten GPUs are hot; the other explains all but two, or all but three of them."""
    quiet.hot(*(f"node/n{number}" for number in range(1, 6)), at=150)
    gpus = [f"node/n{n}/gpu/{i}" for n in range(1, 6) for i in (0, 1)]
    heat = frozenset({"heat"})
    winner = _candidate("cdu/c1", score=2.0, reach=frozenset(gpus[mine:]), explains=heat)
    loser = _without_signs("room/h1", score=1.0, reach=frozenset(gpus), explains=heat)
    found = roots(quiet.scene, [winner, loser])
    assert _named(found) == (["cdu/c1", "room/h1"] if expected else ["cdu/c1"])
    if not expected:
        assert found[0].rivals[0].why == "cdu/c1 explains its symptoms"


def test_why_another_lost_is_reported_with_what_speaks_against_it(quiet: Any) -> None:
    winner, loser = _candidate("cdu/c1", score=3.0), _without_signs("room/h1", doubts=["a", "b", "c"])
    (found,) = roots(_slow(quiet), [winner, loser])
    assert found.rivals[0].why == "cdu/c1 explains its symptoms; a; b"


@pytest.mark.parametrize(("count", "slow", "spared"), [(4, 2, True), (4, 3, False), (5, 2, True), (5, 3, False)])
def test_a_path_is_no_victim_of_what_spared_most_paths_beside_it(
    quiet: Any, count: int, slow: int, spared: bool
) -> None:
    """Of the paths within the reach of a switch, half are slow, or more. Those beyond it are not asked."""
    paths = {f"path/{number}": 0.02 for number in range(count)}
    quiet.add("pool_transfer_seconds", {**paths, "path/beyond": 0.02, "path/far": 0.02})
    quiet.change("pool_transfer_seconds", *list(paths)[:slow], times=2.0)
    sign = Symptom("path/0", "pool_transfer_seconds", SLOW_AT, 0.02, 0.04)
    own = _candidate("path/0", signs=[sign], score=1.0, reach=frozenset({"path/0"}), explains=frozenset({"transfer"}))
    switch = _candidate("switch/leaf1", score=3.0, reach=frozenset(paths), explains=frozenset({"transfer"}))
    assert ("path/0" in _named(roots(quiet.scene, [switch, own]))) is spared


def test_a_single_path_within_reach_was_not_spared(quiet: Any) -> None:
    sign = Symptom("path/prefill-decode", "pool_transfer_seconds", SLOW_AT, 0.02, 0.04)
    transfer = frozenset({"transfer"})
    own = _candidate("path/prefill-decode", signs=[sign], score=1.0, reach=frozenset(), explains=transfer)
    reach = frozenset({"path/prefill-decode"})
    switch = _candidate("switch/leaf1", score=3.0, reach=reach, explains=transfer)
    assert _named(roots(quiet.scene, [switch, own])) == ["switch/leaf1"]


NODE_GPU = "node/n1/gpu/0"


@pytest.mark.parametrize(
    ("why", "symptom", "more", "answer"),
    [
        ("in reach and of the family", Symptom(JOB, "job_step_seconds", 0, 1, 2), {}, True),
        ("of another family", Symptom(JOB, "job_collective_seconds", 0, 1, 2), {}, False),
        ("out of reach", Symptom("job/b", "job_step_seconds", 0, 1, 2), {}, False),
        ("the cause itself", Symptom("cdu/c1", "job_step_seconds", 0, 1, 2), {"reach": frozenset()}, True),
        ("a part of what is in reach", Symptom(NODE_GPU, "gpu_temperature_celsius", 0, 1, 2), {"reach": {"node/n1"}, "explains": {"heat"}}, True),
        ("a part of the cause", Symptom(NODE_GPU, "gpu_temperature_celsius", 0, 1, 2), {"cause": "node/n1", "explains": {"heat"}}, True),
        ("a rank that runs on a known GPU is slow by itself", Symptom("job/llama/rank/3", "rank_compute_seconds", 0, 1, 2), {"explains": {"compute"}}, False),
        ("it waits with its job", Symptom("job/llama/rank/3", "rank_wait_seconds", 0, 1, 2), {"explains": {"wait"}}, True),
        ("a rank of nobody knows where", Symptom("job/llama/rank/99", "rank_compute_seconds", 0, 1, 2), {"explains": {"compute"}}, True),
        ("fans turn faster in heat", Symptom("node/n1", "fan_speed_ratio", 0, 0.5, 0.8), {"reach": {"node/n1"}, "explains": {"fan"}}, True),
        ("heat makes no fan turn slower", Symptom("node/n1", "fan_speed_ratio", 0, 0.5, 0.2), {"reach": {"node/n1"}, "explains": {"fan"}}, False),
        ("a fan that turns as ever fails no more than it did", Symptom("node/n1", "fan_speed_ratio", 0, 0.5, 0.5), {"reach": {"node/n1"}, "explains": {"fan"}}, True),
        ("heat gives a reason", Symptom(NODE_GPU, "gpu_clock_event_reasons", 0, 0, 64), {"reach": {"node/n1"}, "explains": {"gpu_clock_event_reasons"}}, True),
        ("a power limit is no reason of heat", Symptom(NODE_GPU, "gpu_clock_event_reasons", 0, 0, 4), {"reach": {"node/n1"}, "explains": {"gpu_clock_event_reasons"}}, False),
        ("nor is the brake", Symptom(NODE_GPU, "gpu_clock_event_reasons", 0, 0, 128), {"reach": {"node/n1"}, "explains": {"held_back"}}, True),
        ("a reason that nobody read", Symptom(NODE_GPU, "gpu_clock_event_reasons", 0, 0, NAN), {"reach": {"node/n1"}, "explains": {"gpu_clock_event_reasons"}}, True),
        ("what is no signal of ours names itself", Symptom(JOB, "verdict", 0, 0, 1), {"explains": {"verdict"}}, True),
        ("backwards, on what acts on it", Symptom("cdu/c1", "cdu_flow_litres_per_minute", 0, 2, 1), {"cause": "rack/r1", "backwards": {"flow"}}, True),
        ("not on what does not", Symptom("cdu/c2", "cdu_flow_litres_per_minute", 0, 2, 1), {"cause": "rack/r1", "backwards": {"flow"}}, False),
        ("nor any other signal", Symptom("cdu/c1", "cdu_supply_celsius", 0, 2, 1), {"cause": "rack/r1", "backwards": {"flow"}}, False),
    ],
)  # fmt: skip
def test_what_a_candidate_explains(quiet: Any, why: str, symptom: Symptom, more: dict[str, Any], answer: bool) -> None:
    more = {name: value if name == "cause" else frozenset(value) for name, value in more.items()}
    if "cause" in more and "reach" not in more:
        more["reach"] = frozenset()
    assert explains(quiet.scene, _candidate(more.pop("cause", "cdu/c1"), **more), symptom) is answer, why


def test_a_person_reads_work_first_and_a_dozen_ways_at_most(quiet: Any) -> None:
    quiet.hot(*(f"node/n{number}" for number in range(1, 13)), at=150)
    quiet.slow_job(at=160)
    reach = quiet.scene.down("room/h1") | {"room/h1", JOB}
    cause = _candidate("room/h1", score=2.0, reach=reach, explains=frozenset({"heat", "step", "throughput"}))
    (found,) = roots(quiet.scene, [cause])
    assert found.path[0].endswith(JOB)
    assert len(found.path) == 12
    assert all(way.startswith("room/h1 > ") for way in found.path)


def test_a_cause_that_reaches_no_one_is_its_own_way(quiet: Any) -> None:
    (found,) = roots(quiet.scene, [_candidate("storage/other", score=2.0)])
    assert found.path == ("storage/other",)


def test_owners_are_those_of_the_cause_and_of_the_work_that_suffers(quiet: Any) -> None:
    quiet.hot("node/n1", at=150)
    reach = quiet.scene.down("cdu/c1") | {JOB}
    heat, work = frozenset({"heat"}), frozenset({"heat", "step", "throughput"})
    (only_heat,) = roots(quiet.scene, [_candidate("cdu/c1", score=2.0, reach=reach, explains=heat)])
    assert only_heat.owners == ("facilities", "hardware")
    (slow_too,) = roots(_slow(quiet), [_candidate("cdu/c1", score=2.0, reach=reach, explains=work)])
    assert slow_too.owners == ("facilities", "training")


def test_five_rivals_are_enough(quiet: Any) -> None:
    rivals = [_without_signs(f"room/{number}", score=0.1) for number in range(7)]
    (found,) = roots(_slow(quiet), [_candidate("cdu/c1", score=3.0), *rivals])
    assert len(found.rivals) == 5


def test_of_equals_the_earlier_is_reported_first(quiet: Any) -> None:
    late, soon = _candidate("cdu/c1", 1600.0, score=2.0), _candidate("feed/a", 1550.0, score=2.0)
    assert _named(roots(quiet.scene, [late, soon])) == ["feed/a", "cdu/c1"]
    assert _named(roots(quiet.scene, [_candidate("b", score=2.0), _candidate("a", score=2.0)])) == ["a", "b"]


def test_a_finding_never_starts_in_the_future(quiet: Any) -> None:
    (found,) = roots(quiet.scene, [_candidate("cdu/c1", 9999.0, score=2.0, proven=True, signs=[], began=2390.0)])
    assert found.since == 2390.0


def test_edges_that_carry_a_pool_reach_the_paths_into_it(quiet: Any) -> None:
    quiet.link(Edge("runs_on", "node/n1", "pool/decode"), Edge("feeds", "path/prefill-decode", "pool/decode"))
    assert "path/prefill-decode" in quiet.scene.reach("node/n1", ("runs_on", "feeds"))


@pytest.mark.parametrize(
    ("times", "at", "found"),
    [
        (1.1, 140, True),
        (1.1, 145, False),  # 940 s: a stretch of other data
        (1.08, 140, False),  # 80 s lost
        (1.045, 20, False),
        (1.55, 205, True),  # much slower: after five minutes
        (1.55, 211, False),
        (1.45, 205, False),
    ],
)
def test_a_slowdown_without_a_cause_is_a_finding_once_it_lasts(quiet: Any, times: float, at: int, found: bool) -> None:
    change("job_step_seconds", times=times, at=at)(quiet)
    quiet.tables.pop("job_throughput_ratio", None)
    message = roots(quiet.scene, [])
    assert [(one.cause, one.kind) for one in message] == ([(JOB, "job.slowdown")] if found else [])
    if message:
        assert f"{100 * times - 100:.0f} % longer" in message[0].evidence[0] and "cooling" in message[0].evidence[1]
        assert message[0].since == 10.0 * at
        assert message[0].confidence < 0.8  # that it is slow is known, why is not


def test_larger_steps_at_the_same_throughput_are_no_slowdown(quiet: Any) -> None:
    change("job_step_seconds", times=1.3, at=150)(quiet)
    quiet.add("job_throughput_ratio", {JOB: 1.0})
    assert roots(quiet.scene, []) == ()


def test_who_uses_a_port_of_a_node_runs_on_the_node(quiet: Any) -> None:
    quiet.link(Edge("connects", "switch/rail3", "node/n1/nic/mlx5_3/1"))
    assert JOB in quiet.scene.reach("switch/rail3", ("connects", "runs_on"))
    assert JOB not in quiet.scene.reach("switch/rail3", ("connects",))
    quiet.link(Edge("runs_on", "node/n1", "job/b/rank/0"))
    found = quiet.scene.reach("switch/rail3", ("connects", "runs_on"))
    assert found == {"switch/rail3", "node/n1/nic/mlx5_3/1", JOB, "job/b", "milestone/m1"}, "its jobs, not its ranks"


def test_paths_are_looked_for_to_twice_as_many_as_are_shown() -> None:
    asked: list[int] = []

    def paths(cause: str, subjects: list[str]) -> list[list[str]]:
        asked.append(len(subjects))
        return [[cause, one] for one in subjects]

    scene: Any = SimpleNamespace(topology=SimpleNamespace(paths=paths))
    symptoms = [Symptom(f"node/n{number}", "x", 0.0, 0.0, 1.0) for number in range(5 * MOST_PATHS)]
    assert len(_paths(scene, "cdu/c1", symptoms)) == MOST_PATHS
    assert asked == [2 * MOST_PATHS]

"""What is reported once, what is not reported again, and who is no part of it: each on both sides."""

from dataclasses import replace

import pytest

from holdfast.fleet.decisions.continuity import Continuity
from holdfast.fleet.decisions.current_verdicts import MOST_CHECKS, CurrentVerdicts
from holdfast.fleet.decisions.guards import Guards
from holdfast.fleet.decisions.lifecycle.maintenance import Maintenance
from holdfast.fleet.decisions.lifecycle.policy import Policy
from holdfast.fleet.decisions.repeat_offenders import (
    DEFAULT,
    MOST_DEATHS,
    Group,
    JobDeath,
    Neighbours,
    RepeatOffenders,
    Weights,
    score,
)
from holdfast.fleet.decisions.timers import Timers
from holdfast.fleet.decisions.unsaved_state import Unsaved
from holdfast.fleet.decisions.verdict_state import VerdictState
from holdfast.fleet.incidents.register import Incidents
from holdfast.model.account import Account
from holdfast.model.incident import Incident
from holdfast.model.job import Job, JobState
from holdfast.model.lifecycle import EventKind, NodeEvent, NodeState, Offence, Stage
from holdfast.model.wire.report import Report, VerdictChange

NOW, DAY = 100_000.0, 86_400.0
AT_ONCE = Policy(shared_first_seconds=0.0)
COOLING = Account(kind="cooling.flow_low", confidence=0.9, since=0.0, lasted_seconds=60.0)


def node(number: int = 0, stage: Stage = Stage.READY, **more: object) -> NodeState:
    known: dict[str, object] = {"place": {"leaf": f"l{number // 8}"}, "tested_at": 1.0, "tested_suite": "1", **more}
    return NodeState(name=f"n{number}", stage=stage, **known)  # type: ignore[arg-type]


def state_of(*first: NodeState, policy: Policy = AT_ONCE, incidents: tuple[Incident, ...] = ()) -> VerdictState:
    rest = [node(number) for number in range(len(first), 40)]
    return VerdictState(policy, [*first, *rest], incidents=incidents)


def tick(made: VerdictState, at: float = NOW, timers: Timers | None = None) -> Timers:
    timers = timers or Timers(made, Unsaved())
    made.last_report_at.update(dict.fromkeys(made.nodes, at))
    timers.tick(at)
    return timers


def change(check: str, after: str = "fail", at: float = NOW) -> VerdictChange:
    return VerdictChange(at=at, check=check, before="pass", after=after, reason=f"{check} {after}")


@pytest.mark.parametrize(("stage", "what"), [(Stage.TESTING, "test"), (Stage.DRAINING, "drain")])
def test_an_incident_of_what_is_overdue_stays_the_same_until_it_goes_on(stage: Stage, what: str) -> None:
    made = state_of(node(stage=stage, since=0.0, asked_at=None, jobs=frozenset({"7"})))
    timers = tick(made)
    subject = f"node/n0/{what}"
    assert [one.subject for one in made.incidents.take_changed()] == [subject]
    tick(made, NOW + 10, timers)
    assert made.incidents.take_changed() == [], "it is neither closed nor opened again"
    made.put(replace(made.nodes["n0"], stage=Stage.QUARANTINED, cause="operator"))
    tick(made, NOW + 20, timers)
    assert subject not in made.incidents.open


def test_what_is_overdue_of_a_node_that_is_gone_is_over_and_other_incidents_of_a_node_stay() -> None:
    gone = Incident(id="a", opened=0.0, subject="node/gone/test", cause="test.overdue")
    drain = Incident(id="b", opened=0.0, subject="node/gone/drain", cause="drain.overdue")
    other = Incident(id="c", opened=0.0, subject="node/n0/gpu", cause="x")
    lost = Incident(id="d", opened=0.0, subject="node/gone/gpu", cause="x")
    made = state_of(incidents=(gone, drain, other, lost))
    tick(made)
    assert sorted(made.incidents.open) == ["node/gone/gpu", "node/n0/gpu"]


def test_a_drain_that_is_overdue_is_no_test_that_is() -> None:
    kept = Incident(id="a", opened=0.0, subject="node/n0/test", cause="test.overdue")
    made = state_of(node(stage=Stage.DRAINING, since=0.0, jobs=frozenset({"7"})), incidents=(kept,))
    tick(made)
    assert sorted(made.incidents.open) == ["node/n0/drain"]


def test_a_shared_cause_of_nodes_that_are_gone_is_over() -> None:
    shared = Incident(id="s", opened=0.0, subject="leaf/l9", evidence=("gone", "lost"))
    made = state_of(incidents=(shared,))
    tick(made)
    assert not made.incidents.open


@pytest.mark.parametrize(
    ("more", "fails"),
    [
        ({"stage": Stage.TESTING, "held": "leaf/l0"}, True),
        ({"stage": Stage.TESTING, "held": ""}, False),
        ({"stage": Stage.READY, "held": "leaf/l0"}, False),
    ],
)
def test_a_held_node_under_test_fails_until_what_it_failed_by_passes(more: dict[str, object], fails: bool) -> None:
    made = state_of(node(**more))  # type: ignore[arg-type]
    made.guards.remember("n0", "gpu.xid", NOW)
    timers = Timers(made, Unsaved())
    timers.begin(NOW)
    assert timers._fails("n0", NOW) is fails
    made.guards.recovered("n0")
    assert not timers._fails("n0", NOW)
    assert not timers._fails("gone", NOW)


@pytest.mark.parametrize(("own", "failing"), [("gpu.xid", "gpu.xid"), ("", "gpu.temperature")])
def test_its_own_failure_goes_before_a_symptom_of_a_seam(own: str, failing: str) -> None:
    seam = Incident(id="s", opened=0.0, subject="cdu/c2", cause=COOLING.kind, evidence=("n0",), account=COOLING)
    made = state_of(incidents=(seam,))
    for check in ("gpu.temperature", own):
        if check:
            made.current.take("n0", change(check))
    found = made.failing("n0")
    assert found is not None
    assert found.check == failing
    made.current.take("n1", change("gpu.temperature"))
    made.current.take("n1", change("gpu.xid"))
    of_no_seam = made.failing("n1")
    assert of_no_seam is not None
    assert of_no_seam.check == "gpu.temperature", "the first, where no seam has it"


def test_a_check_in_shadow_mode_is_not_its_own_failure_either() -> None:
    seam = Incident(id="s", opened=0.0, subject="cdu/c2", cause=COOLING.kind, evidence=("n0",), account=COOLING)
    made = state_of(policy=Policy(shared_first_seconds=0.0, shadow_checks=frozenset({"gpu.xid"})), incidents=(seam,))
    for check in ("gpu.temperature", "gpu.xid"):
        made.current.take("n0", change(check))
    found = made.failing("n0")
    assert found is not None
    assert found.check == "gpu.temperature"
    made.current.take("n1", change("gpu.xid"))
    assert made.failing("n1") is None
    assert made.failing("nobody") is None


def reports(*numbers: int, session: str = "a", of: str = "n1") -> list[Report]:
    return [Report(node=of, session=session, seq=number, at=0.0) for number in numbers]


@pytest.mark.parametrize(
    ("why", "before", "sent", "asked"),
    [
        ("the next number", reports(4), reports(5), None),
        ("the one after that", reports(4), reports(6), 6),
        ("the same again", reports(4), reports(4), None),
        ("an older one and the next", reports(4), reports(3, 5), None),
        ("of another session", reports(4), reports(5, session="b"), 5),
        ("another session that begins", reports(4), reports(1, session="b"), None),
        ("of another node", reports(4), reports(5, of="n2"), 5),
        ("the last session counts, and its first", reports(4), [*reports(5), *reports(2, 3, session="b")], 2),
        ("the highest that was sent counts", reports(4, 3), reports(5), None),
    ],
)
def test_where_the_store_is_asked_for_what_went_before(
    why: str, before: list[Report], sent: list[Report], asked: int | None
) -> None:
    known, questions = Continuity(), []

    def has_all(of: str, session: str, number: int) -> bool:
        questions.append(number)
        return False

    for one in before:
        known.broken([one], has_all)
    questions.clear()
    assert known.broken(sent, has_all) is (asked is not None), why
    assert questions == ([] if asked is None else [asked])


def test_after_another_session_the_numbers_of_the_first_are_forgotten() -> None:
    known = Continuity()
    known.broken(reports(90), lambda *_: True)
    known.broken(reports(1, session="b"), lambda *_: True)
    assert known.broken(reports(3, session="b"), lambda *_: False)
    assert not known.broken(reports(4, session="b"), lambda *_: False)


@pytest.mark.parametrize(
    ("known", "more", "room"), [(MOST_CHECKS - 1, 1, True), (MOST_CHECKS, 1, False), (MOST_CHECKS, 0, True)]
)
def test_a_node_has_a_thousand_checks(known: int, more: int, room: bool) -> None:
    assert MOST_CHECKS == 1000
    made = CurrentVerdicts({"n1": [change(f"site.{number}") for number in range(known)]})
    assert made.has_room("n1", [f"new.{number}" for number in range(more)]) is room
    assert made.has_room("n1", ["site.0"])
    assert made.has_room("n2", ["site.0"])


LOOSE = Policy(
    shared_nodes=4, shared_share=0.5, shared_seconds=120.0, shared_first_seconds=30.0, shared_wait_seconds=60.0
)


def leaves(count: int = 16) -> Guards:
    lives = [NodeState(name=f"n{i}", stage=Stage.READY, place={"leaf": f"l{i // 8}"}) for i in range(count)]
    return Guards(lives, Incidents())


def test_a_node_of_an_open_incident_is_taken_into_no_other() -> None:
    made = leaves()
    made.incidents.raise_("rack/r1", "gpu.xid", "why", NOW, ("n0",))
    made.incidents.raise_("leaf/l0", "gpu.xid", "why", NOW, ("n4", "n5", "n6", "n7"))
    made.failed_by("n0", "gpu.xid", NOW, LOOSE)
    assert made.incidents.members("leaf/l0") == {"n4", "n5", "n6", "n7"}
    assert made.incidents.explaining("n0") == "rack/r1"
    made.failed_by("n1", "gpu.xid", NOW, LOOSE)
    assert "n1" in made.incidents.members("leaf/l0")


def test_what_failed_before_this_process_started_counts_from_its_first_moment() -> None:
    """Also where that moment is the first of the clock."""
    made = leaves()
    for number in range(3):
        made.remember(f"n{number}", "gpu.xid", 0.0)
    made.failed_by("n3", "gpu.xid", 0.0, LOOSE)
    assert list(made.incidents.open) == ["leaf/l0"]


@pytest.mark.parametrize(("held", "after"), [(("n0", "n1"), False), (("n0", "n9"), True)])
def test_a_seam_absorbs_an_incident_all_of_whose_nodes_it_has(held: tuple[str, ...], after: bool) -> None:
    made = Incidents()
    made.raise_("leaf/l0", "gpu.xid", "why", NOW, held)
    made.raise_("leaf/l1", "gpu.xid", "why", NOW, ())
    made.found("cdu/c2", COOLING, "flow is low", NOW, ("n0", "n1"))
    assert ("leaf/l0" in made.open) is after
    assert "leaf/l1" in made.open, "one of which no node is known"


def test_two_offences_a_day_apart_are_two() -> None:
    for apart, count in ((DAY, 2), (DAY - 1, 1)):
        found = score([Offence(at=0.0, cause="a"), Offence(at=apart, cause="b")], (), NOBODY, 400 * DAY)
        assert found.reasons[0].startswith(f"{count} offences of its own")


NOBODY = Neighbours(fleet=Group(name="", nodes=0, burden=0.0))


@pytest.mark.parametrize(
    ("why", "offences", "deaths", "expected"),
    [
        ("one this moment", [Offence(at=NOW - 1, cause="a")], [], 1.0),
        ("one a year ago", [Offence(at=NOW - 365 * DAY, cause="a")], [], 0.5),
        ("one with a cause it had", [Offence(at=NOW - 3 * DAY, cause="a"), Offence(at=NOW - 1, cause="a")], [], 3.0),
        ("one with another cause", [Offence(at=NOW - 3 * DAY, cause="b"), Offence(at=NOW - 1, cause="a")], [], 2.0),
        ("this very moment is not before", [Offence(at=NOW, cause="a")], [], 0.0),
        ("a job that died on it alone", [], [JobDeath(at=NOW - 1, nodes=1)], 1.0),
        ("on four nodes", [], [JobDeath(at=NOW - 1, nodes=4)], 0.25),
        ("on no node that is named", [], [JobDeath(at=NOW - 1, nodes=0)], 1.0),
        ("this very moment", [], [JobDeath(at=NOW, nodes=1)], 0.0),
    ],
)
def test_what_counts_how_much(why: str, offences: list[Offence], deaths: list[JobDeath], expected: float) -> None:
    assert score(offences, deaths, NOBODY, NOW).score == pytest.approx(expected, abs=0.01), why


@pytest.mark.parametrize(
    ("why", "shared", "expected"),
    [
        ("the fleet's usual rate", (), 10 * 0.1),
        ("a rack as bad as the fleet", (Group(name="rack/r", nodes=10, burden=1.0),), 10 * 0.1),
        ("a rack ten times as bad, of few nodes", (Group(name="rack/r", nodes=10, burden=10.0),), 10 * 0.1 * 400 / 310),
        ("two of them", (Group(name="rack/r", nodes=10, burden=10.0), Group(name="leaf/l", nodes=10, burden=10.0)), 10 * 0.1 * (400 / 310) ** 2),
    ],
)  # fmt: skip
def test_what_a_node_shares_with_others(why: str, shared: tuple[Group, ...], expected: float) -> None:
    given = Neighbours(fleet=Group(name="", nodes=1000, burden=100.0), shared=shared)
    assert score((), (), given, NOW).score == pytest.approx(expected), why


def test_a_fleet_that_never_failed_adds_nothing() -> None:
    for nodes, burden in ((0, 5.0), (5, 0.0)):
        assert score((), (), Neighbours(fleet=Group(name="", nodes=nodes, burden=burden)), NOW).score == 0.0


def offenders(count: int, *offences: Offence) -> tuple[RepeatOffenders, NodeState]:
    bad = node(0, offences=offences)
    return RepeatOffenders({f"n{n}": bad if n == 0 else node(n) for n in range(count)}), bad


def test_a_repeat_offender_has_four_times_what_is_usual() -> None:
    """One node of forty failed four times: a tenth of an offence for each, and ten times that for what they share."""
    four = [Offence(at=NOW - days * DAY, cause=f"c{days}") for days in (1, 3, 5, 7)]
    many, bad = offenders(40, *four)
    said = many.why(bad, NOW, Policy(repeat_offender_score=0.5))
    assert said == (
        "a repeat offender, score 5.1 where 1.1 is usual: 4 offences of its own (+3.97); "
        "leaf/l0 has 1.1 times the fleet's offences (+1.10)"
    )
    few, alone = offenders(10, *four)
    assert few.why(alone, NOW, Policy(repeat_offender_score=0.5)) == ""
    assert many.why(bad, NOW, Policy(repeat_offender_score=5.2)) == ""
    assert many.why(bad, NOW, Policy(repeat_offender_score=0.0)) == ""


def test_what_the_fleet_carries_is_counted_again_after_ten_minutes() -> None:
    made, bad = offenders(200, Offence(at=NOW - DAY, cause="a"), Offence(at=NOW - 3 * DAY, cause="b"))
    policy = Policy(repeat_offender_score=0.5)
    assert made.why(bad, NOW, policy)
    for name in list(made._nodes):
        made._nodes[name] = replace(bad, name=name)  # type: ignore[index]
    assert made.why(bad, NOW + 599.0, policy)
    assert made.why(bad, NOW + 600.0, policy) == "", "all of them failed as often"


@pytest.mark.parametrize(
    ("why", "job", "counts"),
    [
        ("its node failed", Job(id="1", source="slurm", nodes=("n0",), state=JobState.NODE_FAILED, end=NOW), True),
        (
            "it failed on two nodes",
            Job(id="1", source="slurm", nodes=("n0", "n1"), state=JobState.FAILED, end=NOW),
            True,
        ),
        (
            "it failed on one: its own crash",
            Job(id="1", source="slurm", nodes=("n0",), state=JobState.FAILED, end=NOW),
            False,
        ),
        ("it ended well", Job(id="1", source="slurm", nodes=("n0", "n1"), state=JobState.COMPLETED, end=NOW), False),
        ("it has no end yet", Job(id="1", source="slurm", nodes=("n0",), state=JobState.NODE_FAILED), False),
        (
            "a step of a job",
            Job(id="1", source="slurm", nodes=("n0",), state=JobState.NODE_FAILED, end=NOW, step="0"),
            False,
        ),
    ],
)
def test_which_dead_jobs_count(why: str, job: Job, counts: bool) -> None:
    made, _ = offenders(3)
    made.note([job])
    made.note([job])
    assert len(made._deaths["n0"]) == (1 if counts else 0), why
    made.forget("n0")
    assert not made._deaths["n0"]


def test_thirty_two_deaths_are_remembered() -> None:
    made, _ = offenders(3)
    made.note(Job(id=str(n), source="slurm", nodes=("n0",), state=JobState.NODE_FAILED, end=NOW + n) for n in range(40))
    assert [one.at for one in made._deaths["n0"]] == [NOW + n for n in range(40 - MOST_DEATHS, 40)]
    assert MOST_DEATHS == 32


def test_the_weights_are_those_of_the_documentation() -> None:
    assert Weights() == DEFAULT
    assert (DEFAULT.half_life_seconds, DEFAULT.episode_seconds) == (365 * DAY, DAY)
    assert (DEFAULT.same_cause, DEFAULT.job_death, DEFAULT.shared, DEFAULT.doubt_nodes) == (1.0, 1.0, 10.0, 300.0)


def test_planned_work_brings_every_node_to_mind() -> None:
    window = Maintenance(name="w", start=NOW - 1, end=NOW + 1)
    made = state_of(policy=Policy(shared_first_seconds=0.0, maintenance=(window,)))
    tick(made)
    assert {one.held for one in made.nodes.values()} == {"maintenance/w"}


def test_a_step_of_nobody_is_none() -> None:
    assert state_of().step("nobody", NodeEvent(kind=EventKind.RETEST), NOW) == []

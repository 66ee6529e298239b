"""Schedules: how often a job saves, how long it takes to come back, who is kept too long; and new software."""

from dataclasses import replace
from math import sqrt
from typing import Any

import pytest

from holdfast.seams.rules import schedule_cadence, software_rollout
from holdfast.seams.rules.schedule_cadence import SEAM as CADENCE
from holdfast.seams.rules.schedule_cadence import _lost, _mtbf
from holdfast.seams.rules.schedule_degraded import SEAM as DEGRADED
from holdfast.seams.rules.schedule_recovery import SEAM as RECOVERY
from holdfast.seams.rules.software_rollout import SEAM as ROLLOUT
from tests.seams.making import START, Make, change, happens, measured, of

JOB = "job/llama"
INTERVAL, TAKES, MTBF = "job_checkpoint_interval_seconds", "job_checkpoint_seconds", "job_mtbf_seconds"
SPAN = 2390.0
NAN = float("nan")


def _saves(interval: float, takes: float) -> Make:
    return of(measured(INTERVAL, {JOB: interval}), measured(TAKES, {JOB: takes}))


def _dies(*moments: float) -> Make:
    return of(*(happens("job_failed", JOB, at) for at in moments))


FOUR = _dies(500.0, 1000.0, 1500.0, 2000.0)
LONG, SHORT = "schedule.cadence_long", "schedule.cadence_short"


@pytest.mark.parametrize(
    ("why", "make", "kind", "score"),
    [
        ("it dies four times and saves far too rarely", of(_saves(1200.0, 10.0), FOUR), LONG, 3.0),
        ("three deaths are no rate where nobody changed the interval", of(_saves(1200.0, 10.0), _dies(500.0, 1000.0, 1500.0)), None, 0),
        ("another job's deaths do not count", of(_saves(1200.0, 10.0), _dies(1.0, 2.0, 3.0), happens("job_failed", "job/b", 4.0)), None, 0),
        ("somebody told how often it dies", of(_saves(1200.0, 10.0), measured(MTBF, {JOB: 600.0})), LONG, 3.0),
        ("within twice the best interval", of(_saves(218.0, 10.0), measured(MTBF, {JOB: 600.0})), None, 0),
        ("beyond it", of(_saves(222.0, 10.0), measured(MTBF, {JOB: 600.0})), LONG, 3.0),
        ("beyond it, but it hardly costs", of(_saves(1600.0, 10.0), measured(MTBF, {JOB: 30_000.0})), None, 0),
        ("within half of the best interval", of(_saves(56.0, 10.0), measured(MTBF, {JOB: 600.0})), None, 0),
        ("it saves far too often", of(_saves(54.0, 10.0), measured(MTBF, {JOB: 600.0})), SHORT, 3.0),
        ("it never wrote one: too often cannot be told", of(measured(INTERVAL, {JOB: 20.0}), measured(MTBF, {JOB: 600.0})), None, 0),
        ("it never wrote one: too rarely can", of(measured(INTERVAL, {JOB: 1200.0}), measured(MTBF, {JOB: 600.0})), LONG, 3.0),
        ("exactly twice the best interval", of(_saves(240.0, 12.0), measured(MTBF, {JOB: 600.0})), LONG, 3.0),
        ("exactly half of it", of(_saves(60.0, 12.0), measured(MTBF, {JOB: 600.0})), SHORT, 3.0),
        ("more than once in a second", of(_saves(0.9, 0.1), measured(MTBF, {JOB: 600.0})), SHORT, 3.0),
        ("it does not save", of(_saves(0.0, 10.0), FOUR), None, 0),
        ("saving takes no time", of(_saves(1200.0, 0.0), FOUR), None, 0),
        ("saving takes hardly any time", of(_saves(1200.0, 0.9), FOUR), LONG, 3.0),
    ],
)  # fmt: skip
def test_how_sure_a_bad_interval_is(quiet: Any, why: str, make: Make, kind: str | None, score: float) -> None:
    make(quiet)
    found = quiet.candidates(CADENCE)
    assert {key[1]: one.score for key, one in found.items()} == (
        {kind: pytest.approx(START + score)} if kind else {}
    ), why


@pytest.mark.parametrize(
    ("why", "times", "deaths", "kind"),
    [
        ("changed to too rarely, and it died twice", 10.0, (1600.0, 2000.0), LONG),
        ("it died once: no rate", 10.0, (1600.0,), None),
        ("changed to too often, and it never died", 0.05, (), SHORT),
        ("one death asks for less often than that", 0.2, (1600.0,), SHORT),
    ],
)
def test_who_changed_the_interval_needs_less_proof(
    quiet: Any, why: str, times: float, deaths: tuple[float, ...], kind: str | None
) -> None:
    of(_saves(300.0, 20.0), change(INTERVAL, times=times), _dies(*deaths))(quiet)
    found = quiet.candidates(CADENCE)
    assert [key[1] for key in found] == ([kind] if kind else []), why
    for one in found.values():
        assert (one.score, one.proven) == (pytest.approx(START + 5), True)
        assert one.signs[0].signal == INTERVAL
        assert [sign.since for sign in one.signs[1:]] == ([2000.0] if kind == LONG else [])


@pytest.mark.parametrize(("deaths", "expected"), [((), SPAN / 3), ((900.0,), SPAN / 4), ((900.0, 1800.0), SPAN / 2)])
def test_how_often_a_job_dies_is_at_the_most_what_a_short_look_can_report(
    quiet: Any, deaths: tuple[float, ...], expected: float
) -> None:
    of(_saves(5.0, 4.0), _dies(*deaths))(quiet)
    (one,) = quiet.candidates(CADENCE).values()
    assert f"the job dies every {expected:.0f} s" in one.reasons[1]


def test_a_changed_interval_of_a_job_that_never_died_is_held_against_a_day(quiet: Any) -> None:
    of(_saves(300.0, 20.0), change(INTERVAL, times=0.1))(quiet)
    (one,) = quiet.candidates(CADENCE).values()
    assert "dies every 86400 s" in one.reasons[1]
    assert "every 1859 s would" in one.reasons[0]
    assert "loses 65 %" in one.reasons[0]


def test_a_job_that_never_wrote_is_taken_to_need_a_minute(quiet: Any) -> None:
    of(measured(INTERVAL, {JOB: 1200.0}), measured(MTBF, {JOB: 600.0}))(quiet)
    (one,) = quiet.candidates(CADENCE).values()
    assert "a checkpoint takes 60 s" in one.reasons[1]
    assert len(one.unknown) == 1
    assert one.began == 0.0
    assert not one.proven


USUAL = measured("job_restart_seconds", {JOB: 300.0})


@pytest.mark.parametrize(
    ("why", "make", "took"),
    [
        ("down for longer than is usual", of(USUAL, _dies(1850.0)), 540.0),
        ("not yet", of(USUAL, _dies(1851.0)), None),
        ("nobody tells what is usual", _dies(1310.0), 1080.0),
        ("not yet, where nobody tells", _dies(1311.0), None),
        ("it came back, late", of(USUAL, _dies(1000.0), happens("job_restarted", JOB, 1541.0)), 541.0),
        ("it came back in time", of(USUAL, _dies(1000.0), happens("job_restarted", JOB, 1539.0)), None),
        ("another came back", of(USUAL, _dies(1000.0), happens("job_restarted", "job/b", 1100.0)), 1390.0),
        ("it came back late, and died again just now", of(USUAL, _dies(100.0), happens("job_restarted", JOB, 1541.0), _dies(2380.0)), None),
    ],
)  # fmt: skip
def test_when_a_recovery_is_slow(quiet: Any, why: str, make: Make, took: float | None) -> None:
    make(quiet)
    found = list(quiet.candidates(RECOVERY).values())
    assert [one.signs[0].now for one in found] == ([took] if took else []), why
    assert all(one.score == START + 4 and one.proven for one in found)


@pytest.mark.parametrize(("ago", "found"), [(3600.0, True), (3610.0, False)])
def test_a_slow_recovery_is_remembered_for_an_hour(quiet: Any, ago: float, found: bool) -> None:
    back = quiet.times[-1] - ago
    of(USUAL, _dies(back - 2000.0), happens("job_restarted", JOB, back))(quiet)
    assert bool(quiet.candidates(RECOVERY)) is found


def test_what_is_usual_may_not_be_reported_now(quiet: Any) -> None:
    of(USUAL, _dies(1600.0))(quiet)
    quiet.tables["job_restart_seconds"].values[0, -1] = NAN
    assert quiet.candidates(RECOVERY) == {}


def _verdict(health: str, at: float = 900.0) -> Make:
    return happens("verdict", "node/n3/gpu/1", at, health=health)


SLOW = of(change("gpu_clock_sm_hertz", "node/n3/gpu/1", times=0.7), change("job_step_seconds", times=1.25))
# A step of 5 s takes 6.25 s: a fifth of the time since column 150 (890 s), 178 s of the whole job.


def _replacing(seconds: float) -> Make:
    return measured("job_replace_seconds", {JOB: seconds})


@pytest.mark.parametrize(
    ("why", "make", "found"),
    [
        ("it cost more than replacing it would", of(SLOW, _verdict("degraded"), _replacing(177.0)), True),
        ("not yet", of(SLOW, _verdict("degraded"), _replacing(179.0)), False),
        ("a failed one as well", of(SLOW, _verdict("fail"), _replacing(100.0)), True),
        ("it passes", of(SLOW, _verdict("pass"), _replacing(100.0)), False),
        ("it passed again", of(SLOW, _verdict("fail"), _verdict("pass", 1800.0), _replacing(100.0)), False),
        ("known only lately", of(SLOW, _verdict("fail", 1900.0), _replacing(100.0)), False),
        ("what a restart costs, where nobody tells", of(SLOW, _verdict("fail"), measured("job_restart_seconds", {JOB: 177.0})), True),
        ("a restart costs more", of(SLOW, _verdict("fail"), measured("job_restart_seconds", {JOB: 179.0})), False),
        ("replacing is told and is cheaper", of(SLOW, _verdict("fail"), _replacing(100.0), measured("job_restart_seconds", {JOB: 900.0})), True),
        ("ten minutes, where nobody tells anything", of(SLOW, _verdict("fail")), False),
        ("not quite ten minutes", of(change("gpu_clock_sm_hertz", "node/n3/gpu/1", times=0.7), change("job_step_seconds", times=3.0), _verdict("fail")), False),
        ("more than ten minutes", of(change("gpu_clock_sm_hertz", "node/n3/gpu/1", times=0.7), change("job_step_seconds", times=3.2), _verdict("fail")), True),
        ("the job is as fast as ever", of(change("gpu_clock_sm_hertz", "node/n3/gpu/1", times=0.7), _verdict("fail"), _replacing(1.0)), False),
        ("a GPU of another node is slow", of(change("gpu_clock_sm_hertz", "node/n5/gpu/1", times=0.7), change("job_step_seconds", times=1.25), _verdict("fail"), _replacing(1.0)), False),
        ("its GPUs are as fast as ever", of(change("job_step_seconds", times=1.25), _verdict("fail"), _replacing(1.0)), False),
    ],
)  # fmt: skip
def test_when_a_degraded_node_is_kept_too_long(quiet: Any, why: str, make: Make, found: bool) -> None:
    make(quiet)
    kept = quiet.candidates(DEGRADED)
    assert list(kept) == ([("node/n3", "schedule.degraded_kept")] if found else []), why
    assert all(one.score == START + 5.5 and one.proven and one.signs[0].since == 900.0 for one in kept.values())


def _rollout(*numbers: int, at: float = 100.0, version: str = "d1", kind: str = "driver_rollout") -> Make:
    return of(*(happens(kind, f"node/n{n}", at, version=version) for n in numbers))


def _fails(number: int, at: float = 2000.0, code: int = 79, kind: str = "xid") -> Make:
    return happens(kind, f"node/n{number}/gpu/0", at, code)


@pytest.mark.parametrize(
    ("why", "make", "score"),
    [
        ("two that have it fail, and no other", of(_rollout(1, 2), _fails(1), _fails(2)), 2 + 1),
        ("where three have it, once in seventeen by chance", of(_rollout(1, 2, 3), _fails(1), _fails(2)), None),
        ("one failure is none", of(_rollout(1, 2), _fails(1)), None),
        ("three failures: hardly by chance", of(_rollout(1, 2), _fails(1), _fails(2), _fails(1, 2100.0)), 2 + 2),
        ("others fail as often", of(_rollout(1, 2), _fails(1), _fails(2), _fails(5), _fails(6), _fails(7)), None),
        ("it failed before it had it", of(_rollout(1, 2, at=1500.0), _fails(1, 1400.0), _fails(2, 1450.0)), None),
        ("programs do that to themselves", of(_rollout(1, 2), _fails(1, code=13), _fails(2, code=43)), None),
        ("whatever else fails counts", of(_rollout(1, 2), _fails(1, kind="node_failed"), _fails(2, kind="sxid")), 2 + 1),
        ("all of one node: perhaps it is ill", of(_rollout(1, 2), _fails(1), _fails(1, 2100.0), _fails(1, 2200.0)), 2 + 2 - 3),
        ("they all have another version too", of(_rollout(1, 2), _rollout(1, 2, version="f9", kind="firmware_rollout"), _fails(1), _fails(2)), 2 + 1 - 3),
        ("some have another version too", of(_rollout(1, 2), _rollout(1, version="f9", kind="firmware_rollout"), _fails(1), _fails(2)), 2 + 1),
        ("half of the fleet has it: by chance", of(_rollout(*range(1, 7)), _fails(1), _fails(2)), None),
    ],
)  # fmt: skip
def test_how_sure_a_bad_version_is(quiet: Any, why: str, make: Make, score: float | None) -> None:
    make(quiet)
    found = quiet.candidates(ROLLOUT).get(("software/d1", "software.rollout"))
    assert (None if found is None else found.score) == (None if score is None else pytest.approx(START + score)), why
    if found is not None:
        assert found.proven
        assert found.began == 100.0


def test_a_failure_without_a_code_counts_and_a_rollout_began_with_its_first_node(quiet: Any) -> None:
    of(_rollout(1, at=100.0), _rollout(2, at=700.0))(quiet)
    of(*(happens("xid", f"node/n{n}", 2000.0 + n, "") for n in (1, 2, 1, 2)))(quiet)
    found = quiet.candidates(ROLLOUT)["software/d1", "software.rollout"]
    assert (found.began, len(found.signs)) == (100.0, 4)


@pytest.mark.parametrize(("cost", "found"), [(445.0, True), (445.5, False)])
def test_a_degraded_node_is_kept_too_long_from_the_second_on_that_it_costs(
    quiet: Any, cost: float, found: bool
) -> None:
    """The job takes twice as long since column 150, 890 s ago: it lost half of them."""
    of(change("gpu_clock_sm_hertz", "node/n3/gpu/1", times=0.7), change("job_step_seconds", times=2.0))(quiet)
    of(_verdict("fail"), _replacing(cost))(quiet)
    assert bool(quiet.candidates(DEGRADED)) is found


@pytest.mark.parametrize(("deaths", "mtbf"), [([], 86_400.0), ([1.0], SPAN / 4), ([1.0, 2.0], SPAN / 2)])
def test_how_often_a_job_dies_whose_interval_was_changed(quiet: Any, deaths: list[float], mtbf: float) -> None:
    of(_saves(300.0, 20.0), change(INTERVAL, times=10.0))(quiet)
    quiet.times = quiet.times + 1e6
    assert _mtbf(quiet.scene, JOB, deaths)[0] == mtbf


@pytest.mark.parametrize(
    ("interval", "lost"), [(600.0, 10 / 600 + 0.5), (1200.0, 10 / 1200 + 1.0), (2400.0, 10 / 2400 + 1.0)]
)
def test_what_saving_and_dying_lose(interval: float, lost: float) -> None:
    """Dying every 600 s: half of an interval each time, and never more than all of the time."""
    assert _lost(interval, 10.0, 600.0) == pytest.approx(lost)


def test_a_version_without_a_name_is_its_rollout(quiet: Any) -> None:
    of(_rollout(1, 2, version=""), _fails(1), _fails(2))(quiet)
    assert list(quiet.candidates(ROLLOUT)) == [("software/driver_rollout", "software.rollout")]


@pytest.mark.parametrize("code", [13, 43, 45, 94])
def test_what_a_program_does_to_itself_is_no_failure(quiet: Any, code: int) -> None:
    of(_rollout(1, 2), _fails(1, code=code), _fails(2, code=code))(quiet)
    assert quiet.candidates(ROLLOUT) == {}


@pytest.mark.parametrize(("lately", "found"), [(300.0, True), (2000.0, False)])
def test_what_is_usual_is_what_was_reported_last(quiet: Any, lately: float, found: bool) -> None:
    of(USUAL, _dies(1000.0))(quiet)
    quiet.tables["job_restart_seconds"].values[0, 200:] = lately
    assert bool(quiet.candidates(RECOVERY)) is found


@pytest.mark.parametrize(("restart", "found"), [(177.0, True), (179.0, False)])
def test_what_replacing_costs_may_not_be_reported_now(quiet: Any, restart: float, found: bool) -> None:
    of(SLOW, _verdict("fail"), _replacing(100.0), measured("job_restart_seconds", {JOB: restart}))(quiet)
    quiet.tables["job_replace_seconds"].values[0, -1] = NAN
    assert bool(quiet.candidates(DEGRADED)) is found


def test_the_last_death_is_the_sign_of_a_bad_interval_and_a_written_checkpoint_leaves_nothing_unknown(
    quiet: Any,
) -> None:
    of(_saves(1200.0, 10.0), FOUR)(quiet)
    (one,) = quiet.candidates(CADENCE).values()
    assert ([sign.since for sign in one.signs], one.unknown) == ([2000.0], [])


@pytest.mark.parametrize("before", [NAN, 2000.0])
def test_what_is_usual_may_be_reported_for_the_first_time_or_be_new(quiet: Any, before: float) -> None:
    of(USUAL, _dies(1850.0))(quiet)
    quiet.tables["job_restart_seconds"].values[0, :-1] = before
    assert quiet.candidates(RECOVERY)


@pytest.mark.parametrize(("seam", "make"), [(ROLLOUT, of(_rollout(1, 2, 3), _fails(1), _fails(2), _fails(3)))])
def test_the_chance_of_failures_does_not_depend_on_the_date(quiet: Any, seam: Any, make: Make) -> None:
    make(quiet)
    (one,) = quiet.candidates(seam).values()
    quiet.times = quiet.times + 1e6
    quiet.events = [replace(event, at=event.at + 1e6) for event in quiet.events]
    (later,) = quiet.candidates(seam).values()
    assert later.reasons == one.reasons


@pytest.mark.parametrize(("off", "found"), [(0.0, True), (-1e-12, False)])
def test_a_chance_of_just_what_is_borne_is_told(
    quiet: Any, monkeypatch: pytest.MonkeyPatch, off: float, found: bool
) -> None:
    of(_rollout(1, 2), _fails(1), _fails(2))(quiet)
    monkeypatch.setattr(software_rollout, "_at_least", lambda hits, trials, share: 0.03)
    monkeypatch.setattr(software_rollout, "BY_CHANCE", 0.03 + off)
    assert bool(quiet.candidates(ROLLOUT)) is found


@pytest.mark.parametrize(("least", "found"), [(0.0, True), (1e-9, False)])
def test_an_interval_that_loses_just_what_is_borne_is_told(
    quiet: Any, monkeypatch: pytest.MonkeyPatch, least: float, found: bool
) -> None:
    """Dying every 600 s, with 6 s a checkpoint."""
    of(_saves(1200.0, 6.0), measured(MTBF, {JOB: 600.0}))(quiet)
    excess = _lost(1200.0, 6.0, 600.0) - _lost(sqrt(2 * 6.0 * 600.0), 6.0, 600.0)
    monkeypatch.setattr(schedule_cadence, "EXCESS", excess + least)
    assert bool(quiet.candidates(CADENCE)) is found

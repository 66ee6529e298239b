"""What is reported: findings that last, that come and go, and none that announced work explains."""

from dataclasses import replace

import pytest

from holdfast.model.finding import Finding, Symptom
from holdfast.model.topology import Edge, Topology
from holdfast.seams.persistence import FindingMemory
from holdfast.seams.planned import PlannedWork, explained_by

FLOW = Finding(cause="cdu/c1", kind="cooling.flow_low", confidence=0.9, raw=0.95, since=0.0)
PLAIN = replace(FLOW, raw=0.982)
GRAPH = Topology((Edge("cools", "cdu/c1", "rack/r1"), Edge("cools", "rack/r1", "node/n1")))


def _reported(looks: list[tuple[float, bool]], finding: Finding = FLOW) -> list[bool]:
    watch = FindingMemory()
    return [bool(watch.take([finding] if seen else [], GRAPH, at)) for at, seen in looks]


@pytest.mark.parametrize(
    ("why", "every", "finding", "first"),
    [
        ("three looks", 60.0, FLOW, 2),
        ("three looks are not long enough", 30.0, FLOW, 4),
        ("plain evidence needs two", 60.0, PLAIN, 1),
        ("weak evidence needs longer", 60.0, replace(FLOW, raw=0.84), 7),
        ("seven looks are not long enough", 30.0, replace(FLOW, raw=0.84), 14),
        ("and seven of them", 120.0, replace(FLOW, raw=0.84), 6),
        ("what is said after a quarter of an hour has lasted", 60.0, replace(FLOW, raw=0.7, kind="job.slowdown"), 2),
        ("a pattern of many nodes", 60.0, replace(FLOW, raw=0.83, kind="cooling.unmetered"), 2),
    ],
)
def test_a_finding_is_reported_once_it_lasts(why: str, every: float, finding: Finding, first: int) -> None:
    message = _reported([(number * every, True) for number in range(18)], finding)
    assert message.index(True) == first and all(message[first:]), why


@pytest.mark.parametrize(
    ("why", "finding", "expected"),
    [
        ("it grows with the looks that agree", replace(FLOW, confidence=0.97), (0.79, 0.79, 0.94, 0.94, 0.97)),
        ("a weak one stays weak", replace(FLOW, confidence=0.7), (0.7, 0.7, 0.7, 0.7, 0.7)),
        ("what a device reports of itself", replace(FLOW, confidence=0.97, kind="power.psu", symptoms=(
            Symptom("cdu/c1", "psu_healthy", 0.0, 1.0, 0.0),)), (0.97,) * 5),
        ("of others it proves nothing", replace(FLOW, confidence=0.97, symptoms=(
            Symptom("psu/a", "psu_healthy", 0.0, 1.0, 0.0),)), (0.79, 0.79, 0.94, 0.94, 0.97)),
        ("an event", replace(FLOW, confidence=0.97, kind="schedule.slow_recovery"), (0.97,) * 5),
    ],
)  # fmt: skip
def test_confidence_grows_with_the_time_that_a_finding_lasts(
    why: str, finding: Finding, expected: tuple[float, ...]
) -> None:
    watch = FindingMemory()
    received = [watch.take([finding], GRAPH, 60.0 * number) for number in range(12)]
    assert tuple(received[minute][0].confidence for minute in (2, 4, 5, 9, 10)) == expected, why


def test_what_comes_and_goes_need_not_last() -> None:
    watch = FindingMemory()
    finding = replace(FLOW, confidence=0.97)
    received = [watch.take([finding] if number % 5 == 0 else [], GRAPH, 60.0 * number) for number in range(12)]
    assert [one.confidence for one in received[10]] == [0.97]


def test_what_is_seen_once_is_never_reported() -> None:
    assert not any(_reported([(0.0, True), *((60.0 * number, False) for number in range(1, 30))]))


def test_what_was_reported_stands_for_ten_minutes_without_being_seen() -> None:
    seen = [True] * 4 + [False] * 11
    assert _reported([(60.0 * number, one) for number, one in enumerate(seen)])[3:] == [True] * 11 + [False]


@pytest.mark.parametrize(("raw", "found"), [(0.95, True), (0.85, False)])
def test_what_comes_and_goes_is_reported_at_the_third_time(raw: float, found: bool) -> None:
    """One look in five sees it, as a fault of a minute every five shows itself."""
    message = _reported([(60.0 * number, number % 5 == 0) for number in range(20)], replace(FLOW, raw=raw))
    assert message == [found and number >= 10 for number in range(20)]


@pytest.mark.parametrize(
    ("why", "later", "behind"),
    [
        ("a rack behind the unit", {}, True),
        ("the unit is forgotten", {"cause": "rack/r1", "since": 720.0}, False),
        ("a rack elsewhere", {"cause": "rack/r9"}, False),
        ("it began before", {"since": -1.0}, False),
        ("it began in the same moment", {"since": 0.0}, True),
        ("it is as sure", {"raw": 0.95}, True),
        ("it is surer", {"raw": 0.96}, False),
        ("it is of another domain", {"kind": "power.psu"}, False),
    ],
)
def test_what_is_behind_a_cause_that_a_look_misses_is_its_effect(why: str, later: dict, behind: bool) -> None:  # type: ignore[type-arg]
    watch = FindingMemory()
    for at in (0.0, 60.0, 120.0):
        watch.take([FLOW], GRAPH, at)
    rack = replace(FLOW, **{"cause": "rack/r1", "kind": "cooling.rack_blocked", "since": 100.0, **later})
    first = 721.0 if why == "the unit is forgotten" else 180.0
    message = [watch.take([rack], GRAPH, first + 60.0 * number) for number in range(6)]
    assert any(rack.cause == one.cause for look in message for one in look) is not behind, why


SLOW = Symptom("job/llama", "job_step_seconds", 60.0, 1.0, 2.0)
HEATS = replace(FLOW, symptoms=(SLOW,))
SLOWDOWN = Finding(cause="job/llama", kind="job.slowdown", confidence=0.7, raw=0.7, since=60.0)


@pytest.mark.parametrize(
    ("why", "slowdown", "missed_for", "reported"),
    [
        ("the unit slows the job, and evaluations miss it", SLOWDOWN, 300.0, False),
        ("another job", replace(SLOWDOWN, cause="job/other"), 300.0, True),
        ("the unit is well for more than ten minutes", SLOWDOWN, 660.0, True),
        ("another kind", replace(SLOWDOWN, kind="job.other", raw=0.9), 300.0, True),
    ],
)
def test_a_job_that_a_reported_cause_slows_has_no_slowdown_without_a_cause(
    why: str, slowdown: Finding, missed_for: float, reported: bool
) -> None:
    memory = FindingMemory()
    for at in (0.0, 60.0, 120.0):
        assert slowdown.cause not in {one.cause for one in memory.take([HEATS], GRAPH, at)}
    begins = 120.0 + missed_for
    found = [memory.take([slowdown], GRAPH, begins + 60.0 * number) for number in range(4)]
    assert any(one.cause == slowdown.cause for evaluation in found for one in evaluation) is reported, why


def test_a_slowdown_without_a_cause_explains_no_other_slowdown() -> None:
    memory, other = FindingMemory(), replace(SLOWDOWN, cause="job/b", symptoms=(SLOW,))
    assert "job/llama" in other.victims
    for number in range(12):
        memory.take([other], GRAPH, 60.0 * number)
    found = [memory.take([other, SLOWDOWN], GRAPH, 720.0 + 60.0 * number) for number in range(12)]
    assert {one.cause for one in found[-1]} == {"job/b", "job/llama"}


def test_what_was_reported_stays_so_when_its_evidence_becomes_weak() -> None:
    memory = FindingMemory()
    for number in range(3):
        assert bool(memory.take([FLOW], GRAPH, 60.0 * number)) is (number == 2)
    assert [one.raw for one in memory.take([replace(FLOW, raw=0.8)], GRAPH, 180.0)] == [0.8]


def test_one_look_that_misses_it_ends_no_episode_however_often() -> None:
    looks = [(60.0 * number, number % 2 == 0) for number in range(5)]
    assert _reported(looks) == [False, False, False, False, True]


def test_what_is_known_to_come_and_go_is_said_as_sure_as_it_is() -> None:
    memory, returns = FindingMemory(), replace(FLOW, evidence=("it is intermittent: 3 times in 30 min",))
    said = [[one.confidence for one in memory.take([returns], GRAPH, 60.0 * number)] for number in range(4)]
    assert said == [[], [], [0.79], [0.9]]


@pytest.mark.parametrize("begins", [0.0, 1e6])
def test_how_long_ago_is_counted_from_now_whenever_that_is(begins: float) -> None:
    memory = FindingMemory()
    for at in (0.0, 60.0, 120.0):
        memory.take([HEATS], GRAPH, begins + at)
    behind = Finding(cause="rack/r1", kind="cooling.rack_blocked", confidence=0.9, raw=0.9, since=begins + 130.0)
    found = [memory.take([behind], GRAPH, begins + 180.0 + 60.0 * number) for number in range(6)]
    assert not any(one.cause == "rack/r1" for evaluation in found for one in evaluation)


@pytest.mark.parametrize("looks", [1, 2])
def test_what_comes_and_goes_and_was_reported_stays_so_when_it_is_back(looks: int) -> None:
    """Also where it is back with evidence that does not say so, and is missed again."""
    memory, returns = FindingMemory(), replace(FLOW, evidence=("it is intermittent: 3 times in 30 min",))
    for at in (0.0, 60.0, 120.0):
        memory.take([returns], GRAPH, at)
    for number in range(looks * 3):
        assert memory.take([FLOW], GRAPH, 180.0 + 60.0 * number)
    assert memory.take([], GRAPH, 120.0 + 180.0 * looks + 1700.0), "for half an hour"


def test_what_came_and_went_and_is_over_must_last_again() -> None:
    memory, returns = FindingMemory(), replace(FLOW, evidence=("it is intermittent: 3 times in 30 min",))
    for at in (0.0, 60.0, 120.0):
        memory.take([returns], GRAPH, at)
    assert memory.take([], GRAPH, 2000.0) == ()
    assert memory.take([], GRAPH, 2060.0) == ()
    assert memory.take([replace(FLOW, raw=0.8)], GRAPH, 2120.0) == ()


def test_a_cause_that_was_never_reported_explains_no_slowdown() -> None:
    memory = FindingMemory()
    assert memory.take([HEATS], GRAPH, 0.0) == ()
    found = [memory.take([SLOWDOWN], GRAPH, 60.0 + 60.0 * number) for number in range(4)]
    assert any(one.cause == SLOWDOWN.cause for evaluation in found for one in evaluation)


def test_a_victim_that_an_earlier_evaluation_named_stays_one() -> None:
    memory = FindingMemory()
    for at in (0.0, 60.0, 120.0):
        memory.take([HEATS], GRAPH, at)
    found = [memory.take([FLOW, SLOWDOWN], GRAPH, 180.0 + 60.0 * number) for number in range(6)]
    assert {one.cause for evaluation in found for one in evaluation} == {"cdu/c1"}


def test_episodes_are_in_the_evidence() -> None:
    watch = FindingMemory()
    message = [watch.take([FLOW] if number % 5 == 0 else [], GRAPH, 60.0 * number) for number in range(12)]
    assert "it is intermittent: 3 times since it was first seen" in message[10][0].evidence
    assert message[10][0].since == 0.0


def _work(**more: object) -> PlannedWork:
    return PlannedWork(**{"name": "filter", "subjects": ("cdu/c1",), "start": 0.0, "end": 3600.0, **more})  # type: ignore[arg-type]


HOT = replace(FLOW, cause="node/n9", kind="cooling.fan", symptoms=(Symptom("node/n1/gpu/0", "t", 10.0, 1.0, 2.0),))


@pytest.mark.parametrize(
    ("why", "work", "finding", "silent"),
    [
        ("on the same thing", _work(), PLAIN, True),
        ("on what it cools", _work(), replace(PLAIN, cause="rack/r1"), True),
        ("on all that suffers", _work(), HOT, True),
        ("on another unit", _work(subjects=("cdu/c2",)), PLAIN, False),
        ("of another domain", _work(what="power"), PLAIN, False),
        ("of its domain", _work(what="cooling"), PLAIN, True),
        ("over for long", _work(start=-9000.0, end=-1000.0), PLAIN, False),
        ("just over: water needs its minutes", _work(start=-9000.0, end=-300.0), PLAIN, True),
        ("not begun", _work(start=900.0), PLAIN, False),
    ],
)
def test_announced_work_silences_what_it_explains(why: str, work: PlannedWork, finding: Finding, silent: bool) -> None:
    watch = FindingMemory()
    message = [watch.take([replace(finding, since=60.0 * n)], GRAPH, 60.0 * n, (work,)) for n in range(4)]
    assert (not any(message)) is silent, why
    assert bool(watch.explained) is silent


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"name": " "}, "name"),
        ({"subjects": ()}, "one subject"),
        ({"end": 0.0}, "end after"),
        ({"what": "moon"}, "moon"),
    ],
)
def test_what_cannot_be_announced(more: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        _work(**more)


def _seen_at(*numbers: int, until: int) -> list[tuple[float, bool]]:
    """A look a minute; only some of them see it."""
    return [(60.0 * number, number in numbers) for number in range(until)]


@pytest.mark.parametrize(
    ("why", "looks", "raw", "last"),
    [
        ("three looks over 100 s", [(0.0, True), (50.0, True), (100.0, True)], 0.95, True),
        ("three looks over less", [(0.0, True), (50.0, True), (99.0, True)], 0.95, False),
        ("two looks, however long", [(0.0, True), (300.0, True)], 0.95, False),
        ("two looks of plain evidence", [(0.0, True), (1.0, True)], 0.981, True),
        ("nearly plain", [(0.0, True), (1.0, True)], 0.9809, False),
        ("one look of plain evidence", [(0.0, True)], 0.99, False),
        ("three times", _seen_at(0, 5, 10, until=11), 0.9, True),
        ("three times, not surely", _seen_at(0, 5, 10, until=11), 0.899, False),
        ("twice", _seen_at(0, 5, until=6), 0.95, False),
        ("a gap of one look is no gap", _seen_at(0, 2, 4, until=5), 0.95, True),
        ("three times within two hours", _seen_at(0, 60, 120, until=121), 0.95, True),
        ("the first was longer ago", _seen_at(0, 60, 121, until=122), 0.95, False),
        ("reported for half an hour after", _seen_at(0, 5, 10, until=41), 0.95, True),
        ("and no longer", _seen_at(0, 5, 10, until=42), 0.95, False),
        ("what lasted ends after ten minutes", _seen_at(0, 1, 2, until=14), 0.95, False),
        ("not before", _seen_at(0, 1, 2, until=13), 0.95, True),
        ("what ended must last again", _seen_at(0, 1, 2, 14, 15, until=16), 0.95, False),
        ("and does", _seen_at(0, 1, 2, 14, 15, 16, until=17), 0.95, True),
    ],
)
def test_what_the_last_look_reports(why: str, looks: list[tuple[float, bool]], raw: float, last: bool) -> None:
    assert _reported(looks, replace(FLOW, raw=raw))[-1] is last, why


@pytest.mark.parametrize(("since", "expected"), [(550.0, 0.0), (-50.0, -50.0)])
def test_what_comes_and_goes_began_with_its_first_time(since: float, expected: float) -> None:
    watch = FindingMemory()
    message = [
        watch.take([replace(FLOW, since=since)] if seen else [], GRAPH, at) for at, seen in _seen_at(0, 5, 10, until=11)
    ]
    assert message[-1][0].since == expected


def test_two_times_are_not_in_the_evidence() -> None:
    watch = FindingMemory()
    message = [watch.take([FLOW] if seen else [], GRAPH, at) for at, seen in _seen_at(0, 5, 6, 7, until=8)]
    assert message[-1][0].evidence == ()


def test_another_opinion_of_a_reported_cause_must_last_too() -> None:
    watch = FindingMemory()
    other = replace(PLAIN, kind="cooling.pump_oscillation")
    for number in range(3):
        watch.take([FLOW], GRAPH, 60.0 * number)
    message = [watch.take([other], GRAPH, 180.0 + 60.0 * number) for number in range(8)]
    kinds = [[one.kind for one in look] for look in message]
    assert kinds == [["cooling.flow_low"]] * 7 + [["cooling.pump_oscillation"]]


WORKED = _work(start=1000.0, end=2000.0)


@pytest.mark.parametrize(
    ("now", "since", "explained"),
    [
        (939.9, 939.0, False),
        (940.0, 940.0, True),  # a clock that is a little off
        (2899.9, 1500.0, True),
        (2900.0, 1500.0, False),
        (1500.0, 40.0, True),
        (1500.0, 39.9, False),  # it was so long before
    ],
)
def test_when_announced_work_explains(now: float, since: float, explained: bool) -> None:
    assert (explained_by(replace(FLOW, since=since), (WORKED,), GRAPH, now) is WORKED) is explained


@pytest.mark.parametrize(
    ("what", "kind", "explained"),
    [
        ("cooling", "cooling.fan", True),
        ("cooling", "power.cap", False),
        ("cooling", "sensor.lost", True),
        ("power", "job.slowdown", True),
        ("power", "node.slow", True),
        ("power", "gpu.slow", True),
        ("power", "schedule.slow_recovery", True),
        ("", "power.cap", True),
    ],
)
def test_which_domains_announced_work_explains(what: str, kind: str, explained: bool) -> None:
    assert (explained_by(replace(FLOW, kind=kind), (_work(what=what),), GRAPH, 10.0) is not None) is explained


def _hurt(*subjects: str) -> tuple[Symptom, ...]:
    return tuple(Symptom(subject, "t", 10.0, 1.0, 2.0) for subject in subjects)


@pytest.mark.parametrize(
    ("why", "subject", "cause", "symptoms", "explained"),
    [
        ("a part of it", "node/n1", "node/n1/gpu/0", (), True),
        ("something with a longer name", "node/n1", "node/n10", (), False),
        ("something above it", "rack/r1", "cdu/c1", (), False),
        ("below it", "cdu/c1", "node/n1", (), True),
        ("all that suffers is below it", "rack/r1", "cdu/c1", _hurt("node/n1", "node/n1/gpu/0"), True),
        ("something else suffers too", "rack/r1", "cdu/c1", _hurt("node/n1", "node/n2"), False),
    ],
)
def test_which_subjects_announced_work_affects(
    why: str, subject: str, cause: str, symptoms: tuple[Symptom, ...], explained: bool
) -> None:
    finding = replace(FLOW, cause=cause, symptoms=symptoms)
    works = (_work(name="elsewhere", subjects=("cdu/c9",)), _work(name="here", subjects=("cdu/c8", subject)))
    found = explained_by(finding, works, GRAPH, 10.0)
    assert (None if found is None else found.name) == ("here" if explained else None), why


@pytest.mark.parametrize(("end", "refused"), [(0.1, False), (0.0, True), (-1.0, True)])
def test_work_ends_after_it_starts(end: float, refused: bool) -> None:
    if refused:
        with pytest.raises(ValueError, match="end after"):
            _work(end=end)
    else:
        assert _work(end=end).runs(0.0)

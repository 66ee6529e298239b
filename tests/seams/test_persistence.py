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
    ],
)
def test_a_finding_is_reported_once_it_lasts(why: str, every: float, finding: Finding, first: int) -> None:
    said = _reported([(number * every, True) for number in range(8)], finding)
    assert said.index(True) == first and all(said[first:]), why


def test_what_is_seen_once_is_never_reported() -> None:
    assert not any(_reported([(0.0, True), *((60.0 * number, False) for number in range(1, 30))]))


def test_one_look_that_does_not_see_it_ends_nothing_and_two_do() -> None:
    seen = [True] * 4 + [False, True, False, False]
    assert _reported([(60.0 * number, one) for number, one in enumerate(seen)])[3:] == [True, True, True, True, False]


@pytest.mark.parametrize(("raw", "found"), [(0.95, True), (0.85, False)])
def test_what_comes_and_goes_is_reported_at_the_third_time(raw: float, found: bool) -> None:
    """One look in five sees it, as a fault of a minute every five shows itself."""
    said = _reported([(60.0 * number, number % 5 == 0) for number in range(20)], replace(FLOW, raw=raw))
    assert said == [found and number >= 10 for number in range(20)]


def test_episodes_are_in_the_evidence() -> None:
    watch = FindingMemory()
    said = [watch.take([FLOW] if number % 5 == 0 else [], GRAPH, 60.0 * number) for number in range(12)]
    assert "it comes and goes: 3 times since it was first seen" in said[10][0].evidence
    assert said[10][0].since == 0.0


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
    said = [watch.take([replace(finding, since=60.0 * n)], GRAPH, 60.0 * n, (work,)) for n in range(4)]
    assert (not any(said)) is silent, why
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
        ("what lasted ends with its second miss", _seen_at(0, 1, 2, until=5), 0.95, False),
        ("not with its first", _seen_at(0, 1, 2, until=4), 0.95, True),
        ("what ended must last again", _seen_at(0, 1, 2, 5, 6, until=7), 0.95, False),
        ("and does", _seen_at(0, 1, 2, 5, 6, 7, until=8), 0.95, True),
    ],
)
def test_what_the_last_look_reports(why: str, looks: list[tuple[float, bool]], raw: float, last: bool) -> None:
    assert _reported(looks, replace(FLOW, raw=raw))[-1] is last, why


@pytest.mark.parametrize(("since", "told"), [(550.0, 0.0), (-50.0, -50.0)])
def test_what_comes_and_goes_began_with_its_first_time(since: float, told: float) -> None:
    watch = FindingMemory()
    said = [
        watch.take([replace(FLOW, since=since)] if seen else [], GRAPH, at) for at, seen in _seen_at(0, 5, 10, until=11)
    ]
    assert said[-1][0].since == told


def test_two_times_are_not_in_the_evidence() -> None:
    watch = FindingMemory()
    said = [watch.take([FLOW] if seen else [], GRAPH, at) for at, seen in _seen_at(0, 5, 6, 7, until=8)]
    assert said[-1][0].evidence == ()


def test_a_cause_that_is_reported_is_not_reported_again_for_what_was_missed() -> None:
    watch = FindingMemory()
    other = replace(FLOW, kind="cooling.pump_oscillation")
    for number in range(3):
        said = watch.take([FLOW, other], GRAPH, 60.0 * number)
    assert len(said) == 2
    assert [one.kind for one in watch.take([other], GRAPH, 180.0)] == ["cooling.pump_oscillation"]
    assert [one.kind for one in watch.take([replace(FLOW, cause="cdu/c2")], GRAPH, 240.0)] == [
        "cooling.pump_oscillation"
    ]


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
def test_whom_announced_work_touches(
    why: str, subject: str, cause: str, symptoms: tuple[Symptom, ...], explained: bool
) -> None:
    finding = replace(FLOW, cause=cause, symptoms=symptoms)
    works = (_work(name="elsewhere", subjects=("cdu/c9",)), _work(name="here", subjects=("cdu/c8", subject)))
    found = explained_by(finding, works, GRAPH, 10.0)
    assert (None if found is None else found.name) == ("here" if explained else None), why


@pytest.mark.parametrize(("end", "refused"), [(0.1, False), (0.0, True), (-1.0, True)])
def test_work_ends_after_it_begins(end: float, refused: bool) -> None:
    if refused:
        with pytest.raises(ValueError, match="end after"):
            _work(end=end)
    else:
        assert _work(end=end).runs(0.0)

"""What is reported: findings that last, that come and go, and none that announced work explains."""

from dataclasses import replace

import pytest

from holdfast.model.finding import Finding, Symptom
from holdfast.model.topology import Edge, Topology
from holdfast.seams.persistence import FindingMemory
from holdfast.seams.planned import PlannedWork

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

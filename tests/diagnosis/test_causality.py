"""Which candidate follows from which; how sure a candidate is; what is reported first."""

import pytest

from holdfast.diagnosis.rules.candidate import Candidate
from holdfast.diagnosis.rules.causality import roots
from tests.diagnosis.telling import NOON, candidate, reported


def one(
    cause: str, at: float = 0.0, *, sure: float = 0.8, line: int = 1, file: str = "a.log", **more: object
) -> Candidate:
    return candidate(cause, reported("x", "strong", cause, at=at, line=line, file=file), base=sure, **more)


def names(*candidates: Candidate) -> list[str]:
    return [found.name for found in roots(candidates)]


@pytest.mark.parametrize(
    ("why", "first", "second", "left"),
    [
        ("a lost GPU explains an exception", one("gpu.gsp", NOON), one("job.exception", NOON + 5), ["gpu.gsp"]),
        ("clocks differ by two minutes", one("gpu.gsp", NOON), one("job.exception", NOON - 120), ["gpu.gsp"]),
        ("what came clearly sooner does not follow", one("gpu.gsp", NOON), one("job.exception", NOON - 121), ["gpu.gsp", "job.exception"]),
        ("without a time it follows", one("gpu.gsp"), one("job.exception", NOON - 500), ["gpu.gsp"]),
        ("a doubtful one explains nothing", one("gpu.gsp", sure=0.29), one("job.exception", sure=0.2), ["gpu.gsp", "job.exception"]),
        ("a likely one does", one("gpu.gsp", sure=0.3), one("job.exception", sure=0.3), ["gpu.gsp"]),
        ("not what is surer, unless it is likely itself", one("gpu.gsp", sure=0.49), one("job.exception", sure=0.5), ["job.exception", "gpu.gsp"]),
        ("a likely one explains what is surer", one("gpu.gsp", sure=0.5), one("job.exception", sure=0.9), ["gpu.gsp"]),
        ("what it cannot explain stays", one("host.oom"), one("gpu.gsp"), ["gpu.gsp", "host.oom"]),
    ],
)  # fmt: skip
def test_what_follows_from_another_is_no_root(why: str, first: Candidate, second: Candidate, left: list[str]) -> None:
    assert sorted(names(first, second)) == sorted(left), why


@pytest.mark.parametrize(
    ("why", "mine", "theirs", "root"),
    [
        ("reported sooner", {"at": NOON}, {"at": NOON + 1}, "job.exception"),
        ("reported later", {"at": NOON + 1}, {"at": NOON}, "launcher.setup"),
        ("above it in the same file", {"line": 3}, {"line": 4}, "job.exception"),
        ("below it in the same file", {"line": 4}, {"line": 3}, "launcher.setup"),
        ("the same moment, above it", {"at": NOON, "line": 3}, {"at": NOON, "line": 4}, "job.exception"),
        ("the same moment, below it", {"at": NOON, "line": 4}, {"at": NOON, "line": 3}, "launcher.setup"),
        ("in two files, only one with a time", {"at": NOON, "file": "b.log"}, {"file": "a.log"}, "job.exception"),
        ("in two files, the lines tell nothing", {"file": "a.log", "line": 9}, {"file": "b.log", "line": 3}, "job.exception"),
        ("in two files, the other way round", {"file": "b.log", "line": 3}, {"file": "a.log", "line": 9}, "launcher.setup"),
    ],
)  # fmt: skip
def test_of_two_that_may_follow_from_each_other(why: str, mine: dict, theirs: dict, root: str) -> None:
    assert names(one("job.exception", **mine), one("launcher.setup", **theirs)) == [root], why
    assert names(one("launcher.setup", **theirs), one("job.exception", **mine)) == [root], why


def test_of_two_of_one_moment_the_one_above_comes_first_however_far_from_the_symptom() -> None:
    for first, second in (("job.cuda_oom", "job.illegal_access"), ("job.illegal_access", "job.cuda_oom")):
        assert names(one(first, NOON, line=3), one(second, NOON, line=4)) == [first]


def test_the_further_from_the_symptom_the_sooner_it_is_reported() -> None:
    """Sure ones first; among them by four levels at a time, then by how sure they are."""
    oom, other = one("job.cuda_oom", sure=0.6), one("host.oom", sure=0.5, host="n1")
    weak = one("gpu.gsp", sure=0.39, at=NOON)
    assert names(weak, other, oom) == ["job.cuda_oom", "host.oom", "gpu.gsp"]
    assert names(one("gpu.gsp", sure=0.4), one("storage.full", sure=0.9)) == ["gpu.gsp", "storage.full"]


def test_a_cause_reported_with_and_without_its_place_is_one() -> None:
    placed, placeless = one("gpu.gsp", host="n1"), one("gpu.gsp", line=2)
    (found,) = roots([placeless, placed])
    assert found is placed
    assert found.explains == ["gpu.gsp (a.log:2)"]
    assert len(roots([one("gpu.gsp", host="n1"), one("gpu.gsp", host="n2")])) == 2
    assert len(roots([one("job.exception", ranks=(1,)), one("job.exception", line=2)])) == 1


def test_one_cause_of_one_subject_found_in_two_ways_is_reported_once() -> None:
    first, second = one("gpu.gsp", host="n1", sure=0.9), one("gpu.gsp", host="n1", line=2)
    (found,) = roots([second, first])
    assert (found.confidence, [item.event.line for item in found.evidence]) == (0.9, [1, 2])
    (again,) = roots([found, one("gpu.gsp", host="n1", line=2)])
    assert len(again.evidence) == 2, "the same line is not reported twice"
    assert len(roots([one("job.exception", ranks=(1,)), one("job.exception", ranks=(2,))])) == 2
    assert len(roots([one("gpu.gsp", host="n1", device="0"), one("gpu.gsp", host="n1", device="1")])) == 2


def test_what_a_root_explains_is_reported_once_with_its_place() -> None:
    root = one("gpu.gsp", NOON)
    effects = [one("job.exception", NOON + 1, file="logs/r.log", line=7, ranks=(n,)) for n in (1, 2)]
    (found,) = roots([root, *effects])
    assert found.explains == ["job.exception (r.log:7)"]
    (bare,) = roots([one("gpu.gsp", NOON), one("job.exception", NOON + 1, file="")])
    assert bare.explains == ["job.exception"]


def test_of_very_many_the_surest_are_compared() -> None:
    many = [one("job.exception", ranks=(number,), sure=0.9) for number in range(300)]
    assert "host.other" not in names(*many, one("host.other", host="n1", sure=0.1))
    assert "host.other" in names(*many[:299], one("host.other", host="n1", sure=0.1))


def test_how_sure_evidence_makes() -> None:
    strong, weak, hint = (reported(kind, role) for kind, role in (("a", "strong"), ("b", "weak"), ("c", "hint")))
    other = reported("d", "exit")
    assert candidate("gpu.gsp", strong).confidence == 0.85
    assert candidate("gpu.gsp", strong, strong).confidence == 0.85, "the same again proves nothing more"
    assert candidate("gpu.gsp", weak).confidence == 0.45
    assert candidate("gpu.gsp", hint).confidence == 0.25
    assert candidate("gpu.gsp", other).confidence == 0.2
    assert candidate("gpu.gsp", strong, weak).confidence == 0.92
    everything = [reported(f"k{n}", "strong") for n in range(5)]
    assert candidate("gpu.gsp", *everything).confidence == 0.97


def test_what_speaks_against_a_candidate_is_reported_once_and_counts_each_time() -> None:
    doubted = one("gpu.gsp", sure=0.8)
    doubted.against(0.5, "late")
    doubted.against(0.5, "late")
    assert (doubted.confidence, doubted.contradicts) == (0.2, ["late"])


def test_when_it_began_and_what_to_look_at_first() -> None:
    items = [
        reported("a", "hint", at=0.0),
        reported("b", "weak", at=NOON),
        reported("c", "strong", at=NOON - 5),
        reported("d", "note"),
    ]
    both = candidate("gpu.gsp", *items, reported("e", "exit"), reported("f", "watchdog"), reported("g", "weak"))
    assert both.began == NOON - 5
    assert [item.event.kind for item in both.best_evidence()] == ["c", "b", "g", "e", "f", "a", "d"]
    assert candidate("gpu.gsp", reported("a")).began == 0.0


def test_of_two_that_nothing_orders_neither_follows_from_the_other() -> None:
    assert sorted(names(one("job.exception"), one("launcher.setup"))) == ["job.exception", "launcher.setup"]


def test_every_role_has_its_place() -> None:
    roles = ("hint", "note", "watchdog", "exit", "weak", "likely", "strong")
    shown = candidate("gpu.gsp", *(reported("x", role) for role in roles)).best_evidence()
    assert [item.role for item in shown] == ["strong", "likely", "weak", "exit", "watchdog", "hint", "note"]
    other = candidate("gpu.gsp", reported("x", "note"), reported("x", "hint")).best_evidence()
    assert [item.role for item in other] == ["note", "hint"]


@pytest.mark.parametrize(("sure", "expected"), [(0.333, 0.33), (0.336, 0.34), (0.0, 0.0)])
def test_how_sure_is_reported_in_percent(sure: float, expected: float) -> None:
    assert one("gpu.gsp", sure=sure).confidence == expected


def test_the_roles_weigh_by_themselves() -> None:
    assert candidate("gpu.gsp", reported("x", "likely")).confidence == 0.65
    assert candidate("gpu.gsp", reported("x", "likely"), reported("y", "likely")).confidence == 0.88
    assert candidate("gpu.gsp", reported("x", "weak"), reported("x", "hint")).confidence == 0.59
    doubted = candidate("gpu.gsp", reported("x", "strong"))
    doubted.against(0.5, "late")
    assert doubted.confidence == 0.42


def test_the_line_that_shows_the_problem_names_its_parts() -> None:
    strong, weak = reported("x", "strong", peer="b"), reported("y", "weak", peer="a", problem="p", size="9")
    assert candidate("gpu.gsp", strong, weak).parts == {"peer": "a", "problem": "p", "size": "9"}
    assert candidate("gpu.gsp", strong).parts == {}


@pytest.mark.parametrize(
    ("why", "codes", "killed", "other", "root"),
    [
        ("a launcher lost its daemon, which was killed before", ["daemon_lost"], NOON, NOON + 5, "host.killed"),
        ("it was killed after that", ["daemon_lost"], NOON + 5, NOON, "host.other"),
        ("nobody knows when", ["daemon_lost"], NOON, 0.0, "host.other"),
        ("it says more than that it lost its daemon", ["daemon_lost", "x"], NOON, NOON + 5, "host.other"),
        ("it says something else", ["x"], NOON, NOON + 5, "host.other"),
    ],
)
def test_a_daemon_that_was_killed_explains_a_launcher_that_lost_it(
    why: str, codes: list[str], killed: float, other: float, root: str
) -> None:
    lines = [reported("x", "strong", "host.other", at=other, line=5 + n, code=code) for n, code in enumerate(codes)]
    assert names(one("host.killed", killed, line=9), candidate("host.other", *lines, base=0.8)) == [root], why


def test_a_launcher_that_lost_its_daemon_explains_what_else_was_reported_a_moment_before() -> None:
    lost = reported("x", "strong", "host.other", at=NOON + 5, line=5, code="daemon_lost")
    assert names(one("job.exception", NOON, line=1), candidate("host.other", lost, base=0.8)) == ["host.other"]


def test_a_problem_counts_where_it_is_of_the_candidates_own_cause() -> None:
    line = reported("x", "strong", problem="segfault")
    own, other = candidate("job.exception", line).problem, candidate("host.killed", line).problem
    assert (own and own.name, other and other.cause) == ("segfault", "host.killed")

"""The rules of isolation one by one, on exact numbers: each has a case on both sides of its limit.

Rates are given as logarithms against a healthy pair, so that -0.5 is a loss of 39 %.
"""

import math
from itertools import combinations

import pytest

from holdfast.node.probes.isolation.isolation import (
    Limits,
    Measured,
    PairBaseline,
    _Trial,
    between,
    deviation,
    doubts,
    leaf_parts,
    learn,
    suspects,
    uses,
)

HEALTHY = 100.0
SPREAD = 0.1


def met(one: str, other: str, shift: float = 0.0, rail: str = "") -> Measured:
    return Measured(one, other, HEALTHY * math.exp(shift), rail)


def strangers(shifts: list[float]) -> list[Measured]:
    """Pairs that have no host in common."""
    return [met(f"a{number}", f"b{number}", shift) for number, shift in enumerate(shifts)]


def judged(*measured: Measured, least_shift: float = 0.0, spread: float = SPREAD, leaves=None, limits=None):
    baseline = PairBaseline(math.log(HEALTHY), spread, least_shift)
    return suspects(measured, leaf_parts(leaves or {}), baseline, limits)


def score(suspect) -> float:
    return math.log(suspect.confidence / (1 - suspect.confidence))


def approximately(centre: float, spread: float, least_shift: float):
    return pytest.approx((math.log(HEALTHY) + centre, spread, least_shift), abs=1e-9)


def learnt(measured: list[Measured]) -> tuple[float, float, float]:
    found = learn(measured)
    return found.centre, found.spread, found.least_shift


def test_of_nothing_nothing_is_learnt():
    assert learn([]) == PairBaseline(0.0, 0.05, 0.0)
    assert learn([Measured("a", "b", 0.0)]) == PairBaseline(0.0, 0.05, 0.0)


def test_how_far_all_lie_apart_does_not_count_what_did_not_work():
    assert deviation([]) == deviation([Measured("a", "b", 0.0)]) == 0.0
    assert deviation([*strangers([-1.0, 1.0]), Measured("x", "y", 0.0)]) == pytest.approx(1.0)
    assert deviation([Measured("a", "b", 1.0), Measured("c", "d", math.exp(2.0))]) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("shifts", "centre"),
    [([-3, -2, -1, 0.0], 0.0), ([-3, -3, -3, -3, -3, -3, -0.4, 0.0], -0.2), ([0.0, -1.0], 0.0), ([-3] * 9 + [0.0, 0.2, 0.4], 0.2)],
)  # fmt: skip
def test_of_a_few_the_fastest_quarter_is_believed(shifts, centre):
    assert learnt(strangers(shifts)) == approximately(centre, 0.5, 1.0)


def test_a_pair_that_did_not_work_at_all_is_left_out():
    assert learnt([*strangers([0.0] * 3), Measured("x", "y", 0.0)]) == approximately(0.0, 0.5, 1.0)


@pytest.mark.parametrize(("count", "spread", "least"), [(23, 0.5, 1.0), (24, 0.05, 0.06)])
def test_from_24_measurements_on_they_report_how_far_apart_healthy_ones_lie(count, spread, least):
    assert learnt(strangers([0.0] * count)) == approximately(0.0, spread, least)


def test_repeats_of_a_pair_report_how_far_apart_healthy_ones_lie():
    twice = [met("a", "b", 1.0), met("b", "a", -1.0), met("c", "d", 1.0)]
    assert learnt(twice) == approximately(1.0, math.sqrt(2), 2 * math.sqrt(2))
    thrice = [met("a", "b", 1.0), met("a", "b", 0.0), met("a", "b", -1.0)]
    assert learnt(thrice) == approximately(1.0, 1.0, 2.0)
    both = [*twice, met("e", "f", 0.0), met("e", "f", 0.0)]
    assert learnt(both) == approximately(1.0, 1.0, 2.0), "the mean of the squares"


def test_rails_of_a_pair_are_no_repeats_and_a_dead_one_is_none():
    assert learnt([met("a", "b", 1.0, "0"), met("a", "b", -1.0, "1")]) == approximately(1.0, 0.5, 1.0)
    assert learnt([met("a", "b"), Measured("a", "b", 0.0)]) == approximately(0.0, 0.5, 1.0)


def every_pair_of(count: int, rounds: int, slow) -> list[Measured]:
    names = [f"h{number}" for number in range(count)]
    return [met(one, other, slow(one, other)) for _ in range(rounds) for one, other in combinations(names, 2)]


def half_apart(shift: float):
    """A trunk between the first half and the others: more than half of all pairs cross it."""
    return lambda one, other: shift if (one < "h3") != (other < "h3") else 0.0


@pytest.mark.parametrize(
    ("why", "measured", "few"),
    [
        ("six hosts, most pairs far slower than the fastest", every_pair_of(6, 2, half_apart(-0.8)), True),
        ("not by half", every_pair_of(6, 2, half_apart(-0.6)), False),
        ("nine hosts are not few", every_pair_of(9, 1, lambda one, other: 0.0 if one == "h0" else -0.8), False),
        ("eight are", every_pair_of(8, 1, lambda one, other: 0.0 if one == "h0" else -0.8), True),
        ("who met more often than everybody would is no small fleet", every_pair_of(4, 11, lambda one, other: 0.0 if other == "h1" else -0.8)[:65], False),
        ("as often as that", every_pair_of(4, 11, lambda one, other: 0.0 if other == "h1" else -0.8)[:64], True),
    ],
)  # fmt: skip
def test_of_few_hosts_most_may_be_slow(why, measured, few):
    assert (learn(measured).least_shift == pytest.approx(1.0)) is few, why


def test_what_is_far_below_the_others_is_not_usual():
    """Three of thirty are ten times slower: 2.3 below, where three deviations are 2.07; then they are left out."""
    assert learnt(strangers([0.0] * 27 + [-2.303] * 3)) == approximately(0.0, 0.05, 0.06)
    rest = [0.1, -0.1] * 15
    assert learnt(strangers([*rest, -2.303, -2.303, -2.303]))[1:] == pytest.approx((0.1, 0.12))


@pytest.mark.parametrize(("slowest", "centre"), [(0.5, 0.0), (0.49, math.log(1.02) / 2)])
def test_what_is_just_three_spreads_below_belongs_to_them(slowest, centre):
    """Without the slowest of 25, the middle is between the twelve at 1 and the twelve at 1.02."""
    spread = -math.log(0.5) / 3.0
    assert 0.0 - 3.0 * spread == math.log(0.5)
    rates = [slowest] + [1.0] * 12 + [1.02] * 12
    found = learn([Measured(f"a{n}", f"b{n}", rate) for n, rate in enumerate(rates)], least_spread=spread)
    assert found.centre == pytest.approx(centre)


def test_what_is_a_little_below_belongs_to_them():
    found = learn(strangers([0.0] * 27 + [-0.14] * 3))
    assert found.spread == 0.05, "three deviations are 0.15 at least"
    assert len([one for one in strangers([-0.14]) if doubts([one], found)[0]]) == 1


@pytest.mark.parametrize(
    ("why", "shift", "repeats", "spread"),
    [
        ("a slow rail in four is no usual one", -1.386, 1, 0.05),
        ("what lies nearer may be", -1.1, 1, 1.1 * math.sqrt(3) / 4),
    ],
)
def test_on_several_rails_one_slow_pair_does_not_pass_for_what_is_usual(why, shift, repeats, spread):
    measured = [met(f"a{n}", f"b{n}", shift if rail == 0 else 0.0, str(rail)) for n in range(9) for rail in range(4)]
    assert learn(measured).spread == pytest.approx(spread, abs=1e-3), why


def test_rails_that_differ_from_time_to_time_may_differ_from_each_other():
    """Repeats 0.25 either side of the middle are 0.354 apart: then 0.7 and not 0.4 is what rails may differ by."""
    measured = [
        met(f"a{n}", f"b{n}", (-1.6 if rail == 0 else 0.0) + 0.25 * (1 if again else -1), str(rail))
        for n in range(5)
        for rail in range(4)
        for again in (0, 1)
    ]
    assert learn(measured).spread > 0.5


def test_without_rails_what_many_show_is_usual():
    """A quarter at a quarter of the speed: of rails it would be left out."""
    found = learn(strangers([-1.386 if number % 4 == 0 else 0.0 for number in range(36)]))
    assert found.spread == pytest.approx(0.6, abs=1e-3)
    mixed = [met(f"a{n}", f"b{n}", -1.386 if rail == 0 else 0.0, str(rail)) for n in range(9) for rail in range(4)]
    assert learn([*mixed, met("x", "y")]).spread == 0.05, "one without a rail beside many"


def test_slow_links_are_measured_all_the_same():
    thrice = [Measured("a", "b", 0.001 * math.exp(shift)) for shift in (1.0, 0.0, -1.0)]
    assert learn(thrice).spread == pytest.approx(1.0)
    assert doubts(thrice[:1], PairBaseline(math.log(0.001), SPREAD)) == ([], ["a", "b"])


LOW = -1.2 * SPREAD


def test_who_should_meet_somebody_good_next():
    measured = [met("a", "b", LOW - 0.01), met("c", "d", LOW + 0.01), met("e", "f", -1.0), met("g", "c", 0.1), Measured("z", "y", 0.0)]  # fmt: skip
    doubtful, good = doubts(measured, PairBaseline(math.log(HEALTHY), SPREAD))
    assert doubtful == ["z", "y", "e", "f", "a", "b"], "slowest first"
    assert good == ["g", "c", "d"], "fastest first, without those in doubt"


def test_who_is_slower_by_just_what_is_borne_is_not_in_doubt():
    baseline, rate = PairBaseline(0.0, 1.0), math.exp(-1.2)
    assert math.log(rate) == -1.2
    assert doubts([Measured("a", "b", rate)], baseline) == ([], ["a", "b"])
    assert doubts([Measured("a", "b", 0.999 * rate)], baseline) == (["a", "b"], [])


def test_who_is_in_doubt_is_not_good_however_fast_it_was_elsewhere():
    doubtful, good = doubts([met("a", "b", -1.0), met("a", "c", 0.2)], PairBaseline(math.log(HEALTHY), SPREAD))
    assert (doubtful, good) == (["a", "b"], ["c"])


def slow_node(shift: float, good: float | None = 0.0, times: int = 1) -> list[Measured]:
    """h1 is slow with h2 and h3; h2 and h3 met too, or not."""
    pairs = [met("h1", other, shift) for other in ("h2", "h3") for _ in range(times)]
    return pairs if good is None else [*pairs, met("h2", "h3", good)]


@pytest.mark.parametrize(("loss", "found"), [(0.11, True), (0.09, False)])
def test_a_loss_of_less_than_a_tenth_is_no_fault(loss, found):
    measured = slow_node(math.log(1 - loss))
    assert bool(judged(*measured, spread=0.01)) is found
    less = judged(*measured, spread=0.01, limits=Limits(least_loss=0.08))
    assert [one.part for one in less] == ["node/h1"]
    assert less[0].loss == pytest.approx(loss)


@pytest.mark.parametrize(("shift", "found"), [(-0.6, True), (-0.4, False)])
def test_closer_to_healthy_than_the_baseline_allows_is_not_slow(shift, found):
    assert bool(judged(*slow_node(shift), least_shift=0.5)) is found


def test_what_is_slower_by_just_what_the_baseline_asks_for_is_slow():
    measured = slow_node(-0.5)
    shift = math.log(measured[0].bytes_per_second) - math.log(HEALTHY)
    assert [one.part for one in judged(*measured, least_shift=-shift)] == ["node/h1"]


@pytest.mark.parametrize(("spreads", "found"), [(2.5, True), (2.4, False)])
def test_what_is_twenty_times_likelier_slow_than_not_is_worth_a_look(spreads, found):
    suspected = judged(met("a", "b", -spreads * SPREAD))
    assert [one.part for one in suspected] == (["pair/a+b"] if found else [])
    if found:
        assert score(suspected[0]) == pytest.approx(spreads**2 / 2)
        assert not suspected[0].confirmed


def test_a_pair_is_confirmed_at_just_the_odds_that_are_asked_for():
    shift = math.log(0.1)
    score = 2 * (shift**2 / 2)
    measured, baseline = [Measured("a", "b", 0.1), Measured("b", "a", 0.1)], PairBaseline(0.0, 1.0)
    assert math.log(math.exp(score)) == score
    (suspect,) = suspects(measured, leaf_parts({}), baseline, Limits(odds=math.exp(score)))
    assert suspect.confirmed


@pytest.mark.parametrize(("spreads", "sure"), [(2.65, True), (2.6, False)])
def test_a_pair_slow_twice_is_confirmed_from_a_thousand_to_one_on(spreads, sure):
    (suspect,) = judged(met("a", "b", -spreads * SPREAD), met("b", "a", -spreads * SPREAD))
    assert (suspect.part, suspect.confirmed, suspect.slow, suspect.measured) == ("pair/a+b", sure, 2, 2)
    assert score(suspect) == pytest.approx(spreads**2)


def test_a_pair_slow_once_is_not_confirmed_however_slow():
    (suspect,) = judged(met("a", "b", -3.0))
    assert not suspect.confirmed
    assert score(suspect) == pytest.approx(6.0**2 / 2), "no single measurement speaks louder than six spreads"


def test_nothing_at_all_is_as_bad_as_24_spreads():
    (suspect,) = judged(Measured("a", "b", 0.0), spread=0.01)
    assert suspect.loss == pytest.approx(1 - math.exp(-0.24))


def test_the_number_of_parts_that_could_be_meant_is_paid_for():
    one, many = judged(met("a", "b", -0.5)), judged(met("a", "b", -0.5), met("c", "d"), met("e", "f"))
    assert score(one[0]) - score(many[0]) == pytest.approx(math.log(3))


@pytest.mark.parametrize(
    ("why", "good", "confirmed"),
    [
        ("its partners are fast with each other", 0.0, True),
        ("nearly so", -0.19, True),
        ("they are slow too: who is to blame?", -0.21, False),
        ("they never met", None, False),
    ],
)
def test_a_node_is_confirmed_with_a_partner_that_is_good(why, good, confirmed):
    first = judged(*slow_node(-1.0, good))[0]
    assert (first.part, first.confirmed) == ("node/h1", confirmed), why


def test_a_partner_is_not_good_for_having_met_the_suspect():
    """h1 was fast once with h4; that says nothing of h2 and h3."""
    first = judged(*slow_node(-1.0, None, times=2), met("h1", "h4"))[0]
    assert (first.part, first.slow, first.measured, first.confirmed) == ("node/h1", 4, 5, False)


def test_somebody_else_who_is_good_is_no_partner():
    first = judged(*slow_node(-1.0, None), met("h5", "h6"))[0]
    assert (first.part, first.confirmed) == ("node/h1", False)


def test_a_node_slow_once_is_not_confirmed():
    measured = [met("h1", "h2", -1.0), met("h2", "h3"), met("h2", "h4"), met("h1", "h3", -0.39)]
    first = judged(*measured, limits=Limits(doubt=1.0))[0]
    assert (first.part, first.slow) == ("pair/h1+h2", 1)
    alone = judged(met("h1", "h2", -1.0), met("h2", "h3"), leaves={"h1": "x", "h2": "x"})[0]
    assert (alone.part, alone.same_as, alone.confirmed) == ("node/h1", ("leaf/x",), False)


def test_the_evidence_is_of_the_slow_ones_slowest_first():
    measured = [met("h1", "h2", -1.0), met("h1", "h3", -1.2), met("h1", "h4", -0.49), met("h1", "h5", -1.1), met("h1", "h6", -0.56)]  # fmt: skip
    good = [met(one, other) for one, other in combinations(["h2", "h3", "h4", "h5", "h6"], 2)]
    first = judged(*measured, *good)[0]
    assert first.part == "node/h1"
    assert first.loss == pytest.approx(1 - math.exp(-1.0)), "the middle one"
    assert first.evidence == (("h1", "h3"), ("h1", "h5"), ("h1", "h2"), ("h1", "h6"))
    assert (first.slow, first.measured) == (4, 5)


def test_what_one_part_explains_speaks_for_no_other():
    hosts = [f"h{number}" for number in range(1, 9)]
    measured = [met(one, other, -1.0 if {"h1", "h2"} & {one, other} else 0.0) for one, other in combinations(hosts, 2)]
    found = judged(*measured)
    assert [(one.part, one.confirmed) for one in found] == [("node/h1", True), ("node/h2", True)]
    assert [(one.slow, one.measured) for one in found] == [(7, 7), (6, 6)], "what they share counts once"


def test_the_likelier_of_two_comes_first():
    found = judged(met("a", "b", -0.26), met("c", "d", -0.27), limits=Limits(doubt=1.0))
    assert [one.evidence for one in found] == [(("c", "d"),), (("a", "b"),)]


def test_who_was_fast_with_a_slow_node_is_not_blamed_for_one_slow_probe_session():
    slow = [met("h1", other, -1.0) for other in ("h2", "h3") for _ in range(5)]
    fast = [met("h1", "h4")] * 3
    others = [met(one, other) for one, other in combinations(["h6", "h7", "h8", "h9"], 2)]
    found = judged(*slow, *fast, met("h4", "h5", -1.0), *others)
    assert [one.part for one in found] == ["node/h1", "node/h5"]


def test_a_leaf_of_one_rail_is_reported_from_the_hosts_behind_it():
    """Rail 1 of a, b and e hangs on l1, that of c and d on l3: what touches l1 is slow."""
    hosts = "abcde"
    leaves = {f"{host}#1": "l1" if host in "abe" else "l3" for host in hosts} | {f"{host}#0": "l0" for host in hosts}
    measured = [
        met(one, other, -1.0 if rail == "1" and {one, other} & set("abe") else 0.0, rail)
        for one, other in combinations(hosts, 2)
        for rail in "01"
    ]
    assert judged(*measured, leaves=leaves)[0].part == "leaf/l1"


def rails(slow: int, of: int, sessions: int = 3, shift: float = -1.0) -> list[Measured]:
    """h0 meets others, all rails at once; some of its rails are slow."""
    partners = [f"h{number}" for number in range(1, sessions + 1)]
    mine = [met("h0", other, shift if rail < slow else 0.0, str(rail)) for other in partners for rail in range(of)]
    return mine + [met(one, other, 0.0, str(rail)) for one, other in combinations(partners, 2) for rail in range(of)]


@pytest.mark.parametrize(("slow", "of", "part"), [(4, 4, "node/h0"), (4, 5, "node/h0"), (3, 4, "node/h0/rail/0")])
def test_a_node_whose_rails_are_all_slow_is_the_node(slow, of, part):
    assert judged(*rails(slow, of))[0].part == part


@pytest.mark.parametrize(("sessions", "confirmed"), [(1, False), (2, True)])
def test_rails_that_met_at_the_same_moment_speak_once(sessions, confirmed):
    measured = [met("a", "b", -1.0, str(rail)) for _ in range(sessions) for rail in range(4)]
    others = [met("c", "d", 0.0, str(rail)) for rail in range(4)]
    first = judged(*measured, *others)[0]
    assert (first.part, first.confirmed) == ("pair/a+b", confirmed)
    assert score(first) == pytest.approx(18.0 * sessions - math.log(2), abs=0.1)


def test_a_measurement_without_a_rail_stands_beside_those_with_one():
    first = judged(met("a", "b", -1.0), met("a", "b", -1.0, "0"))[0]
    assert score(first) == pytest.approx(18.0), "one moment"


def test_of_those_that_nothing_reports_apart_a_rail_is_named():
    measured = [
        met(one, other, -1.0 if rail == "1" else 0.0, rail) for one, other in combinations("abcd", 2) for rail in "01"
    ]
    leaves = {f"{host}#{rail}": f"l{rail}" for host in "abcd" for rail in "01"}
    assert [one.part for one in judged(*measured, leaves=leaves)] == ["rail/1"]


@pytest.mark.parametrize(
    ("here", "there", "parts"),
    [
        ("", "", ()),
        ("x", "", ()),
        ("", "x", ()),
        ("x", "x", ("leaf/x",)),
        ("y", "x", ("leaf/y", "leaf/x", "uplinks/y", "uplinks/x", "trunk/x+y")),
    ],
)
def test_what_a_way_between_leaves_runs_over(here, there, parts):
    between.cache_clear()
    assert between(here, there) == parts


@pytest.mark.parametrize(("place", "leaf"), [("a", "x"), ("a#0", "x"), ("a#1", "z"), ("b", "y"), ("b#1", "y")])
def test_a_rail_hangs_on_its_own_leaf_where_that_is_known(place, leaf):
    parts = leaf_parts({"a": "x", "a#1": "z", "b": "y"})
    assert tuple(parts(place, place)) == (f"leaf/{leaf}",)
    assert tuple(parts(place, "unknown")) == ()


def test_a_way_that_one_rail_alone_was_measured_over_is_not_put_down_to_a_node():
    """The host's other rails are fast, so nothing speaks against the host."""
    leaves = {"h0#0": "x", "h1#0": "y", "h2#0": "y", "h3#0": "y"}
    first = judged(*rails(1, 4), leaves=leaves)[0]
    assert (first.part, first.same_as) == ("trunk/x+y", ())


def over_a_trunk(own, rest):
    """Hosts a to d and e to h are on two leaves; a meets some of the others, then b, c and d meet all of them."""
    leaves = dict.fromkeys("abcd", "x") | dict.fromkeys("efgh", "y")
    mine = [met("a", other, shift) for other, shift in zip("efgh", own, strict=False)]
    crossing = [(one, other) for one in "bcd" for other in "efgh"]
    others = [met(*both, rest[number % len(rest)]) for number, both in enumerate(crossing)]
    good = [met(one, other) for one, other in combinations("efgh", 2)]
    return judged(*mine, *others, *good, leaves=leaves)


@pytest.mark.parametrize(
    ("why", "own", "rest", "part"),
    [
        ("slower than all others by more than healthy ones lie apart", [-1.0, -1.0], [-0.5], "node/a"),
        ("one of its measurements is like the others", [-1.0, -0.5], [-0.5], "trunk/x+y"),
        ("the slowest of the others is what counts", [-0.75, -0.75], [-0.5, -0.6], "node/a"),
        ("within what healthy ones lie apart of it", [-0.65, -0.65], [-0.5, -0.6], "trunk/x+y"),
        ("its fastest is what counts", [-0.75, -0.69], [-0.5, -0.6], "trunk/x+y"),
        ("not certain by itself", [-0.35], [-0.2], "trunk/x+y"),
    ],
)
def test_who_is_slower_than_all_others_over_a_slow_way_is_slow_by_itself(why, own, rest, part):
    first, *more = over_a_trunk(own, rest)
    assert (first.part, first.confirmed) == (part, True), why
    assert [one.part for one in more] == (["trunk/x+y"] if part == "node/a" else []), "the way is slow all the same"


def test_a_host_slower_than_the_others_by_just_what_healthy_ones_lie_apart_is_not_slow_by_itself():
    leaves = dict.fromkeys("abcd", "x") | dict.fromkeys("efgh", "y")
    crossing = [(one, other) for one in "abcd" for other in "efgh"]
    measured = [Measured(*both, 0.25 if both[0] == "a" else 0.5) for both in crossing]
    spread = math.log(0.5) - math.log(0.25)
    assert math.log(0.25) == math.log(0.5) - spread
    first = suspects(measured, leaf_parts(leaves), PairBaseline(0.0, spread), Limits(odds=1.0, doubt=0.1))[0]
    assert first.part == "trunk/x+y"
    slower = [Measured(one.one, one.other, 0.24) if one.one == "a" else one for one in measured]
    first = suspects(slower, leaf_parts(leaves), PairBaseline(0.0, spread), Limits(odds=1.0, doubt=0.1))[0]
    assert first.part == "node/a"


def trial(measured, leaves=None, spread=SPREAD):
    return _Trial(measured, leaf_parts(leaves or {}), PairBaseline(math.log(HEALTHY), spread), Limits())


def test_scores_that_differ_by_less_than_a_millionth_are_one_and_a_rail_goes_before_a_leaf():
    of = trial([met("a", "b")])
    of._scores = {"rail/0": 1.0, "leaf/x": 1.0000004, "leaf/y": 1.000002}
    first = [max(("rail/0", leaf), key=of._preference) for leaf in ("leaf/x", "leaf/y")]
    assert first == ["rail/0", "leaf/y"]


@pytest.mark.parametrize(("rail", "part"), [(1.0, "node/a"), (1.01, "node/a/rail/0")])
def test_a_node_is_meant_if_it_has_at_least_half_of_the_score_of_its_rail(rail, part):
    of = trial([met("a", "b")])
    of._scores = {"node/a": 0.5, "node/a/rail/0": rail}
    assert of._whole("node/a/rail/0") == part


def test_a_part_as_likely_as_what_is_worth_a_look_is_looked_at():
    score = math.log(0.1) ** 2 / 2
    for doubt, found in ((score, 1), (1.0001 * score, 0)):
        limits = Limits(doubt=doubt)
        assert len(suspects([Measured("a", "b", 0.1)], leaf_parts({}), PairBaseline(0.0, 1.0), limits)) == found


@pytest.mark.parametrize(
    ("why", "score", "at_home", "part"),
    [
        ("as likely as is asked for", 1.0, None, "node/a"),
        ("a little less likely", 0.999, None, "trunk/x+y"),
        ("it is slow at home too, so that the way is not all it shows", 1.0, -2.0, "trunk/x+y"),
    ],
)
def test_who_is_put_before_a_slow_way(why, score, at_home, part):
    leaves = dict.fromkeys("abcd", "x") | dict.fromkeys("efgh", "y")
    measured = [met(one, other, -2.0 if one == "a" else -0.5) for one in "abcd" for other in "efgh"]
    of = trial([*measured, *([met("a", "b", at_home)] if at_home else [])], leaves)
    of._scores["node/a"] = score * math.log(1000.0)
    assert of._worst_within("trunk/x+y") == part, why


def test_only_who_is_slower_than_half_of_the_loss_is_evidence():
    assert math.log(0.25) == 2 * math.log(0.5)
    for rate, slow in ((0.5, 2), (0.49, 3)):
        measured = [Measured("a", "b", one) for one in (0.25, 0.25, rate)]
        (suspect,) = suspects(measured, leaf_parts({}), PairBaseline(0.0, 0.1))
        assert (suspect.slow, suspect.measured) == (slow, 3)


@pytest.mark.parametrize(("rail", "places"), [("", ("a", "b")), ("0", ("a#0", "b#0"))])
def test_a_measurement_of_one_rail_is_of_that_rails_places(rail, places):
    asked = []
    uses(met("a", "b", rail=rail), lambda *ends: asked.append(ends) or ())
    assert asked == [places]


def test_a_slow_pair_over_a_slow_way_is_not_taken_for_the_way():
    """All of a's and e's others are as slow as the way: only what a host shows with everybody is its own."""
    (found,) = over_a_trunk([-1.0, -0.5, -0.5, -0.5], [-0.5])
    assert found.part == "trunk/x+y"


def test_what_was_measured_itself_is_not_put_down_to_another():
    twice = judged(met("h1", "h2", -1.0), met("h1", "h2", -1.0), met("h2", "h3"))
    assert [one.part for one in twice] == ["pair/h1+h2"], "h1 met no one else: the pair claims less"
    with_all = [met("h2", other, -1.0) for other in ("h3", "h4", "h5")]
    good = [met(one, other) for one, other in combinations(["h3", "h4", "h5"], 2)]
    slowest = judged(*with_all, met("h1", "h2", -3.0), *good)
    assert [one.part for one in slowest] == ["node/h2"], "h1 is slower still, but h2 explains it"


def test_a_way_that_two_hosts_alone_were_measured_over_is_neither_of_them():
    leaves = {"h1": "x", "h2": "x"}
    (found,) = judged(met("h1", "h2", -1.0), met("h1", "h2", -1.0), leaves=leaves)
    assert (found.part, found.same_as) == ("leaf/x", ())


def test_a_larger_part_is_meant_as_well_only_where_nothing_else_was_measured_over_it():
    leaves = {"h1": "x", "h2": "y", "h3": "y", "h4": "y"}
    first = judged(*slow_node(-1.0), met("h3", "h4"), leaves=leaves)[0]
    assert (first.part, first.same_as) == ("node/h1", ("leaf/x", "trunk/x+y", "uplinks/x", "uplinks/y"))
    beside = judged(*slow_node(-1.0), met("h4", "h2"), leaves=leaves | {"h4": "x"})[0]
    assert (beside.part, beside.same_as) == ("node/h1", ())

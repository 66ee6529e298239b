"""The ledger of loss: what is lost is attributed once, whoever claims it, and the layers of a month sum to it."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.economics.costs.finding import Prices, bill
from holdfast.economics.costs.ledger import HOUR, Float, LossClaim, LossLedger, LossSeries, LostHours
from holdfast.model.account import Loss

MONTH = 30 * 24
JOBS = {"job/a": 1024, "job/b": 64, "job/c": 256}


def _losses(slow: list[float], down: list[float], redone: list[tuple[float, float]] = []) -> LossSeries:  # noqa: B006
    """One span an hour."""
    return LossSeries(
        times=[HOUR * (n + 1) for n in range(len(slow))], step=HOUR, slow=slow, down=down, redone=redone
    )  # fmt: skip


def test_two_incidents_on_one_job_share_its_hours() -> None:
    ledger = LossLedger()
    losses = _losses([0.5] * 4, [0.0] * 4)
    claims = {"cdu/c1": LossClaim(0.0, frozenset({"job/a"})), "link/l1": LossClaim(2 * HOUR, frozenset({"job/a"}))}
    ledger.attribute({"job/a": losses}, claims)
    assert ledger.of("cdu/c1", "job/a") == LostHours(slow=0.5 + 0.5 + 0.25 + 0.25)
    assert ledger.of("link/l1", "job/a") == LostHours(slow=0.25 + 0.25)
    assert ledger.job("job/a").hours == pytest.approx(2.0)


def test_what_was_attributed_is_not_attributed_again() -> None:
    ledger = LossLedger()
    losses = _losses([0.5] * 4, [0.0] * 4)
    for _ in range(3):
        ledger.attribute({"job/a": losses}, {"x": LossClaim(0.0, frozenset({"job/a"}))})
    ledger.attribute({"job/a": losses}, {"y": LossClaim(0.0, frozenset({"job/a"}))})
    assert ledger.of("x", "job/a").slow == 2.0 and ledger.of("y", "job/a").slow == 0.0


def test_what_no_incident_claims_waits_for_one() -> None:
    ledger = LossLedger()
    losses = _losses([0.5] * 4, [0.0] * 4)
    ledger.attribute({"job/a": losses}, {})
    ledger.attribute({"job/a": losses}, {"x": LossClaim(HOUR, frozenset({"job/a"}))})
    assert ledger.of("x", "job/a").slow == pytest.approx(1.5)


def test_a_restored_incident_goes_on_and_a_closed_one_is_forgotten() -> None:
    ledger = LossLedger()
    ledger.restore("x", "job/a", LostHours(slow=1.0), 2 * HOUR)
    ledger.attribute({"job/a": _losses([0.5] * 4, [0.0] * 4)}, {"x": LossClaim(0.0, frozenset({"job/a"}))})
    assert ledger.of("x", "job/a").slow == pytest.approx(2.0)
    ledger.close("x")
    assert ledger.job("job/a").hours == 0.0


shares = st.lists(st.floats(0, 1), min_size=MONTH // 24, max_size=MONTH // 24)


@given(
    st.lists(
        st.tuples(st.floats(0, MONTH / 24), st.sets(st.sampled_from(sorted(JOBS)), min_size=1)), min_size=1, max_size=6
    ),
    st.tuples(shares, shares, shares),
    st.lists(st.tuples(st.integers(1, MONTH // 24), st.floats(0.1, 3.0)), max_size=5),
)
def test_the_layers_of_all_incidents_sum_to_what_the_ledger_lost(
    incidents: list[tuple[float, set[str]]],
    slow: tuple[list[float], list[float], list[float]],
    restarts: list[tuple[int, float]],
) -> None:
    """A month with incidents that overlap: compute, reserved capacity and rollback of all of them, to the cent."""
    courses = {
        job: _losses(of, [float(one > 0.9) for one in of], [(HOUR * at, hours) for at, hours in restarts])
        for job, of in zip(JOBS, slow, strict=True)
    }
    courses = {
        job: _losses(
            [0.0 if d else s for s, d in zip(one.slow, one.down, strict=True)], list(one.down), list(one.redone)
        )
        for job, one in courses.items()
    }
    claims = {f"root/{n}": LossClaim(at * HOUR, frozenset(jobs)) for n, (at, jobs) in enumerate(incidents)}
    ledger = LossLedger()
    ledger.attribute(courses, claims)
    prices = Prices(gpu_hour=2.0, alternative_gpu_hour=3.0, queued_chance=0.5, people=0.0)
    hours = MONTH / 24.0
    total = 0.0
    for root in claims:
        losses = []
        for job, gpus in JOBS.items():
            lost = ledger.of(root, job)
            losses.append(
                Loss(subject=job, gpus=gpus, share_so_far=lost.slow / hours, share_now=0.0, down_hours=lost.down,
                     rework_hours=lost.redone)
            )  # fmt: skip
        total += sum(layer.so_far or 0.0 for layer in bill(losses, prices, hours).layers)
    expected = 0.0
    for job, gpus in JOBS.items():
        mine = [claim.since for claim in claims.values() if job in claim.jobs]
        if not mine:
            continue
        one = courses[job]
        for at, s, d in zip(one.times, one.slow, one.down, strict=True):
            if at > min(mine):
                expected += gpus * (2.0 * (s + d) + 0.5 * (3.0 - 2.0) * d)
        expected += sum(gpus * 2.0 * redone for at, redone in one.redone if at > min(mine))
    assert total == pytest.approx(expected)


def _by_hand(what: str) -> dict[str, float]:
    """The prices that docs/incidents.md works out by hand: 'direct compute 1,024 x 6 x 2.35 = 14,438.40'."""
    text = (Path(__file__).parents[3] / "docs" / "incidents.md").read_text(encoding="utf-8")
    (item,) = (one for one in text.split("\n- **") if what in one)
    priced = re.findall(
        r"(direct compute|reserved capacity|rollback|labour)[^=]*= ([\d,.]+\d)", " ".join(item.lower().split())
    )
    return {name: float(amount.replace(",", "")) for name, amount in priced}


def test_a_hung_job_of_1024_gpus_for_six_hours_by_hand() -> None:
    """docs/incidents.md prices it: 1,024 x 6 h x 2.35 direct, 1,024 x 6 h x 0.75 x 0.5 reserved, half an interval."""
    ledger = LossLedger()
    losses = _losses([0.0] * 8, [0.0, *[1.0] * 6, 0.0], [(7 * HOUR, 0.5)])
    ledger.attribute({"job/llama": losses}, {"job/llama": LossClaim(HOUR, frozenset({"job/llama"}))})
    lost = ledger.of("job/llama", "job/llama")
    assert lost == LostHours(down=6.0, redone=0.5)
    loss = Loss(subject="job/llama", gpus=1024, share_so_far=0.0, share_now=0.0, down_hours=6.0, rework_hours=0.5)
    prices = Prices(gpu_hour=2.35, alternative_gpu_hour=3.1, queued_chance=0.5)
    costs = {layer.name: layer.so_far for layer in bill([loss], prices, 6.0).layers}
    by_hand = _by_hand("hangs for six hours")
    assert set(by_hand) == {"direct compute", "reserved capacity", "rollback", "labour"}
    assert {name: costs[name] for name in by_hand} == pytest.approx(by_hand)


def test_a_job_killed_four_times_by_hand() -> None:
    """256 GPUs, 12 minutes down and 20 minutes repeated each time."""
    ledger = LossLedger()
    down = [0.2 if n in (2, 5, 8, 11) else 0.0 for n in range(14)]
    losses = _losses([0.0] * 14, down, [((n + 1) * HOUR, 1 / 3) for n in (2, 5, 8, 11)])
    ledger.attribute({"job/gemma": losses}, {"node/n7": LossClaim(0.0, frozenset({"job/gemma"}))})
    lost = ledger.of("node/n7", "job/gemma")
    assert (lost.down, lost.redone) == (pytest.approx(0.8), pytest.approx(4 / 3))
    loss = Loss(subject="job/gemma", gpus=256, share_so_far=0.0, share_now=0.0, down_hours=lost.down,
                rework_hours=lost.redone)  # fmt: skip
    costs = {layer.name: layer.so_far for layer in bill([loss], Prices(gpu_hour=2.35), 14.0).layers}
    by_hand = _by_hand("is killed four times")
    assert set(by_hand) == {"direct compute", "rollback"}
    assert {name: costs[name] for name in by_hand} == pytest.approx(by_hand, abs=0.01)


FLOATS = {"job/a": Float("v1", 3.0), "job/b": Float("v1", 3.0), "job/c": Float("v2", 0.0)}


def _slips(ledger: LossLedger, *roots: str) -> list[float]:
    return [sum(ledger.of(root, job).slip for job in FLOATS) for root in roots]


def test_a_milestone_has_one_float_for_all_incidents_those_that_are_over_too() -> None:
    """Four hours down, a float of three: the fourth is the slip. A later incident finds no float left."""
    ledger = LossLedger()
    first, second = (_losses([0.0] * 8, [1.0 if low <= n < high else 0.0 for n in range(8)])
                     for low, high in ((0, 4), (0, 6)))  # fmt: skip
    ledger.attribute({"job/a": first}, {"x": LossClaim(0.0, frozenset({"job/a"}))}, FLOATS)
    assert _slips(ledger, "x") == [1.0]
    ledger.close("x")
    restarted = LossLedger(delays=dict(ledger.delays))
    restarted.restore("y", "job/a", LostHours(), 4 * HOUR)
    restarted.attribute({"job/a": second}, {"y": LossClaim(4 * HOUR, frozenset({"job/a"}))}, FLOATS)
    assert _slips(restarted, "y") == [2.0], "the float that x used stays used, also after a restart"


def test_two_jobs_of_one_milestone_delay_it_once() -> None:
    """Job a loses five hours, then job b six: five beyond the float of three are two, and b adds one more."""
    ledger = LossLedger()
    a = _losses([0.0] * 12, [1.0] * 5 + [0.0] * 7)
    b = _losses([0.0] * 12, [0.0] * 6 + [1.0] * 6)
    claims = {"x": LossClaim(0.0, frozenset({"job/a"})), "y": LossClaim(0.0, frozenset({"job/b"}))}
    ledger.attribute({"job/a": a, "job/b": b}, claims, FLOATS)
    assert _slips(ledger, "x", "y") == [2.0, 1.0]
    assert (ledger.slack("job/a", FLOATS), ledger.slack("job/b", FLOATS)) == (1.0, 0.0)
    together = LossLedger()
    both = {"x": LossClaim(0.0, frozenset({"job/a", "job/b"})), "y": LossClaim(0.0, frozenset({"job/a"}))}
    together.attribute({"job/a": a, "job/b": a, "job/c": a}, both, FLOATS)
    assert sum(_slips(together, "x", "y")) == 2.0, "the same hours of two jobs are one delay"


def test_a_stop_is_counted_to_the_second_and_cut_where_another_incident_begins() -> None:
    ledger = LossLedger()
    stop = LossSeries(times=[7 * HOUR], step=10.0, slow=[0.0], down=[0.0], stops=[(0.25 * HOUR, 6.25 * HOUR)])
    claims = {"x": LossClaim(0.25 * HOUR, frozenset({"job/a"})), "y": LossClaim(4.25 * HOUR, frozenset({"job/a"}))}
    ledger.attribute({"job/a": stop}, claims)
    assert (ledger.of("x", "job/a").down, ledger.of("y", "job/a").down) == (5.0, 1.0)


def test_what_is_not_settled_waits() -> None:
    """Until it is known whether a job stands still, its seconds belong to no one; then all of them count."""
    ledger = LossLedger()
    claims = {"x": LossClaim(0.0, frozenset({"job/a"}))}
    quiet = LossSeries(times=[HOUR, 2 * HOUR], step=HOUR, slow=[0.5, 0.5], down=[0.0, 0.0], settled=HOUR)
    ledger.attribute({"job/a": quiet}, claims)
    assert ledger.of("x", "job/a") == LostHours(slow=0.5)
    stop = LossSeries(times=[HOUR, 2 * HOUR], step=HOUR, slow=[0.5, 0.0], down=[0.0, 0.0], settled=1.5 * HOUR,
                      stops=[(HOUR, 2 * HOUR)])  # fmt: skip
    for _ in range(2):
        ledger.attribute({"job/a": stop}, claims)
    assert ledger.of("x", "job/a") == LostHours(slow=0.5, down=0.5)


def test_a_restart_that_is_reported_late_is_counted_once() -> None:
    ledger = LossLedger()
    claims = {"x": LossClaim(0.0, frozenset({"job/a"}))}
    ledger.attribute({"job/a": _losses([0.0] * 4, [0.0] * 4)}, claims)
    for _ in range(2):
        ledger.attribute({"job/a": _losses([0.0] * 5, [0.0] * 5, [(3 * HOUR, 0.5)])}, claims)
    assert ledger.of("x", "job/a").redone == 0.5


def test_lost_hours_by_hand() -> None:
    assert LostHours() == LostHours(slow=0.0, down=0.0, redone=0.0)
    assert LostHours(1.0, 2.0, 4.0) + LostHours(8.0, 16.0, 32.0) == LostHours(9.0, 18.0, 36.0)
    assert LostHours(1.0, 2.0, 4.0).times(0.5) == LostHours(0.5, 1.0, 2.0)
    assert LostHours(1.0, 2.0, 4.0).hours == 7.0


def test_a_span_of_seconds_is_a_part_of_an_hour() -> None:
    """Half an hour, of which a quarter was slow and half stood still."""
    losses = LossSeries(times=[1800.0], step=1800.0, slow=[0.25], down=[0.5])
    ledger = LossLedger()
    ledger.attribute({"job/a": losses}, {"x": LossClaim(0.0, frozenset({"job/a"}))})
    assert ledger.of("x", "job/a") == LostHours(slow=0.125, down=0.25)


@pytest.mark.parametrize(
    ("since", "slow", "redone"), [(-1, 1.0, 2.0), (0, 1.0, 2.0), (HOUR, 0.5, 2.0), (2 * HOUR, 0, 0)]
)
def test_a_claim_holds_what_ends_after_it_began(since: float, slow: float, redone: float) -> None:
    ledger = LossLedger()
    losses = _losses([0.5, 0.5], [0.0, 0.0], [(2 * HOUR, 2.0)])
    ledger.attribute({"job/a": losses}, {"x": LossClaim(since, frozenset({"job/a"}))})
    assert ledger.of("x", "job/a") == LostHours(slow=slow, redone=redone)


def test_a_later_claim_has_no_part_in_what_was_before() -> None:
    ledger = LossLedger()
    both = {"x": LossClaim(0.0, frozenset({"job/a"})), "y": LossClaim(HOUR, frozenset({"job/a", "job/b"}))}
    ledger.attribute({"job/a": _losses([0.5, 0.5], [0.0, 0.0]), "job/b": _losses([0.0, 0.2], [0.0, 0.0])}, both)
    assert (ledger.of("x", "job/a").slow, ledger.of("y", "job/a").slow) == (0.75, 0.25)
    assert (ledger.of("x", "job/b").slow, ledger.of("y", "job/b").slow) == (0.0, 0.2)
    assert (ledger.job("job/a").hours, ledger.job("job/b").hours) == (1.0, 0.2)
    ledger.close("x")
    assert (ledger.job("job/a").hours, ledger.job("job/b").hours) == (0.25, 0.2)


@pytest.mark.parametrize(("untils", "slow"), [((1, 3), 0.5), ((3, 1), 0.5), ((1, 1), 1.5)])
def test_the_latest_of_what_is_restored_counts(untils: tuple[int, int], slow: float) -> None:
    """Two incidents of one job were stored up to different hours; a third one claims what is after both."""
    ledger = LossLedger()
    for name, until in zip("xy", untils, strict=True):
        ledger.restore(name, "job/a", LostHours(slow=0.1), until * HOUR)
    ledger.attribute({"job/a": _losses([0.5] * 4, [0.0] * 4)}, {"z": LossClaim(0.0, frozenset({"job/a"}))})
    assert ledger.of("z", "job/a").slow == pytest.approx(slow)
    ledger.attribute({"job/a": _losses([0.5], [0.0])}, {"z": LossClaim(0.0, frozenset({"job/a"}))})
    ledger.attribute({"job/a": _losses([0.5] * 4, [0.0] * 4)}, {"z": LossClaim(0.0, frozenset({"job/a"}))})
    assert ledger.of("z", "job/a").slow == pytest.approx(slow), "a shorter course takes nothing back"


@given(
    st.permutations(sorted(FLOATS)),
    st.lists(st.tuples(*[st.sampled_from([0.0, 0.25, 1.0])] * 3), min_size=1, max_size=8),
)
def test_who_pays_for_a_milestone_does_not_depend_on_the_order_of_the_jobs(
    order: list[str], down: list[tuple[float, ...]]
) -> None:
    """Losses are billed in the order of time; of two jobs at the same time, the first by name."""
    losses = {job: _losses([0.0] * len(down), [hour[n] for hour in down]) for n, job in enumerate(sorted(FLOATS))}
    claims = {job: LossClaim(0.0, frozenset({job})) for job in FLOATS}
    ledgers = []
    for jobs in (order, sorted(FLOATS)):
        ledger = LossLedger()
        ledger.attribute({job: losses[job] for job in jobs}, claims, FLOATS)
        ledgers.append(_slips(ledger, *FLOATS))
    assert ledgers[0] == ledgers[1]


def test_the_job_that_lost_first_pays_first_whichever_is_given_first() -> None:
    ledger = LossLedger()
    late, early = _losses([0.0] * 8, [0.0] * 4 + [1.0] * 4), _losses([0.0] * 8, [1.0] * 4 + [0.0] * 4)
    claims = {job: LossClaim(0.0, frozenset({job})) for job in ("job/a", "job/b")}
    ledger.attribute({"job/a": late, "job/b": early}, claims, FLOATS)
    assert _slips(ledger, "job/a", "job/b") == [0.0, 1.0]


def test_hours_that_no_incident_holds_use_no_float() -> None:
    """Incident x is over after an hour, y begins after three: the hours between are lost to neither."""
    ledger = LossLedger()
    ledger.attribute({"job/a": _losses([0.0], [1.0])}, {"x": LossClaim(0.0, frozenset({"job/a"}))}, FLOATS)
    ledger.close("x")
    course = _losses([0.0] * 4, [1.0] * 4)
    ledger.attribute({"job/a": course}, {"y": LossClaim(3 * HOUR, frozenset({"job/a"}))}, FLOATS)
    assert ledger.of("y", "job/a").down == 1.0
    assert (ledger.delays, ledger.slack("job/a", FLOATS)) == ({"job/a": 2.0}, 1.0)


def test_only_what_a_job_of_a_milestone_loses_is_stored_as_its_delay() -> None:
    ledger = LossLedger()
    claims = {"x": LossClaim(0.0, frozenset({"job/a", "job/free"}))}
    ledger.attribute({"job/a": _losses([0.0], [0.0]), "job/free": _losses([0.0], [1.0])}, claims, FLOATS)
    assert (ledger.of("x", "job/free"), ledger.delays) == (LostHours(down=1.0), {})

"""The account of a finding: one sentence, a timeline that keeps what it said, and charts of what moved most."""

import numpy as np
import pytest

from holdfast.economics.costs.finding import Prices, bill
from holdfast.fleet.incidents.account import account, charts, sentence, timeline
from holdfast.fleet.incidents.business_context import BusinessContext
from holdfast.model.account import Account, Loss, Moment
from holdfast.model.finding import Finding, Rival, Symptom
from holdfast.model.panel import Panel, table
from holdfast.model.signal import Event
from holdfast.model.topology import Topology

NOW, SINCE = 6000.0, 3000.0
TIMES = np.arange(0.0, NOW + 10.0, 10.0)
HEAT, FLOW = "gpu_temperature_celsius", "cdu_flow_litres_per_minute"


def finding(**more: object) -> Finding:
    known: dict[str, object] = {"cause": "cdu/c2", "kind": "cooling.flow_low", "confidence": 0.9, "since": SINCE}
    return Finding(**{**known, **more})  # type: ignore[arg-type]


def panel(*events: Event, **rows: object) -> Panel:
    return Panel(TIMES, {name: table(row) for name, row in rows.items()}, events=events)  # type: ignore[arg-type]


def loss(subject: str = "job/llama", share: float | None = 0.5, **more: object) -> Loss:
    return Loss(**{"subject": subject, "gpus": 8.0, "share_so_far": share, "share_now": share, **more})  # type: ignore[arg-type]


def summary(*found: Loss, hours: float = 1.0, **on_call: str) -> str:
    return sentence(finding(), found, bill(found, Prices(gpu_hour=2.0), hours), on_call, 2.0)


def test_the_sentence_of_a_measured_loss() -> None:
    """Half of eight GPUs at 2.00 are 8 USD an hour; labour is paid once and grows no further."""
    text = "cdu/c2: coolant flow is low; job llama is losing the work of 4 GPUs"
    assert summary(loss()) == f"{text} (8.00 USD/h compute)"
    assert summary(loss(), loss("job/b")).endswith(
        "jobs llama and b are losing the work of 8 GPUs (16.00 USD/h compute)"
    )


def test_the_sentence_of_what_no_one_measured_and_of_no_one_hurt() -> None:
    assert summary(loss(share=None)).endswith("; it reaches job llama, whose loss is not measured")
    assert summary(loss(share=0.0)).endswith("; it reaches job llama, which loses no work by it")
    assert summary(loss(share=0.0), loss("job/b", 0.0)).endswith("jobs llama and b, which lose no work by it")
    assert summary(loss(share=0.0), loss("job/b", None)).endswith("which lose no work by it, as far as it is measured")
    assert summary().endswith("; no job has slowed yet")
    assert summary(facilities="ann").endswith("; facilities on call: ann")


def test_what_was_lost_before_is_still_said_when_the_loss_is_over() -> None:
    """ "Loses no work by it" and "whose loss is not measured" stood above a cost of 7 GPU-hours."""
    over, unknown = loss(share=0.5, share_now=0.0), loss("job/b", 0.5, share_now=None)
    assert summary(over).endswith("; it reaches job llama, which loses no work now, and lost 4 GPU-hours before")
    assert summary(over, unknown).endswith("no work now, as far as it is measured, and lost 4 GPU-hours before")


def test_a_milestone_that_slips_is_reported() -> None:
    text = summary(loss(milestone="v1"))
    assert text.endswith("job llama is losing the work of 4 GPUs (8.00 USD/h compute) and delays v1 by 12 h per day")
    assert summary(loss(milestone="v1", day_value=2400.0)).endswith("delays v1 by 12 h per day (50 USD/h)")
    assert "delays" not in summary(loss())
    assert "delays" not in summary(loss(share=None, milestone="v1"))


def test_a_history_that_goes_on_keeps_its_beginning() -> None:
    before = Account(kind="x", confidence=0.9, since=2000.0, lasted_seconds=1.0, path=("old", "cdu/c2 > a"))
    found = account(finding(path=("cdu/c2 > a", "cdu/c2 > b")), panel(), Topology(), BusinessContext(), before)
    assert (found.since, found.lasted_seconds) == (2000.0, 4000.0)
    assert found.path == ("cdu/c2 > a", "cdu/c2 > b", "old")
    fresh = account(finding(), panel(), Topology(), BusinessContext())
    assert (fresh.since, fresh.lasted_seconds, fresh.runbook) == (3000.0, 3000.0, "cooling.flow_low")
    later = Account(kind="x", confidence=0.9, since=5000.0, lasted_seconds=1.0)
    assert account(finding(), panel(), Topology(), BusinessContext(), later).since == 3000.0
    assert account(finding(since=7000.0), panel(), Topology(), BusinessContext()).lasted_seconds == 0.0
    assert fresh.bill.hours == pytest.approx(3000 / 3600)


def test_owners_are_the_findings_or_the_topologys_and_the_business_context_says_who_is_on_call() -> None:
    topology = Topology(owners={"cdu": "facilities"})
    context = BusinessContext(on_call={"facilities": "ann"})
    assert account(finding(), panel(), topology, context).on_call == {"facilities": "ann"}
    assert account(finding(owners=("network",)), panel(), topology, context).on_call == {
        "network": "not named in the business context"
    }
    assert account(finding(), panel(), Topology(), context).owners == ()


def test_rivals_and_a_runbook_of_its_own_are_kept() -> None:
    rival = Rival(cause="rack/r1", kind="cooling.rack_blocked", why="other racks are hot too")
    found = account(finding(rivals=(rival,), runbook="other"), panel(), Topology(), BusinessContext())
    assert [(one.cause, one.kind, one.why) for one in found.rivals] == [(rival.cause, rival.kind, rival.why)]
    assert found.runbook == "other"


def symptom(number: int, since: float = SINCE, before: float = 50.0, now: float = 80.0, signal: str = HEAT) -> Symptom:
    return Symptom(f"node/n{number}/gpu/0", signal, since, before, now)


def test_the_timeline_is_in_order_and_what_was_reported_first_stays() -> None:
    found = finding(symptoms=(symptom(2, 3100.0), symptom(1, 3050.0)))
    moments = timeline(found, panel())
    assert [(one.at, one.text.split()[0]) for one in moments] == [(3050.0, "node/n1/gpu/0"), (3100.0, "node/n2/gpu/0")]
    assert {one.domain for one in moments} != {"other"}
    first = Moment(at=3000.0, domain="x", text=f"node/n1/gpu/0 {HEAT}: 50 -> 60")
    assert timeline(found, panel(), [first])[0] == first
    assert timeline(finding(symptoms=(symptom(1, signal="strange"),)), panel())[0].domain == "other"


@pytest.mark.parametrize(("earlier", "shown"), [(90.0, True), (91.0, False), (700.0, False)])
def test_what_moved_before_the_cause_is_no_moment_of_it(earlier: float, shown: bool) -> None:
    """A GPU whose job started 12 minutes before the pump failed was the first line of "What happened"."""
    found = finding(symptoms=(symptom(1), symptom(2, SINCE - earlier)))
    assert len(timeline(found, panel())) == 1 + shown


def test_many_hot_gpus_do_not_hide_the_job_that_slows_after_them() -> None:
    hot = tuple(symptom(number, SINCE + number / 1000) for number in range(1000))
    job = Symptom("job/train", "job_step_seconds", SINCE + 60, 1.0, 2.0)
    found = finding(symptoms=(*hot, job))
    moments = timeline(found, panel())
    assert len(moments) == 200 and moments[-1].text.startswith("job/train ")
    assert [one.text.split("/")[1] for one in moments[:3]] == ["n0", "n1", "n2"], "of each domain what moved first"
    symptoms = account(found, panel(), Topology(), BusinessContext()).symptoms
    assert len(symptoms) == 64 and symptoms[0].startswith("node/n0/") and symptoms[-1].startswith("job/train ")


@pytest.mark.parametrize(
    ("subject", "at", "shown"),
    [
        ("cdu/c2", SINCE - 900.0, True),
        ("cdu/c2", SINCE - 901.0, False),
        ("rack/r4", SINCE, True),  # on the path
        ("node/n1", SINCE, True),  # a victim
        ("rack/r9", SINCE, False),
    ],
)
def test_events_of_those_concerned_are_reported(subject: str, at: float, shown: bool) -> None:
    event = Event(kind="valve", at=at, text="closed", subject=subject)
    found = finding(path=("cdu/c2 > rack/r4",), symptoms=(symptom(1),))
    texts = [one.text for one in timeline(found, panel(event)) if one.domain == "events"]
    assert texts == ([f"{subject} valve: closed"] if shown else [])


def flat(value: float) -> np.ndarray:  # type: ignore[type-arg]
    return np.full(len(TIMES), value)


def test_the_causes_own_signals_come_first_then_what_moved_most() -> None:
    rows = {
        FLOW: {"cdu/c2": flat(1.0)},
        HEAT: {f"node/n{number}/gpu/0": flat(50.0) for number in (1, 2, 3)},
    }
    found = finding(symptoms=(symptom(1, now=60.0), symptom(2, now=90.0), symptom(3, now=20.0)))
    drawn = charts(found, panel(**rows), SINCE)
    assert [(one.signal, one.subject) for one in drawn] == [(FLOW, "cdu/c2"), (HEAT, "node/n2/gpu/0")]
    own = finding(symptoms=(Symptom("cdu/c2", FLOW, SINCE, 1.0, 0.0),))
    assert len(charts(own, panel(**rows), SINCE)) == 1
    zero = finding(symptoms=(symptom(1, before=0.0, now=0.5), symptom(2, before=1.0, now=1.4)))
    assert charts(zero, panel(**{HEAT: rows[HEAT]}), SINCE)[0].subject == "node/n1/gpu/0"


def test_three_signals_of_the_cause_and_eight_in_all_are_drawn() -> None:
    rows = {f"own_{number}": {"cdu/c2": flat(1.0)} for number in range(5)}
    rows |= {f"s{number}": {f"node/n{number}/gpu/0": flat(1.0)} for number in range(9)}
    found = finding(symptoms=tuple(symptom(number, signal=f"s{number}") for number in range(9)))
    drawn = charts(found, panel(**rows), SINCE)
    assert [one.signal for one in drawn] == ["own_0", "own_1", "own_2", "s0", "s1", "s2", "s3", "s4"]


def test_a_chart_starts_a_quarter_of_an_hour_before_and_has_sixty_points_at_most() -> None:
    row = np.arange(len(TIMES), dtype=float)
    (drawn,) = charts(finding(), panel(**{FLOW: {"cdu/c2": row}}), SINCE)
    assert drawn.start == 2100.0
    assert drawn.step == 70.0  # 391 moments in 60 points: seven each
    assert len(drawn.values) == 56
    assert drawn.values[0] == pytest.approx(np.mean(np.arange(210, 217)))
    assert charts(finding(), panel(**{FLOW: {"cdu/c2": row}}), 1e6) == ()
    gap = np.where(TIMES < 2200.0, np.nan, 1.0)
    (hole,) = charts(finding(), panel(**{FLOW: {"cdu/c2": gap}}), SINCE)
    assert hole.values[:3] == (None, 1.0, 1.0)
    short = Panel(TIMES[:5], {FLOW: table({"cdu/c2": row[:5]})})
    (few,) = charts(finding(), short, 0.0)
    assert (few.step, few.values) == (10.0, (0.0, 1.0, 2.0, 3.0, 4.0))

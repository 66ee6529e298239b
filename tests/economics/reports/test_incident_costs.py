"""What a month's incidents cost: only the part within the month, by cause and owner, with trend and forecast."""

import re
from dataclasses import asdict
from typing import Any

import pytest

from holdfast.economics.costs.finding import Prices, bill
from holdfast.economics.reports.incident_costs import forecast, grouped, priced, weeks
from holdfast.economics.reports.month import PARTS, Month, Sum
from holdfast.economics.reports.month_page import written
from holdfast.economics.reports.page import bars, ledger_bar
from holdfast.model.account import Loss

HOUR, DAY = 3600.0, 86_400.0
BEGIN, END = 0.0, 30 * DAY


def _row(subject: str, kind: str, since: float, hours: float, owner: str = "facilities", **more: Any) -> dict[str, Any]:
    loss = Loss(subject="job/a", gpus=100, share_so_far=0.2, share_now=0.2, **more)
    priced_ = bill([loss], Prices(gpu_hour=2.0, people=1, people_hours=1, wage=100), hours)
    account = {
        "kind": kind, "since": since, "lasted_seconds": hours * HOUR, "owners": [owner], "losses": [asdict(loss)],
        "bill": asdict(priced_),
    }  # fmt: skip
    return {"subject": subject, "opened": since, "closed": None, "account": account}


FLOW = _row("cdu/c1", "cooling.flow_low", DAY, 10.0, day_value=2400.0)
HANG = _row("job/a", "job.slowdown", 10 * DAY, 5.0, "training", down_hours=1.0, rework_hours=0.5)


def test_each_incident_by_hand_the_dearest_first() -> None:
    flow, hang = priced([HANG, FLOW, {"subject": "rack/r1", "opened": 0.0, "account": None}], BEGIN, END)
    assert (flow.subject, flow.owner, flow.kind) == ("cdu/c1", "facilities", "cooling.flow_low")
    assert (flow.gpu_hours, flow.compute, flow.rollback, flow.labour) == (200.0, 400.0, 0.0, 100.0)
    assert flow.slip == pytest.approx(200.0) and flow.total == pytest.approx(700.0)
    assert (hang.held_back, hang.redone, hang.rollback) == (200.0, 50.0, 100.0)
    assert hang.slip is None and hang.compute == pytest.approx(400.0)


@pytest.mark.parametrize(("since", "share"), [(-5 * HOUR, 0.5), (END - 2 * HOUR, 0.2), (-20 * HOUR, None)])
def test_what_lies_beyond_the_month_is_not_billed_in_it(since: float, share: float | None) -> None:
    found = priced([_row("cdu/c1", "x", since, 10.0)], BEGIN, END)
    assert [one.compute for one in found] == ([] if share is None else [pytest.approx(400.0 * share)])


def test_groups_weeks_and_forecast() -> None:
    found = priced([HANG, FLOW], BEGIN, END)
    assert [(name, len(mine)) for name, mine in grouped(found, lambda one: one.owner)] == [
        ("facilities", 1),
        ("training", 1),
    ]
    assert [hours for _, hours in weeks(found, BEGIN, END)] == [200.0, 250.0, 0.0, 0.0, 0.0]
    assert forecast(found, BEGIN, 15 * DAY, END) == pytest.approx(2 * sum(one.total for one in found))
    assert forecast(found, BEGIN, END, END) is None


def _month() -> Month:
    whole = Sum()
    whole.add("productive", 10_000.0, 2.0)
    whole.add("idle", 1_000.0, 2.0)
    return Month("2026-10", BEGIN, END, "cause", whole, {}, [], ["Degraded time counts as lost in full."])


def test_what_incidents_took_is_not_productive_and_nothing_is_paid_twice() -> None:
    month = _month()
    paid = month.whole.paid
    month.charge(priced([HANG, FLOW], BEGIN, END), END)
    assert month.whole.paid == pytest.approx(paid) and month.whole.hours == pytest.approx(11_000.0)
    assert month.whole.gpu_hours["degraded"] == pytest.approx(400.0)
    assert month.whole.gpu_hours["rework"] == pytest.approx(50.0)
    assert month.whole.gpu_hours["productive"] == pytest.approx(9_550.0)
    month.charge(priced([_row("x/y", "z", 0.0, 700.0)], BEGIN, END), END)
    assert month.whole.gpu_hours["productive"] >= 0.0
    assert sum(month.whole.gpu_hours[part] for part in PARTS) == pytest.approx(11_000.0)


def test_what_incidents_took_is_in_the_table_by_cause_and_its_sum_is_what_was_lost() -> None:
    month = _month()
    for name, part, hours in (("productive", "productive", 10_000.0), ("idle", "idle", 1_000.0)):
        month.groups[name] = Sum()
        month.groups[name].add(part, hours, 2.0)
    month.charge(priced([HANG, FLOW], BEGIN, END), END)
    lost = {name: one.lost for name, one in month.ranked() if one.lost}
    assert lost == {"idle": 2000.0, "cooling.flow_low": pytest.approx(400.0), "job.slowdown": pytest.approx(500.0)}
    assert sum(lost.values()) == pytest.approx(month.whole.lost)
    assert month.groups["productive"].gpu_hours["productive"] == pytest.approx(9_550.0)


def test_the_page_names_causes_owners_and_weeks_and_its_bars_have_a_width() -> None:
    month = _month()
    month.charge(priced([HANG, FLOW], BEGIN, END), END)
    html = written(month)
    for text in ("cooling.flow_low", "facilities", "training", "by week", "250 GPU-hours", "2 incidents cost"):
        assert text in html, text
    assert "coolant flow is low<br><small>cooling.flow_low" in html, "a kind in words, and its name"
    assert "cost of incidents" in html and "2 incidents, with labour and delay" in html
    assert "jobs made progress" in html and "below 0.10 %" not in html
    assert re.findall(r"width:[\d.]+%", html) and not re.search(r"width:[\d.]+ %", html)
    assert "No incident with a price" in written(_month())


def test_bars_are_as_long_as_they_say() -> None:
    assert "width:50.00%" in bars([("a", 1.0, "1"), ("b", 2.0, "2")])
    assert "width:0.00%" in bars([("a", 0.0, "none")])
    assert "width:85.0000%" in ledger_bar({"productive": 0.85, "idle": 0.15})

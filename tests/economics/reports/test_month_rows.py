"""The rows of a month add up: what overlapping incidents cost is the ledger's loss, by team, job, supplier or cause."""

import random
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from holdfast.economics.costs.finding import Prices, bill
from holdfast.economics.costs.ledger import HOUR, Float, LossClaim, LossLedger, LossSeries
from holdfast.economics.costs.month import StageChange, slices
from holdfast.economics.reports import price_sheet
from holdfast.economics.reports.incident_costs import Priced, priced
from holdfast.economics.reports.month import Month, summed
from holdfast.model.account import Loss
from holdfast.model.job import Job, JobState
from holdfast.model.lifecycle import EventKind, Stage

HOURS = 30 * 24
JOBS = {"a": ("n1", "n2", "n3"), "b": ("n4",), "c": ("n5", "n6")}
TEAM = {"a": "vision", "b": "vision", "c": "language"}
FLOATS = {"job/a": Float("v1", 5.0), "job/b": Float("v1", 5.0)}
SHEET = """
[[supplier]]
name = "acme"
price_per_gpu_hour = 2.0
gpus_per_node = 8
nodes = "n[1-4]"
[[supplier]]
name = "northern"
price_per_gpu_hour = 3.0
gpus_per_node = 8
"""
PRICES = Prices(gpu_hour=2.5, alternative_gpu_hour=4.0, queued_chance=0.5)


def incidents(seed: int) -> tuple[list[dict[str, Any]], dict[str, float], float]:
    """Rows of the history; the GPU-hours that the ledger attributed by job; and the hours by which v1 is late."""
    rng, ledger = random.Random(seed), LossLedger()
    spans = {}
    for number in range(8):
        start = rng.randrange(0, HOURS - 60)
        spans[f"r/{number}"] = (start, rng.randrange(5, 60), sorted(rng.sample(sorted(JOBS), rng.randrange(1, 3))))
    for hour in range(HOURS):
        claims = {
            root: LossClaim(HOUR * start, frozenset(f"job/{job}" for job in jobs))
            for root, (start, lasts, jobs) in spans.items()
            if start <= hour < start + lasts
        }
        down = {job: float(rng.random() < 0.2) for job in JOBS}
        series = {
            f"job/{job}": LossSeries(
                times=[HOUR * (hour + 1)], step=HOUR, slow=[0.0 if down[job] else rng.uniform(0, 0.5)],
                down=[down[job]], redone=[(HOUR * (hour + 1), 0.25)] if down[job] else [],
            )
            for job in JOBS
        }  # fmt: skip
        ledger.attribute(series, claims, FLOATS)
    rows, lost = [], dict.fromkeys(JOBS, 0.0)
    for root, (start, lasts, jobs) in spans.items():
        losses = []
        for job in jobs:
            mine, gpus = ledger.of(root, f"job/{job}"), 8 * len(JOBS[job])
            lost[job] += gpus * mine.hours
            losses.append(
                Loss(subject=f"job/{job}", gpus=gpus, share_so_far=mine.slow / lasts, share_now=0.0,
                     down_hours=mine.down, rework_hours=mine.redone, milestone="v1" if job != "c" else "",
                     slip_hours=mine.slip if job != "c" else None, day_value=2400.0 if job != "c" else None)
            )  # fmt: skip
        account = {
            "kind": f"kind.{root[-1]}", "since": HOUR * start, "lasted_seconds": HOUR * lasts, "owners": [],
            "losses": [asdict(one) for one in losses], "bill": asdict(bill(losses, PRICES, lasts, 0.0, 2.0)),
        }  # fmt: skip
        rows.append({"subject": root, "opened": HOUR * start, "closed": None, "account": account})
    late = max(0.0, max(ledger.delays.get(job, 0.0) for job in FLOATS) - 5.0)
    return rows, lost, late


def month(tmp_path: Path, by: str, found: list[Priced]) -> Month:
    (tmp_path / "prices.toml").write_text(SHEET)
    sheet = price_sheet.load(str(tmp_path / "prices.toml"))
    nodes = [node for of_job in JOBS.values() for node in of_job]
    begun = [
        StageChange(node=node, at=-10.0, before=Stage.READY, after=Stage.ALLOCATED, event=EventKind.JOB_STARTED)
        for node in nodes
    ]
    jobs = [
        Job(id=name, source="slurm", account=TEAM[name], nodes=where, start=-10.0, state=JobState.RUNNING)
        for name, where in JOBS.items()
    ]
    end = HOURS * HOUR
    made = summed("2026-10", slices(nodes, begun, jobs, 0.0, end), sheet, 0.0, end, by)
    made.charge(found, end)
    return made


@pytest.mark.parametrize("by", ["team", "job", "supplier", "cause"])
@pytest.mark.parametrize("seed", [1, 2])
def test_rows_and_layers_add_up_to_what_the_ledger_lost(tmp_path: Path, by: str, seed: int) -> None:
    rows, lost, late = incidents(seed)
    found = priced(rows, 0.0, HOURS * HOUR)
    made = month(tmp_path, by, found)
    assert sum(one.gpu_hours for one in found) == pytest.approx(sum(lost.values()))
    assert sum(one.slip or 0.0 for one in found) == pytest.approx(late * 100.0), "one float, one slip"
    whole, each = made.whole, list(made.groups.values())
    taken = whole.gpu_hours["degraded"] + whole.gpu_hours["rework"]
    assert taken == pytest.approx(sum(lost.values()))
    assert whole.incident_cost == pytest.approx(sum(one.total for one in found))
    for name in ("degraded", "rework", "productive"):
        assert sum(row.gpu_hours[name] for row in each) == pytest.approx(whole.gpu_hours[name]), name
        assert sum(row.dollars[name] for row in each) == pytest.approx(whole.dollars[name]), name
    assert sum(row.incident_cost for row in each) == pytest.approx(whole.incident_cost)
    assert whole.hours == pytest.approx(6 * 8 * HOURS), "nothing is paid twice"
    if by == "job":
        assert {name: row.gpu_hours["degraded"] + row.gpu_hours["rework"] for name, row in made.groups.items()} == (
            pytest.approx(lost)
        )
    if by == "supplier":
        acme = made.groups["acme"]
        assert acme.gpu_hours["degraded"] + acme.gpu_hours["rework"] == pytest.approx(lost["a"] + lost["b"])


def test_a_job_that_reports_under_another_name_is_found_by_the_schedulers(tmp_path: Path) -> None:
    rows, _, _ = incidents(1)
    for row in rows:
        for loss in row["account"]["losses"]:
            loss["scheduled_as"], loss["subject"] = loss["subject"].removeprefix("job/"), "job/run-of-someone"
    named = month(tmp_path, "job", priced(rows, 0.0, HOURS * HOUR))
    same = month(tmp_path, "job", priced(incidents(1)[0], 0.0, HOURS * HOUR))
    assert {name: row.incident_cost for name, row in named.groups.items()} == pytest.approx(
        {name: row.incident_cost for name, row in same.groups.items()}
    )


def test_a_job_that_no_scheduler_lists_is_borne_by_all_and_labour_without_a_job_by_none(tmp_path: Path) -> None:
    rows, _, _ = incidents(1)
    for loss in rows[0]["account"]["losses"]:
        loss["subject"] = "job/unheard-of"
    rows[1]["account"]["losses"] = []
    found = priced(rows[:2], 0.0, HOURS * HOUR)
    made = month(tmp_path, "team", found)
    assert sum(row.incident_cost for row in made.groups.values()) == pytest.approx(sum(one.total for one in found))
    assert made.groups["vision"].incident_cost == pytest.approx(2 * made.groups["language"].incident_cost)
    bare = next(one for one in found if one.jobs[0].job == "")
    assert made.groups["no job"].incident_cost == pytest.approx(bare.total)

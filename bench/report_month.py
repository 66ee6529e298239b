"""The report of a simulated month: 64 nodes, overlapping incidents, failed nodes, two suppliers; as HTML and CSV.

The layers of all incidents must add up to what the ledger says that the jobs lost. `--into DIR` is where the files go.
"""

import argparse
import calendar
import random
from dataclasses import asdict
from pathlib import Path
from typing import Any

from holdfast.economics.costs.finding import Prices, bill
from holdfast.economics.costs.ledger import HOUR, Float, LossClaim, LossSeries, LossLedger
from holdfast.economics.costs.month import StageChange, slices
from holdfast.economics.reports import price_sheet
from holdfast.economics.reports.build_month import write
from holdfast.economics.reports.incident_costs import priced
from holdfast.economics.reports.month import summed
from holdfast.model.account import Loss
from holdfast.model.job import Job, JobState
from holdfast.model.lifecycle import EventKind, Stage

from measure import publish

MONTH, BEGIN = "2026-10", float(calendar.timegm((2026, 10, 1, 0, 0, 0)))
DAYS, GPUS = 31, 8
END = BEGIN + DAYS * 86_400.0
NODES = [f"n{number:03d}" for number in range(1, 65)]
JOBS = {"llama-70b": NODES[:40], "vision": NODES[40:56], "eval": NODES[56:]}
PRICES = Prices(gpu_hour=2.35, alternative_gpu_hour=3.1, queued_chance=0.4)
FLOATS = {f"job/{job}": Float("release", 4.0) for job in JOBS if job != "eval"}
KINDS = [
    ("cdu/c1", "cooling.flow_low", "facilities"), ("link/leaf1-spine2", "fabric.uplink", "network"),
    ("storage/lustre1", "storage.write_slow", "storage"), ("rack/r3", "power.cap", "facilities"),
    ("node/n017", "cooling.fan", "hardware"), ("software/driver-570.2", "software.rollout", "platform"),
    ("job/llama-70b", "job.slowdown", "training"), ("node/n003/gpu/2", "gpu.slow", "hardware"),
]  # fmt: skip
SHEET = """
checkpoint_interval = "30m"
[[supplier]]
name = "acme"
price_per_gpu_hour = 2.35
gpus_per_node = 8
nodes = "n[001-040]"
sla = [{ uptime = 0.999, credit = 0.1 }, { uptime = 0.99, credit = 0.25 }]
[[supplier]]
name = "northern"
price_per_gpu_hour = 1.95
gpus_per_node = 8
"""


def incidents(rng: random.Random) -> tuple[list[dict[str, Any]], float]:
    """Rows as the controller's history has them, and the GPU-hours that the ledger attributed."""
    hours = DAYS * 24
    losing: dict[str, tuple[list[float], list[float], list[Any]]] = {
        job: ([0.0] * hours, [0.0] * hours, []) for job in JOBS
    }
    spans = {}
    for number, (cause, kind, owner) in enumerate(KINDS * 2):
        start, lasts = rng.randrange(0, hours - 40), rng.randrange(2, 30)
        hit = rng.sample(sorted(JOBS), rng.randrange(1, 3))
        spans[f"{cause}#{number}"] = (cause, kind, owner, start, lasts, hit)
        for job in hit:
            slow, down, redone = losing[job]
            for hour in range(start, start + lasts):
                slow[hour] = max(slow[hour], rng.uniform(0.05, 0.25))
            if rng.random() < 0.4:
                slow[start], down[start] = 0.0, 1.0
                redone.append((BEGIN + (start + 1) * HOUR, rng.uniform(0.1, 0.5)))
    times = [BEGIN + (hour + 1) * HOUR for hour in range(hours)]
    ledger = LossLedger()
    rows, lost = [], 0.0
    for hour in range(hours):
        courses = {
            f"job/{job}": LossSeries(times=times[hour : hour + 1], step=HOUR, slow=slow[hour : hour + 1],
                                 down=down[hour : hour + 1], redone=[one for one in redone if one[0] == times[hour]])
            for job, (slow, down, redone) in losing.items()
        }  # fmt: skip
        claims = {
            key: LossClaim(BEGIN + start * HOUR, frozenset(f"job/{job}" for job in hit))
            for key, (_, _, _, start, lasts, hit) in spans.items() if start <= hour < start + lasts
        }  # fmt: skip
        ledger.attribute(courses, claims, FLOATS)
    for key, (cause, kind, owner, start, lasts, hit) in spans.items():
        losses = []
        for job in hit:
            mine = ledger.of(key, f"job/{job}")
            lost += mine.hours * len(JOBS[job]) * GPUS
            losses.append(
                Loss(subject=f"job/{job}", gpus=len(JOBS[job]) * GPUS, share_so_far=mine.slow / lasts, share_now=0.0,
                     down_hours=mine.down, rework_hours=mine.redone, milestone="release" if job != "eval" else "",
                     slip_hours=mine.slip if job != "eval" else None, day_value=90_000.0 if job != "eval" else None)
            )  # fmt: skip
        account = {
            "kind": kind, "since": BEGIN + start * HOUR, "lasted_seconds": lasts * HOUR, "owners": [owner],
            "losses": [asdict(one) for one in losses],
            "bill": asdict(bill(losses, PRICES, lasts, 0.0, rng.uniform(0.3, 4.0))),
        }  # fmt: skip
        opened = BEGIN + start * HOUR + 180
        rows.append({"subject": cause, "opened": opened, "closed": opened + lasts * HOUR, "account": account})
    return rows, lost


def changes(rng: random.Random) -> list[StageChange]:
    """Every node is allocated all month; some fail, are repaired and come back."""
    found = [_change(node, BEGIN - 3600, "ready", "allocated", "job_started") for node in NODES]
    for node in rng.sample(NODES, 14):
        at, away = BEGIN + rng.uniform(0, 28) * 86_400, rng.uniform(1, 40) * HOUR
        why = rng.choice(["gpu.xid", "gpu.ecc_row_remap", "ib.link_down", "node.memory"])
        found.append(_change(node, at, "allocated", "quarantined", "failed", why, f"{why} failed"))
        found.append(_change(node, at + away, "quarantined", "testing", "reset_done"))
        found.append(_change(node, at + away + 900, "testing", "ready", "test_passed"))
        found.append(_change(node, at + away + 2700, "ready", "allocated", "job_started"))
    return found


def _change(node: str, at: float, before: str, after: str, what: str, cause: str = "", why: str = "") -> StageChange:
    return StageChange(
        node=node, at=at, before=Stage(before), after=Stage(after), event=EventKind(what), cause=cause, reason=why
    )


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--into", type=Path, required=True)
    options.add_argument("--seed", type=int, default=1)
    asked = options.parse_args()
    rng = random.Random(asked.seed)
    asked.into.mkdir(parents=True, exist_ok=True)
    (asked.into / "prices.toml").write_text(SHEET, encoding="utf-8")
    sheet = price_sheet.load(str(asked.into / "prices.toml"))
    jobs = [
        Job(id=name, source="slurm", account=f"team-{name}", nodes=tuple(where), start=BEGIN - 7200, end=None,
            state=JobState.RUNNING)
        for name, where in JOBS.items()
    ]  # fmt: skip
    rows, lost = incidents(rng)
    found = slices(NODES, changes(rng), jobs, BEGIN, END, sheet.checkpoint_interval)
    month = summed(MONTH, found, sheet, BEGIN, END, "cause")
    month.charge(priced(rows, BEGIN, END), END)
    for name in ("month.html", "month.csv"):
        write(month, str(asked.into / name))
    billed = sum(one.gpu_hours for one in month.incidents)
    publish(
        "report_month",
        {
            "nodes": len(NODES), "incidents": len(month.incidents), "paid": round(month.whole.paid),
            "productive_share": round(month.whole.productive, 4), "gpu_hours_by_the_ledger": round(lost, 3),
            "gpu_hours_billed": round(billed, 3), "cost_of_incidents": round(sum(one.total for one in month.incidents)),
        },
    )  # fmt: skip
    assert abs(billed - lost) < 1e-6 * max(lost, 1.0), (billed, lost)


if __name__ == "__main__":
    main()

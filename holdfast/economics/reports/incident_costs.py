"""Cost of a month's incidents by cause and owner: labour, slip, the most expensive ones, weekly trend."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

HOUR = 3600.0
WEEK = 7 * 86_400.0
DAY = 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class JobPart:
    """The cost of an incident to one job; the parts add up to the incident's cost."""

    job: str  # '': no job had a loss
    held_back: float
    redone: float
    cost: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Priced:
    """One incident: its part within the month."""

    subject: str
    kind: str
    owner: str
    opened: float
    closed: float | None
    begin: float
    end: float
    gpu_hours: float
    held_back: float  # GPU-hours of slow or stopped jobs
    redone: float  # GPU-hours of repeated work
    compute: float
    reserved: float
    rollback: float
    labour: float
    slip: float | None
    delay_hours: float
    jobs: tuple[JobPart, ...] = ()

    @property
    def total(self) -> float:
        return self.compute + self.reserved + self.rollback + self.labour + (self.slip or 0.0)


def priced(rows: Iterable[dict[str, Any]], begin: float, end: float) -> list[Priced]:
    """The month's incidents that seams found, most expensive first. An incident that lasts beyond the month counts by
    the share of its time."""
    found = []
    for row in rows:
        account = row.get("account")
        if not account:
            continue
        since = float(account["since"])
        until = since + float(account["lasted_seconds"])
        first, last = max(since, begin), min(until, end)
        if last <= first:
            continue
        found.append(_priced(row, account, first, last, (last - first) / (until - since)))
    return sorted(found, key=lambda one: (-one.total, one.subject))


def _priced(row: dict[str, Any], account: dict[str, Any], first: float, last: float, share: float) -> Priced:
    bill = account["bill"]
    layers = {layer["name"]: layer["so_far"] for layer in bill["layers"]}
    hours = float(account["lasted_seconds"]) / HOUR
    losses = [one for one in account["losses"] if one.get("gpus")]
    slip = layers.get("schedule slip")
    return Priced(
        subject=row["subject"],
        kind=account["kind"],
        owner=(account.get("owners") or ["no owner named"])[0],
        opened=row["opened"],
        closed=row.get("closed"),
        begin=first,
        end=last,
        gpu_hours=share * bill["gpu_hours"],
        held_back=share * sum(_held_back(one, hours) for one in losses),
        redone=share * sum(one["gpus"] * one.get("rework_hours", 0.0) for one in losses),
        compute=share * (layers.get("direct compute") or 0.0),
        reserved=share * (layers.get("reserved capacity") or 0.0),
        rollback=share * (layers.get("rollback") or 0.0),
        labour=share * (layers.get("labour") or 0.0),
        slip=None if slip is None else share * slip,
        delay_hours=share * bill["finish_shift_hours"],
        jobs=_parts(account["losses"], layers, hours, share),
    )


def _parts(
    losses: list[dict[str, Any]], layers: dict[str, float | None], hours: float, share: float
) -> tuple[JobPart, ...]:
    """Divides each layer among the jobs by its driver: compute by slow and stopped hours, reserved capacity by stopped
    hours, rollback by repeated hours, slip by the value of the days. Labour and layers without a driver are divided by
    all lost hours."""
    if not losses:
        return (JobPart(job="", held_back=0.0, redone=0.0, cost=share * sum(one or 0.0 for one in layers.values())),)
    gpus = [float(one.get("gpus") or 0.0) for one in losses]
    held = [_held_back(one, hours) if one.get("gpus") else 0.0 for one in losses]
    down = [n * float(one.get("down_hours", 0.0)) for n, one in zip(gpus, losses, strict=True)]
    redone = [n * float(one.get("rework_hours", 0.0)) for n, one in zip(gpus, losses, strict=True)]
    whole = [a + b for a, b in zip(held, redone, strict=True)]
    slip = [_slip(one, hours) for one in losses]
    weights = {"direct compute": held, "reserved capacity": down, "rollback": redone, "schedule slip": slip}
    costs = [0.0] * len(losses)
    for name, cost in layers.items():
        for place, part in enumerate(_shares(weights.get(name, whole), whole)):
            costs[place] += part * (cost or 0.0)
    return tuple(
        JobPart(
            job=str(one.get("scheduled_as") or one["subject"].partition("/")[2]),
            held_back=share * held[place],
            redone=share * redone[place],
            cost=share * costs[place],
        )
        for place, one in enumerate(losses)
    )


def _shares(weights: Sequence[float], otherwise: Sequence[float]) -> list[float]:
    for chosen in (weights, otherwise):
        if (whole := sum(chosen)) > 0:
            return [one / whole for one in chosen]
    return [1 / len(weights)] * len(weights)


def _slip(loss: dict[str, Any], hours: float) -> float:
    late, slow = loss.get("slip_hours"), float(loss.get("share_so_far") or 0.0) * hours
    lost = slow + float(loss.get("down_hours", 0.0)) + float(loss.get("rework_hours", 0.0))
    value = float(loss.get("day_value") or 0.0) * float(loss.get("critical_chance", 1.0))
    return value * (lost if late is None else float(late))


def _held_back(loss: dict[str, Any], hours: float) -> float:
    slow, down = float(loss.get("share_so_far") or 0.0), float(loss.get("down_hours", 0.0))
    return float(loss["gpus"]) * (slow * hours + down)


def grouped(found: Sequence[Priced], of: Callable[[Priced], str]) -> list[tuple[str, list[Priced]]]:
    """Sums by cause or by owner, most expensive first."""
    groups: dict[str, list[Priced]] = {}
    for one in found:
        groups.setdefault(of(one), []).append(one)
    return sorted(groups.items(), key=lambda item: (-sum(one.total for one in item[1]), item[0]))


def weeks(found: Sequence[Priced], begin: float, end: float) -> list[tuple[float, float]]:
    """For each week of the month: its begin and the GPU-hours lost to incidents."""
    made = []
    at = begin
    while at < end:
        until = min(at + WEEK, end)
        made.append((at, sum(_within(one, at, until) for one in found)))
        at = until
    return made


def forecast(found: Sequence[Priced], begin: float, end: float, month_end: float) -> float | None:
    """The expected cost of incidents at the end of the current month, at the rate so far."""
    lived = end - begin
    if lived < DAY or month_end <= end:
        return None
    return sum(one.total for one in found) * (month_end - begin) / lived


def _within(one: Priced, begin: float, end: float) -> float:
    shared = max(0.0, min(one.end, end) - max(one.begin, begin))
    return one.gpu_hours * shared / (one.end - one.begin)

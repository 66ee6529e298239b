"""A month's slices, priced and summed: in total, and by team, job, cause or supplier."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from holdfast.economics.costs.claims import CreditClaim, claims
from holdfast.economics.costs.month import NO_JOB, Slice, outages
from holdfast.economics.planning.formatting import money, percent
from holdfast.economics.reports.incident_costs import Priced, forecast, weeks
from holdfast.economics.reports.price_sheet import Sheet
from holdfast.model.ledger import Ledger

PARTS = tuple(Ledger().parts())
GROUPS: dict[str, Callable[[Slice, str], str]] = {
    "team": lambda one, supplier: one.team,
    "job": lambda one, supplier: one.job,
    "cause": lambda one, supplier: one.cause or one.part,
    "supplier": lambda one, supplier: supplier,
}


@dataclass(slots=True)
class Sum:
    """GPU-hours and cost by category of the ledger."""

    gpu_hours: dict[str, float] = field(default_factory=lambda: dict.fromkeys(PARTS, 0.0))
    dollars: dict[str, float] = field(default_factory=lambda: dict.fromkeys(PARTS, 0.0))
    incident_cost: float = 0.0  # in all five layers, which exceed the price of the lost hours

    def add(self, part: str, hours: float, price: float) -> None:
        self.gpu_hours[part] += hours
        self.dollars[part] += hours * price

    @property
    def hours(self) -> float:
        return sum(self.gpu_hours.values())

    @property
    def watched(self) -> float:
        """GPU-hours whose use is known."""
        return self.hours - self.gpu_hours["unknown"]

    @property
    def paid(self) -> float:
        return sum(self.dollars.values())

    @property
    def productive(self) -> float:
        """Share of the watched time: unwatched time is neither productive nor lost."""
        return self.gpu_hours["productive"] / self.watched if self.watched else 0.0

    @property
    def lost(self) -> float:
        """Dollars for watched time that was not productive."""
        return self.paid - self.dollars["productive"] - self.dollars["unknown"]

    @property
    def effective_price(self) -> float | None:
        """Dollars per productive GPU-hour of the watched time; None without productive time."""
        hours = self.gpu_hours["productive"]
        return (self.paid - self.dollars["unknown"]) / hours if hours else None

    def document(self) -> dict[str, Any]:
        return {
            "gpu_hours": self.hours,
            "watched_gpu_hours": self.watched,
            **{f"{part}_gpu_hours": hours for part, hours in self.gpu_hours.items()},
            "paid": self.paid,
            "lost": self.lost,
            "productive": self.productive,
            "price_per_productive_gpu_hour": self.effective_price,
            "incident_cost": self.incident_cost,
        }


@dataclass(frozen=True, slots=True)
class Worked:
    """Productive time of a job on a node, and its row."""

    group: str
    begin: float
    end: float
    gpus: int
    price: float


@dataclass(slots=True)
class Month:
    name: str
    begin: float
    end: float
    by: str
    whole: Sum
    groups: dict[str, Sum]
    claims: list[tuple[str, CreditClaim]]  # supplier, claim
    notes: list[str]
    incidents: list[Priced] = field(default_factory=list)
    month_end: float = 0.0
    worked: dict[str, list[Worked]] = field(default_factory=dict)  # job -> its productive times

    def charge(self, incidents: Sequence[Priced], month_end: float) -> None:
        """Moves the losses of incidents out of productive time, which counts whole allocations. They are taken from the
        rows of the job, its team or the suppliers of its nodes, so that rows add up to the total."""
        self.incidents, self.month_end = list(incidents), month_end
        before = self.whole.gpu_hours["degraded"]
        for one in incidents:
            for part in one.jobs:
                rows = self._rows_of(part.job, one)
                for name, share, price in rows:
                    self._take(name, one.kind, "degraded", share * part.held_back, price)
                    self._take(name, one.kind, "rework", share * part.redone, price)
                    row = one.kind if self.by == "cause" else name
                    self.groups.setdefault(row, Sum()).incident_cost += share * part.cost
                self.whole.incident_cost += part.cost
        if self.whole.gpu_hours["degraded"] > before:
            note = "Jobs that incidents slowed or stopped: that part of their time counts as degraded."
            self.notes = [note, *(one for one in self.notes if not one.startswith("Degraded time counts as lost"))]

    def _rows_of(self, job: str, incident: Priced) -> list[tuple[str, float, float]]:
        """Rows that a loss is taken from: name, share and price per GPU-hour. These are the rows in which the job
        worked at that time; for a job that no scheduler lists, all rows by their productive hours."""
        found: dict[str, tuple[float, float]] = {}
        for one in self.worked.get(job, ()):
            hours = one.gpus * max(0.0, min(one.end, incident.end) - max(one.begin, incident.begin))
            if hours > 0:
                known = found.get(one.group, (0.0, 0.0))
                found[one.group] = (known[0] + hours, known[1] + hours * one.price)
        if not found and job:
            rows = {name: row for name, row in self.groups.items() if row.gpu_hours["productive"] > 0}
            found = {
                name: (row.gpu_hours["productive"], row.dollars["productive"])
                for name, row in (rows or {"productive": self.whole}).items()
            }
        whole = sum(hours for hours, _ in found.values())
        if whole <= 0:
            return [(NO_JOB, 1.0, 0.0)]
        return [(name, hours / whole, paid / hours) for name, (hours, paid) in found.items()]

    def _take(self, name: str, kind: str, target: str, hours: float, price: float) -> None:
        """Takes hours from a row, at most its hours."""
        source = self.groups.get(name, self.whole)
        moved = min(hours, source.gpu_hours["productive"], self.whole.gpu_hours["productive"])
        if moved <= 0:
            return
        rows = [(self.whole, self.whole)]
        if source is not self.whole:
            rows.append((source, self.groups.setdefault(kind, Sum()) if self.by == "cause" else source))
        for giver, taker in rows:
            giver.add("productive", -moved, price)
            taker.add(target, moved, price)

    @property
    def headline(self) -> str:
        each = self.whole.effective_price
        price = f", {money(each)} for each productive one" if each is not None else ""
        unknown = self.whole.gpu_hours["unknown"]
        watched = f" {unknown:,.0f} of them were not watched;" if unknown >= 0.5 else ""
        whose = "of the rest" if watched else "of them"
        return (
            f"{self.name}: {money(self.whole.paid)} paid for {self.whole.hours:,.0f} GPU-hours;{watched}"
            f" {percent(self.whole.productive)} {whose} productive{price}."
        )

    def ranked(self) -> list[tuple[str, Sum]]:
        return sorted(self.groups.items(), key=lambda item: (-item[1].lost, item[0]))

    def document(self) -> dict[str, Any]:
        return {
            "month": self.name,
            "begin": self.begin,
            "end": self.end,
            "headline": self.headline,
            "total": self.whole.document(),
            "by": self.by,
            "rows": [{self.by: name, **one.document()} for name, one in self.ranked()],
            "incidents": [
                {name: value for name, value in {**asdict(one), "total": one.total}.items() if name != "jobs"}
                for one in self.incidents
            ],
            "incident_weeks": [
                {"begin": at, "gpu_hours": hours} for at, hours in weeks(self.incidents, self.begin, self.end)
            ],
            "incident_forecast": forecast(self.incidents, self.begin, self.end, self.month_end),
            "claims": [
                {
                    "supplier": supplier,
                    "node": claim.node,
                    "down_seconds": claim.down_seconds,
                    "uptime": claim.uptime,
                    "credit": claim.credit,
                    "claim_until": claim.claim_until,
                    "evidence": [
                        {"begin": one.begin, "end": one.end, "what": one.what, "seen": one.seen}
                        for one in claim.evidence
                    ],
                }
                for supplier, claim in self.claims
            ],
            "notes": self.notes,
        }


def summed(name: str, found: Sequence[Slice], sheet: Sheet, begin: float, end: float, by: str) -> Month:
    month = Month(name, begin, end, by, Sum(), {}, [], [])
    unpriced: set[str] = set()
    for one in found:
        supplier = sheet.of(one.node)
        if supplier is None:
            unpriced.add(one.node)
            continue
        hours = one.seconds * supplier.gpus_per_node / 3600
        month.whole.add(one.part, hours, supplier.price)
        group = GROUPS[by](one, supplier.name)
        month.groups.setdefault(group, Sum()).add(one.part, hours, supplier.price)
        if one.part == "productive":
            worked = Worked(group, one.begin, one.end, supplier.gpus_per_node, supplier.price)
            month.worked.setdefault(one.job, []).append(worked)
    month.claims = _claims(found, sheet, begin, end)
    month.notes = _notes(sheet, unpriced, month.whole)
    return month


def _claims(found: Sequence[Slice], sheet: Sheet, begin: float, end: float) -> list[tuple[str, CreditClaim]]:
    """Claims for outages. Planned work gives no claim; failures do."""
    made = []
    down = [one for one in outages(found) if one.what not in ("quarantine", "remove", "operator", "not in service yet")]
    for supplier in sheet.suppliers:
        if supplier.agreement is not None:
            own = [one for one in down if sheet.of(one.node) is supplier]
            fee = supplier.price * supplier.gpus_per_node * (end - begin) / 3600
            made += [(supplier.name, claim) for claim in claims(own, begin, end, fee, supplier.agreement)]
    return sorted(made, key=lambda item: -item[1].credit)


def _notes(sheet: Sheet, unpriced: set[str], whole: Sum) -> list[str]:
    notes = ["Allocated time counts as productive unless the node was known to be degraded."]
    if whole.gpu_hours["degraded"]:
        notes.append("Degraded time counts as lost in full, because it is not measured how much of it worked.")
    if whole.gpu_hours["unknown"]:
        notes.append("Unwatched time is paid, but counts neither as productive nor as lost.")
        if any(supplier.agreement for supplier in sheet.suppliers):
            notes.append("Claims are what the watched time shows; whether nodes were up in the rest is unknown.")
    if sheet.checkpoint_interval:
        notes.append("Of a job that failed, half a checkpoint interval is counted as rework.")
    else:
        notes.append("Rework is not in it: the price sheet names no checkpoint_interval.")
    if unpriced:
        notes.append(f"{len(unpriced)} nodes have no price and are left out, such as {min(unpriced)}.")
    return notes

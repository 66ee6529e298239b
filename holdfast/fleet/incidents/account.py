"""Builds an incident's account from a finding: price, summary sentence, timeline and charts."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np

from holdfast.catalog import seam_signals
from holdfast.economics.costs.finding import bill
from holdfast.fleet.incidents.business_context import BusinessContext
from holdfast.fleet.incidents.losses import losses
from holdfast.fleet.incidents.past import sentence
from holdfast.model.account import Account, Chart, Moment
from holdfast.model.finding import Finding, Symptom
from holdfast.model.panel import Panel
from holdfast.model.topology import Topology
from holdfast.seams.root import SLACK_SECONDS

MOST_SYMPTOMS = 64
MOST_VICTIMS = 20_000
MOST_PATHS = 64
MOST_MOMENTS = 200
MOST_CHARTS = 8
CHART_POINTS = 60
CHART_BEFORE_SECONDS = 900.0
OF_THE_CAUSE = 3
T = TypeVar("T")


def account(
    finding: Finding, panel: Panel, topology: Topology, context: BusinessContext, before: Account | None = None
) -> Account:
    """Builds the account. `before`: the last account of the same incident, whose timeline continues."""
    since = min(finding.since, before.since) if before is not None else finding.since
    lasted = max(0.0, panel.now - since)
    found = losses(finding, panel, topology, context, before.losses if before is not None else ())
    priced = bill(found, context.prices, lasted / 3600, context.horizon_hours)
    owners = finding.owners or tuple(filter(None, (topology.owner(finding.cause),)))
    on_call = {team: context.on_call.get(team, "not named in the business context") for team in owners}
    return Account(
        kind=finding.kind,
        confidence=finding.confidence,
        since=since,
        lasted_seconds=lasted,
        sentence=sentence(finding, found, priced, on_call, context.prices.gpu_hour),
        path=tuple(dict.fromkeys([*finding.path, *(before.path if before is not None else ())]))[:MOST_PATHS],
        symptoms=tuple(one.says() for one in _in_turns(finding.symptoms, lambda one: one.signal, MOST_SYMPTOMS)),
        victims=tuple(sorted(finding.victims)[:MOST_VICTIMS]),
        evidence=finding.evidence,
        rivals=finding.rivals,
        unknown=finding.unknown,
        owners=owners,
        on_call=on_call,
        runbook=finding.runbook or finding.kind,
        losses=found,
        bill=priced,
        timeline=timeline(finding, panel, before.timeline if before is not None else ()),
        charts=_with_the_past(charts(finding, panel, since), before, since),
    )


def continued(before: Account, now: float, context: BusinessContext) -> Account:
    """The account of an open incident that this evaluation did not find. Its bill continues at the same rate."""
    lasted = max(before.lasted_seconds, now - before.since)
    priced = bill(before.losses, context.prices, lasted / 3600, context.horizon_hours)
    return replace(before, lasted_seconds=lasted, bill=priced)


def timeline(finding: Finding, panel: Panel, before: Sequence[Moment] = ()) -> tuple[Moment, ...]:
    """Times at which signals of all domains changed. The first time of each signal of a subject stays. A signal that
    changed before the cause had another reason (for example, a GPU whose job starts), so its time is unknown."""
    known = {_key(moment.text): moment for moment in before}
    concerned = (
        finding.victims | {finding.cause} | {place.strip() for line in finding.path for place in line.split(">")}
    )
    moments = [
        Moment(at=one.since, domain=_domain(one.signal), text=one.says())
        for one in finding.symptoms
        if one.since >= finding.since - SLACK_SECONDS
    ]
    moments += [
        Moment(at=event.at, domain="events", text=f"{event.subject} {event.kind}: {event.text}"[:300])
        for event in panel.events
        if event.subject in concerned and event.at >= finding.since - CHART_BEFORE_SECONDS
    ]
    for moment in moments:
        known.setdefault(_key(moment.text), moment)
    ordered = sorted(known.values(), key=lambda moment: moment.at)
    return tuple(_in_turns(ordered, lambda moment: moment.domain, MOST_MOMENTS))


def _in_turns(items: Sequence[T], group: Callable[[T], str], most: int) -> list[T]:
    """At most `most` entries, in order. Groups take turns, so that a thousand hot GPUs do not hide the job that slows
    down a minute later."""
    turns = Counter[str]()
    ranked: list[tuple[int, int]] = []
    for place, item in enumerate(items):
        ranked.append((turns[group(item)], place))
        turns[group(item)] += 1
    return [items[place] for place in sorted(place for _, place in sorted(ranked)[:most])]


def _key(text: str) -> str:
    return text.partition(":")[0]


def _domain(signal: str) -> str:
    known = seam_signals.signals().get(signal)
    return known.domain if known else "other"


def charts(finding: Finding, panel: Panel, since: float) -> tuple[Chart, ...]:
    """The cause's own signals first, then for every signal the symptom that moved most."""
    chosen = [(name, finding.cause) for name, table in panel.tables.items() if finding.cause in table.index]
    chosen = chosen[:OF_THE_CAUSE]
    by_signal: dict[str, Symptom] = {}
    for one in finding.symptoms:
        if one.signal not in by_signal or _moved(one) > _moved(by_signal[one.signal]):
            by_signal[one.signal] = one
    chosen += [(one.signal, one.subject) for one in by_signal.values() if (one.signal, one.subject) not in chosen]
    return tuple(filter(None, (_chart(name, about, panel, since) for name, about in chosen[:MOST_CHARTS])))


def _with_the_past(made: tuple[Chart, ...], before: Account | None, since: float) -> tuple[Chart, ...]:
    """Keeps the earlier chart if the new one no longer shows the time before the incident, which recovery is compared
    with."""
    known = {(one.subject, one.signal): one for one in (before.charts if before is not None else ())}
    return tuple(
        known[one.subject, one.signal] if one.start >= since - one.step and (one.subject, one.signal) in known else one
        for one in made
    )


def _moved(one: Symptom) -> float:
    return abs(one.now - one.before) / (abs(one.before) or 1.0)


def _chart(name: str, about: str, panel: Panel, since: float) -> Chart | None:
    row = panel.row(name, about)
    first = int(np.searchsorted(panel.times, since - CHART_BEFORE_SECONDS))
    if row is None or first >= len(panel.times):
        return None
    width = -(-(len(panel.times) - first) // CHART_POINTS)
    points = [_mean(row[place : place + width]) for place in range(first, len(panel.times), width)]
    return Chart(
        subject=about, signal=name, start=float(panel.times[first]), step=panel.step * width, values=tuple(points)
    )


def _mean(values: Iterable[float]) -> float | None:
    seen = [float(one) for one in values if one == one]
    return float(f"{sum(seen) / len(seen):.6g}") if seen else None

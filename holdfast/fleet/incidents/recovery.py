"""Recovery of an incident, from its own instruments. Silence or a missing baseline is not recovery."""

import numpy as np

from holdfast.model.account import Account, Chart
from holdfast.model.panel import Panel

BACK = 0.5  # share of the way from the bad to the usual value
LEAST_MOVE = 0.01  # share of the larger value; a chart that changed less proves nothing
NOISE_TIMES = 4.0  # a change within this many usual deviations is noise
WORST_POINTS = 5
FORGOTTEN_SECONDS = 86_400.0
"""Not found for a day though all of it is measured: what is measured now is the new usual."""


def recovered(account: Account, lately: Panel, unseen_seconds: float) -> bool:
    """Whether the incident recovered. `lately`: the last minutes of the window. `unseen_seconds`: time since the last
    finding.

    The charts of the account contain the usual and the bad values, so that a restarted controller can decide too. Every
    chart that changed and is measured must be back; at least one must be measured.
    """
    if not account.charts:
        return True
    read = [(chart, now) for chart in account.charts if (now := _now(chart, lately)) is not None]
    if not read:
        return False
    if unseen_seconds >= FORGOTTEN_SECONDS:
        return True
    own = [pair for pair in read if pair[0].subject in _named(account)] or read
    judged = 0
    for chart, now in own:
        usual = _usual(chart, account)
        if usual is None:
            continue
        before, noise = usual
        bad = _bad(chart, account, before)
        judged += 1
        if bad is None or abs(bad - before) <= max(LEAST_MOVE * max(abs(bad), abs(before)), NOISE_TIMES * noise):
            continue  # the signal was silent and reports again, or never changed
        if abs(now - before) > BACK * abs(bad - before):
            return False
    return judged > 0


def ended(root: str, account: Account, lately: Panel) -> bool:
    """Whether the subject is a job that is silent and does not run, so that it cannot recover."""
    running = {f"job/{job.id}" for job in lately.jobs}
    silent = all(_now(chart, lately) is None for chart in account.charts)
    return root.startswith("job/") and bool(running) and root not in running and silent


def _named(account: Account) -> set[str]:
    """The cause: the first place of its paths."""
    return {line.split(">")[0].strip() for line in account.path}


def _now(chart: Chart, lately: Panel) -> float | None:
    row = lately.row(chart.signal, chart.subject)
    seen = row[np.isfinite(row)] if row is not None else np.empty(0)
    return float(np.median(seen)) if len(seen) else None


def _usual(chart: Chart, account: Account) -> tuple[float, float] | None:
    """The median before the incident, and the usual deviation from it."""
    seen = [value for at, value in _points(chart) if at < account.since - chart.step and value is not None]
    if not seen:
        return None
    middle = float(np.median(seen))
    return middle, float(np.median(np.abs(np.array(seen) - middle)))


def _bad(chart: Chart, account: Account, before: float) -> float | None:
    """The worst value. The last points may belong to the recovery already."""
    seen = [value for at, value in _points(chart) if at >= account.since and value is not None]
    worst = sorted(seen, key=lambda value: -abs(value - before))[:WORST_POINTS]
    return float(np.median(worst)) if worst else None


def _points(chart: Chart) -> list[tuple[float, float | None]]:
    return [(chart.start + number * chart.step, value) for number, value in enumerate(chart.values)]

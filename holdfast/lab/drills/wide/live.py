"""A day of a fleet as real instruments report it.

Whole degrees, readings every 30 to 60 s, missed scrapes, agents and exporters that restart, a daily season, noisy
ranks, and jobs that start, fail and end.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from holdfast.lab.drills.wide.conditions import Conditions
from holdfast.lab.drills.wide.faults import FAULTS
from holdfast.lab.drills.wide.physics import truth
from holdfast.lab.drills.wide.readings import instrument, jobs_of
from holdfast.lab.drills.wide.site import Floats, Places, Site, SiteJob, draw_constants
from holdfast.lab.drills.wide.stager import Situation, Stager
from holdfast.model.panel import Panel, SignalTable, Values
from holdfast.model.signal import Event
from holdfast.model.topology import Topology

DAY = 86_400.0
NODES, PER_NODE, STEP = 64, 4, 30.0
CADENCES = {"job_": 30.0, "rank_": 30.0, "pool_": 30.0, "request_": 30.0}
USUAL_CADENCE = 60.0
MISSED = 0.01  # share of all scrapes
RESTARTS_A_DAY = 8  # restarts of agents and of gateways
SEASON_CELSIUS = 3.0
SMALL_JOBS = 6


def live_site(seed: int, lasts: float) -> Site:
    rng = np.random.default_rng([seed, 61])
    nodes = np.arange(NODES)
    works = [_work(rng, "pretrain", nodes[:32], -1e12, 1e12)]
    free = nodes[32:56].reshape(SMALL_JOBS, -1)
    for number, mine in enumerate(free):
        at = -float(rng.uniform(0, 3600))
        while at < lasts:
            length = float(rng.uniform(0.5, 6.0)) * 3600
            name = f"job{number}-{len(works)}"
            works.append(_work(rng, name, mine, at, at + length))
            at += length + float(rng.uniform(300, 3600))
    return Site(
        seed=seed, family="tuned", rng=rng, step=STEP, nodes=NODES, per_node=PER_NODE, rack_of=nodes // 8,
        cdu_of=np.arange(8) // 4, room_of=np.zeros(2, np.intp), leaf_of=nodes // 16, spines=4, works=tuple(works),
        pools=("prefill", "decode1", "decode2", "decode3"), pool_nodes=nodes[56:],
        constants={**draw_constants(rng, wide=False), "ambient_trend": 0.0, "request_trend": 0.0},
    )  # fmt: skip


def _work(rng: np.random.Generator, name: str, nodes: Places, begins: float, ends: float) -> SiteJob:
    compute = float(rng.uniform(1.0, 12.0))
    return SiteJob(
        name=name, nodes=nodes, compute=compute, collective=0.3 * compute, interval=float(rng.uniform(900, 2400)),
        takes=float(rng.uniform(10, 60)), phase=float(rng.uniform(0, 1)), restart=float(rng.uniform(120, 400)),
        use=float(rng.uniform(0.7, 1.0)), draw=float(rng.uniform(0.6, 0.95)), jitter=0.015, rank_jitter=0.04,
        begins=begins, ends=ends,
    )  # fmt: skip


def live_day(seed: int, lasts: float = DAY, fault: str = "") -> tuple[Panel, Topology, Situation]:
    """The signals of `lasts` seconds, with one of FAULTS if it is named."""
    site = live_site(seed, lasts)
    conditions = Conditions(site, np.arange(0.0, lasts, STEP))
    situation = FAULTS[fault](_at_half(conditions, lasts)) if fault else Situation()
    season = np.sin(2 * np.pi * conditions.times / DAY)
    conditions.ambient += SEASON_CELSIUS * season
    conditions.supply += 0.5 * season
    conditions.requests *= 1 + 0.3 * np.sin(2 * np.pi * (conditions.times - 6 * 3600) / DAY)
    _fails_once(conditions)
    rng = np.random.default_rng([seed, 62])
    tables = {
        name: SignalTable(subjects, _read(conditions, name, values, rng))
        for name, (subjects, values) in truth(conditions).items()
        if subjects and not name.startswith(situation.unmetered or ("-",))
    }
    panel = Panel(conditions.times, tables, tuple(conditions.events), jobs_of(conditions))
    return _restarts(panel, site, rng), site.topology(), situation


def _at_half(conditions: Conditions, lasts: float) -> Stager:
    stager = Stager(conditions, lasts)
    stager.start, stager.ramp, stager.on, stager.off = 0.5 * lasts, 0.0, 1e12, 0.0
    return stager


def _fails_once(conditions: Conditions) -> None:
    """The large job fails once a day and is back after its usual restart time."""
    work, at = conditions.site.works[0], 0.37 * conditions.times[-1]
    conditions.down.append((work.name, at, at + work.restart))
    conditions.events += [
        Event(kind="job_failed", at=at, text="died", subject=work.subject),
        Event(kind="job_restarted", at=at + work.restart, text="is back", subject=work.subject,
              detail={"recovery_seconds": work.restart}),
    ]  # fmt: skip


def _read(conditions: Conditions, name: str, values: Floats, rng: np.random.Generator) -> Values:
    cadence = next((every for prefix, every in CADENCES.items() if name.startswith(prefix)), USUAL_CADENCE)
    whole = np.round(values) if name.endswith("celsius") else values
    seen = instrument(conditions, name, np.where(rng.random(values.shape) < MISSED, np.nan, whole), cadence, rng)
    return np.round(seen) if name.endswith("celsius") else seen


def _restarts(panel: Panel, site: Site, rng: np.random.Generator) -> Panel:
    """Agents and gateways are away for two to five minutes, some times a day."""
    tables = {name: SignalTable(one.subjects, one.values.copy()) for name, one in panel.tables.items()}
    for prefixes, start, end in _gaps(site, float(panel.times[-1]), rng):
        late = (panel.times >= start) & (panel.times < end)
        for table in tables.values():
            rows = [row for row, about in enumerate(table.subjects) if about.startswith(prefixes)]
            if rows:
                table.values[np.ix_(np.array(rows), np.flatnonzero(late))] = np.nan
    return replace(panel, tables=tables)


def _gaps(site: Site, lasts: float, rng: np.random.Generator) -> Iterator[tuple[tuple[str, ...], float, float]]:
    for number in range(max(1, round(RESTARTS_A_DAY * lasts / DAY))):
        node = site.node_names[int(rng.integers(site.nodes))]
        prefixes = (node + "/", node) if number % 2 else ("cdu/", "rack/", "room/")
        start = float(rng.uniform(0.1, 0.9)) * lasts
        yield prefixes, start, start + float(rng.uniform(120, 300))

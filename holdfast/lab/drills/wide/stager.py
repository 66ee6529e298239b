"""Applies a situation to a random site, and states the truth."""

from dataclasses import dataclass
from math import inf

import numpy as np

from holdfast.lab.drills.score import Named, Truth
from holdfast.lab.drills.wide import unseen
from holdfast.lab.drills.wide.conditions import Conditions
from holdfast.lab.drills.wide.laws import CHOOSES, work_moves
from holdfast.lab.drills.wide.site import Floats
from holdfast.model.signal import Event
from holdfast.seams.planned import PlannedWork

REPAIRABLE = ("cooling.", "power.", "fabric.", "pools.", "gpu.", "job.")  # faults that act through their level


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    truths: tuple[Truth, ...] = ()
    needed: tuple[str, ...] = ()
    unmetered: tuple[str, ...] = ()
    tolerated: frozenset[Named] = frozenset()
    planned: tuple[PlannedWork, ...] = ()
    silent: tuple[tuple[tuple[str, ...], float], ...] = ()  # prefixes of subjects, start
    sensor: tuple[str, str, str, float] = ("", "", "", 0.0)  # type of sensor fault, signal, subject, start


class Stager:
    """Writes the effects of one situation into the site's conditions."""

    def __init__(self, conditions: Conditions, lasts: float, kind: str = "") -> None:
        self.conditions, self.site, self.rng = conditions, conditions.site, conditions.site.rng
        self.times, self.lasts = conditions.times, lasts
        own = CHOOSES.get(self.site.family)
        self.start = (own.start(self.rng) if own is not None else float(self.rng.uniform(0.3, 0.5))) * lasts
        self.ramp = float(self.rng.choice([0, 0, 60, 300, 700]))
        # One fault in eight is intermittent.
        self.on, self.off = (60.0, 240.0) if self.rng.random() < 0.12 else (1e12, 0.0)
        self.repaired = own.repaired(self.rng) if own is not None and kind.startswith(REPAIRABLE) else inf

    def level(self, *, steady: bool = False) -> Floats:
        since = self.times - self.start
        own, seed = self.site.laws.own, self.site.seed
        returns = self.on < 1e9
        if own is not None and not returns:
            found = own.shape(self.times, since, self.ramp, seed)
            if own is unseen and unseen.with_load(seed):
                found = found * unseen.loaded(work_moves(self.site.laws, self.times, 0))
        else:
            found = np.clip(since / self.ramp, 0, 1) if self.ramp and not returns else (since >= 0).astype(float)
        if not steady and returns:
            found = found * (own.returns(since, seed) if own is not None else since % (self.on + self.off) < self.on)
        return np.where((since >= 0) & (since < self.repaired), found, 0.0)

    def between(self, low: float, high: float) -> float:
        return float(self.rng.uniform(low, high))

    def period(self, low: float, high: float) -> float:
        """Period of an oscillation, in seconds. In a family of slow meters it is long enough to be read."""
        found, laws = self.between(low, high), self.site.laws
        return max(found, 4 * max(unseen.ranges(laws.seed).cadences)) if laws.own is unseen else found

    def unfelt(self, share: float) -> float:
        """Share of a link's load that lengthens no job's step by more than 1 %."""
        worst = max(work.collective / (work.collective + work.compute) for work in self.site.works)
        return min(share, 0.01 / worst)

    def pick(self, among: int) -> int:
        return int(self.rng.integers(among))

    def work_node(self) -> int:
        return int(self.rng.choice(self.site.works[0].nodes))

    def truth(self, cause: str, kind: str, *accepts: Named) -> Truth:
        return Truth(cause=cause, kind=kind, start=self.start, end=self.start + self.repaired, accepts=accepts)

    def add_event(self, kind: str, subject: str, at: float, text: str = "", **detail: str) -> None:
        self.conditions.events.append(Event(kind=kind, at=at, text=text, subject=subject, detail=detail))


def rack_of_work(s: Stager) -> int:
    return int(s.site.rack_of[s.work_node()])


def cdu_of_work(s: Stager) -> int:
    return int(s.site.cdu_of[rack_of_work(s)])


def cap_rack(s: Stager, rack: int, lost: float) -> None:
    gpus = np.isin(s.site.rack_of[s.site.node_of_gpu], rack)
    level = s.level(steady=True) > 0
    s.conditions.limit[gpus] *= 1 - lost * level
    s.conditions.rack_limit[rack] *= 1 - lost * level

"""The product's pairing and judgement (holdfast.node.probes) again, as NumPy columns: ten thousand trials in minutes.

Nodes are numbers. It is only as good as its agreement: isolation.py judges the first trials of every case with the
product itself, and stops where a single answer differs.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from holdfast.node.probes.isolation import isolation, pairing
from holdfast.node.probes.isolation.isolation import Limits

Column = np.ndarray[Any, np.dtype[Any]]
KINDS = ("node", "pair", "leaf", "uplinks", "trunk", "link")
NODE, PAIR, LEAF, UPLINKS, TRUNK, LINK = range(len(KINDS))


@dataclass(frozen=True, slots=True)
class Layout:
    """`kind` and `name` of a part are numbers; `incidence` tells which measurement runs over which part."""

    order: Column  # nodes as the pairing lays them out
    leaf: Column
    links: Callable[[Column, Column], list[Column]] | None  # with static routes; else leaves are all that is known


def layout(names: list[str], leaves: dict[str, str], links: Callable[[Column, Column], list[Column]] | None) -> Layout:
    number = {name: index for index, name in enumerate(names)}
    laid = pairing._interleaved(tuple((name, leaves[name]) for name in names))
    known = {leaf: index for index, leaf in enumerate(dict.fromkeys(leaves.values()))}
    return Layout(np.array([number[name] for name in laid]), np.array([known[leaves[name]] for name in names]), links)


def learn(logs: Column) -> tuple[float, float]:
    """Centre and spread, trimmed below until nothing more falls away."""
    ordered = np.sort(logs)
    start = 0
    for _ in range(10):
        kept = ordered[start:]
        spread = max(float(kept.std()), isolation.LEAST_SPREAD)
        cut = int(np.searchsorted(ordered, _middle(kept) - 3.0 * spread))
        if cut == start:
            break
        start = cut
    kept = ordered[start:]
    return _middle(kept), max(float(kept.std()), isolation.LEAST_SPREAD)


def _middle(ordered: Column) -> float:
    half = len(ordered) // 2
    return float(ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2)


def doubts(ends: Column, logs: Column) -> tuple[list[int], list[int]]:
    centre, spread = learn(logs)
    rising = np.argsort(logs, kind="stable")
    slow = rising[logs[rising] < centre - isolation.DOUBT_SPREADS * spread]
    doubtful = list(dict.fromkeys(ends[slow].ravel().tolist()))
    known = set(doubtful)
    good = [end for end in dict.fromkeys(ends[rising[::-1]].ravel().tolist()) if end not in known]
    return doubtful, good


def next_round(laid: Layout, number: int, doubtful: list[int], good: list[int], met: set[tuple[int, int]]) -> Column:
    free = np.ones(len(laid.order), dtype=bool)
    chosen: list[tuple[int, int]] = []
    left = list(good)
    for suspect in doubtful:
        pairs = ((place, (min(suspect, partner), max(suspect, partner))) for place, partner in enumerate(left))
        found = next(((place, pair) for place, pair in pairs if pair not in met), None)
        if found is not None:
            chosen.append(found[1])
            free[list(found[1])] = False
            del left[found[0]]
    rest = laid.order[free[laid.order]]
    if len(rest) < 2:
        return np.array(chosen).reshape(-1, 2)
    shift = number % (len(rest) - 1)
    circle = np.concatenate((rest[:1], rest[1 + shift :], rest[1 : 1 + shift]))
    half = len(circle) // 2
    turn = np.stack((circle[:half], circle[half:][::-1]), axis=1)
    return np.concatenate((np.array(chosen, dtype=int).reshape(-1, 2), np.sort(turn, axis=1)))


def suspects(laid: Layout, ends: Column, logs: Column, limits: Limits) -> set[tuple[str, int]]:
    """The confirmed parts, as kind and number."""
    return _Trial(laid, ends, logs, limits).confirmed()


class _Trial:
    def __init__(self, laid: Layout, ends: Column, logs: Column, limits: Limits) -> None:
        centre, self._spread = learn(logs)
        self._limits, self._ends = limits, ends
        self._least = max(1.2 * self._spread, -math.log(1 - limits.least_loss))
        self._shift = np.maximum(logs, centre - 4 * limits.bounded * self._spread) - centre
        part, who = _incidence(laid, ends)
        slow = np.unique(part[(self._shift <= -self._least)[who]])
        kinds = np.bincount(np.unique(part) >> 32, minlength=len(KINDS))
        keep = np.isin(part, slow)
        part, who = part[keep], who[keep]
        order = np.lexsort((self._shift[who], part))
        part, who = part[order], who[order]
        self._parts, starts = np.unique(part, return_index=True)
        ends_at = [*starts[1:].tolist(), len(who)]
        self._users = [who[start:end] for start, end in zip(starts.tolist(), ends_at, strict=True)]
        self._counts = np.diff(np.append(starts, len(who)))
        self._starts, self._who = starts, who
        self._price = np.log(kinds[self._parts >> 32])
        self._scores = self._score_all(starts, who)
        self._explained = np.zeros(len(logs), dtype=bool)

    def _score_all(self, starts: Column, who: Column) -> Column:
        counts, shifts = self._counts, self._shift[who]
        middle = (shifts[starts + (counts - 1) // 2] + shifts[starts + counts // 2]) / 2
        gains = np.add.reduceat(self._misfit(shifts) - self._misfit(shifts - np.repeat(middle, counts)), starts)
        scores: Column = np.where(middle > -self._least, -np.inf, gains) - self._price
        return scores

    def _misfit(self, shift: Column) -> Column:
        far: Column = np.minimum(np.abs(shift) / self._spread, self._limits.bounded)
        return far**2 / 2

    def confirmed(self) -> set[tuple[str, int]]:
        found = set()
        while len(self._scores):
            best = int(np.lexsort((-self._counts, self._scores))[-1])
            if self._scores[best] < self._limits.doubt:
                break
            if self._scores[best] >= math.log(self._limits.odds) and self._holds(best):
                found.add((KINDS[self._parts[best] >> 32], int(self._parts[best] & 0xFFFFFFFF)))
            self._explain(self._users[best])
        return found

    def _explain(self, users: Column) -> None:
        self._explained[users] = True
        now = np.zeros(len(self._shift), dtype=bool)
        now[users] = True
        touched = np.logical_or.reduceat(now[self._who], self._starts)
        for place in np.flatnonzero(touched & (self._scores > -np.inf)):
            left = self._users[place][~self._explained[self._users[place]]]
            self._scores[place] = self._score(left, float(self._price[place])) if len(left) else -np.inf

    def _score(self, users: Column, price: float) -> float:
        shifts = np.sort(self._shift[users])
        middle = _middle(shifts)
        return (
            -math.inf
            if middle > -self._least
            else float((self._misfit(shifts) - self._misfit(shifts - middle)).sum() - price)
        )

    def _holds(self, best: int) -> bool:
        """Slow twice, and with a partner that is fast with somebody else."""
        left = self._users[best][~self._explained[self._users[best]]]
        slow = left[self._shift[left] < _middle(np.sort(self._shift[left])) / 2]
        if len(slow) < 2 or self._parts[best] >> 32 == PAIR:
            return len(slow) >= 2
        others = np.ones(len(self._shift), dtype=bool)
        others[self._users[best]] = False
        fast = self._ends[others & (self._shift > -2 * self._spread)]
        return bool(np.isin(self._ends[slow], fast).any())


def _incidence(laid: Layout, ends: Column) -> tuple[Column, Column]:
    """Parts as kind and number in one number, and the measurement that runs over each."""
    every = np.arange(len(ends))
    columns = [(NODE, ends[:, 0], every), (NODE, ends[:, 1], every), (PAIR, ends[:, 0] * 65536 + ends[:, 1], every)]
    here, there = np.sort(laid.leaf[ends], axis=1).T
    crossing = here != there
    some = every[crossing]
    if laid.links is not None:
        columns += [(LINK, link[crossing], some) for link in laid.links(here, there)]
    else:
        columns += [(LEAF, here, every), (LEAF, there[crossing], some)]
        columns += [(UPLINKS, leaf[crossing], some) for leaf in (here, there)]
        columns += [(TRUNK, (here * 65536 + there)[crossing], some)]
    part = np.concatenate([(kind << 32) + name.astype(np.int64) for kind, name, _ in columns])
    return part, np.concatenate([who for _, _, who in columns])

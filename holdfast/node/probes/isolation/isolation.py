"""Isolation: the part that explains the slow pairs: a node, link, leaf, rail, trunk, or none. Pure.

Every measured pair uses some parts. A part is suspected by how much better the measurements fit if it is slow than if
nothing is; fast pairs that use it are evidence against it. Measurements that one part explains are removed before the
next is searched, so two faults give two suspects, and their victims give none.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import count
from statistics import fmean, median

from holdfast.node.probes.isolation.pairing import Pair, pair

Parts = Callable[[str, str], Iterable[str]]
"""From the two hosts of a measurement to the parts between them. A host is `h1#2` if only its rail 2 was measured."""


@dataclass(frozen=True, slots=True)
class Measured:
    """Result of a pair. `rail` is set if every rail was measured separately."""

    one: str
    other: str
    bytes_per_second: float
    rail: str = ""


@dataclass(frozen=True, slots=True)
class PairBaseline:
    """Speed of a healthy pair, as a logarithm, and the spread of healthy pairs."""

    centre: float
    spread: float
    least_shift: float = 0.0  # log of bandwidth; a pair this close to the centre is never slow


@dataclass(frozen=True, slots=True)
class SuspectPart:
    part: str
    loss: float  # lost share of the bandwidth
    confidence: float
    slow: int
    measured: int
    evidence: tuple[Pair, ...]
    confirmed: bool  # slow again, with another known-good partner (a pair: slow twice)
    # larger parts without other measurements, which may be the cause too
    same_as: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    least_loss: float = 0.10  # smaller losses are not called a fault
    bounded: float = 6.0  # a measurement counts as at most this many spreads below the centre
    odds: float = 1000.0  # required odds against 'no fault', divided among all parts
    doubt: float = 3.0  # from here on a part is measured again


OWN_KINDS = ("node", "pair", "rail")  # parts that were measured directly; other parts are shared
LEAST_SPREAD = 0.05
DOUBT_SPREADS = 1.2
FEW = 24
FEW_HOSTS = 8
TWICE = math.log(2.0)  # log of bandwidth; the median of healthy pairs is closer than this to the fastest
SAME_AS_ITS_RAILS = 0.5  # share of the score of its slowest rail; a node with a single slow rail has far less
REPEATS_DIFFER = 2.0  # the spread of pairs is at least this many spreads of repeats: pairs differ more than repeats
LEAST_OF_REPEATS = 0.2  # log of bandwidth; least spread from repeats, because a few may agree by chance
SPREAD_OF_FEW = 0.5  # healthy pairs differ by a factor of two from run to run, by three on a busy host


def learn(measured: Sequence[Measured], least_spread: float = LEAST_SPREAD) -> PairBaseline:
    """The baseline, trimmed iteratively at the slow end, because faults only slow down.

    With few hosts, most pairs may be slow (a trunk between two halves). Then the fastest pairs count, and the spread is
    that of repeated measurements, with a minimum.
    """
    logs = sorted(_logs(measured))
    if not logs:
        return PairBaseline(0.0, least_spread)
    fastest = median(logs[-max(1, len(logs) // 4) :])
    if len(logs) < FEW or (few_hosts(measured) and fastest - median(logs) > TWICE):
        spread = max(least_spread, SPREAD_OF_FEW, _spread_of_repeats(measured))
        return PairBaseline(fastest, spread, 2.0 * spread)
    kept, most = logs, _most_spread(measured)
    while True:
        centre, spread = median(kept), max(min(_deviation(kept), most), least_spread)
        trimmed = [one for one in kept if centre - 3.0 * spread <= one]
        if trimmed == kept:
            break
        kept = trimmed
    spread = max(_deviation(kept), least_spread)
    return PairBaseline(median(kept), spread, 1.2 * spread)


def deviation(measured: Sequence[Measured]) -> float:
    """Spread of all measurements, including the slowest."""
    logs = _logs(measured)
    return _deviation(logs) if logs else 0.0


def _logs(measured: Sequence[Measured]) -> list[float]:
    return [math.log(one.bytes_per_second) for one in measured if one.bytes_per_second > 0]


def few_hosts(measured: Sequence[Measured]) -> bool:
    """Whether so few pairs meet that a busy moment of one host affects a large share of them."""
    exchanges = len(measured) / len({one.rail for one in measured})
    return exchanges <= FEW_HOSTS**2 and len({end for one in measured for end in (one.one, one.other)}) <= FEW_HOSTS


def _spread_of_repeats(measured: Sequence[Measured]) -> float:
    repeats: dict[tuple[Pair, str], list[float]] = defaultdict(list)
    for one in measured:
        if one.bytes_per_second > 0:
            repeats[pair(one.one, one.other), one.rail].append(math.log(one.bytes_per_second))
    squares = [_deviation(logs) ** 2 * len(logs) / (len(logs) - 1) for logs in repeats.values() if len(logs) > 1]
    return math.sqrt(fmean(squares)) if squares else 0.0


def _most_spread(measured: Sequence[Measured]) -> float:
    """Measurements of the pair with the largest spread. On several rails a slow pair has many equal measurements; it
    must not count as usual."""
    if not any(one.rail for one in measured):
        return math.inf
    return REPEATS_DIFFER * max(_spread_of_repeats(measured), LEAST_OF_REPEATS)


def _deviation(values: Sequence[float]) -> float:
    centre = fmean(values)
    return math.sqrt(fmean([(value - centre) ** 2 for value in values]))


def doubts(measured: Sequence[Measured], baseline: PairBaseline) -> tuple[list[str], list[str]]:
    """Nodes that should meet a trusted node next, slowest first, and the trusted nodes, fastest first."""
    low = baseline.centre - DOUBT_SPREADS * baseline.spread
    by_rate = sorted(measured, key=lambda one: one.bytes_per_second)
    doubtful: dict[str, None] = {}
    for one in by_rate:
        if one.bytes_per_second <= 0 or math.log(one.bytes_per_second) < low:
            doubtful |= dict.fromkeys((one.one, one.other))
    good = dict.fromkeys(end for one in reversed(by_rate) for end in (one.one, one.other) if end not in doubtful)
    return list(doubtful), list(good)


def suspects(
    measured: Sequence[Measured], parts: Parts, baseline: PairBaseline, limits: Limits | None = None
) -> list[SuspectPart]:
    """The faulty parts, most certain first, followed by possible ones that need another measurement."""
    return _Trial(measured, parts, baseline, limits or Limits()).verdict()


class _Trial:
    def __init__(self, measured: Sequence[Measured], parts: Parts, baseline: PairBaseline, limits: Limits) -> None:
        self._limits, self._spread = limits, baseline.spread
        self._shift = [_shift(one, baseline, limits) for one in measured]
        self._least = max(baseline.least_shift, -math.log(1 - limits.least_loss))
        self._pairs = [pair(one.one, one.other) for one in measured]
        self._moments = _moments(measured)
        over = [uses(one, parts) for one in measured]
        slow = set().union(*(over[index] for index, shift in enumerate(self._shift) if shift <= -self._least))
        self._users: dict[str, list[int]] = {part: [] for part in sorted(slow)}
        for index, used in enumerate(over):
            for part in used & slow:
                self._users[part].append(index)
        self._kinds = Counter(part.partition("/")[0] for part in set().union(*over)) if slow else Counter()
        self._explained: set[int] = set()
        self._scores = {part: self._score(part, users) for part, users in self._users.items()}

    def verdict(self) -> list[SuspectPart]:
        found: list[SuspectPart] = []
        while True:
            part = max(self._scores, key=self._preference, default=None)
            if part is None or self._scores[part] < self._limits.doubt:
                return found
            part = self._worst_within(self._least_claim(self._whole(part)))
            found.append(self._suspect(part, self._scores[part]))
            self._explain(set(self._users[part]))

    def _preference(self, part: str) -> tuple[float, bool]:
        """Order of equivalent parts: the smallest part first. A rail was measured directly, a leaf was not."""
        return round(self._scores[part], 6), part.startswith("rail/")

    def _whole(self, part: str) -> str:
        """The node, if all of its rails are slow: then each of them has the same evidence."""
        whole = part.partition("/rail/")[0]
        return whole if self._scores[whole] >= SAME_AS_ITS_RAILS * self._scores[part] else part

    def _least_claim(self, part: str) -> str:
        """The node, if a shared part was measured with this node alone, because its other hosts could not take part:
        the evidence is about no more than the node."""
        if part.partition("/")[0] in OWN_KINDS:
            return part
        users = self._left(part)
        nodes = [name for name in self._users if _is_node(name) and self._left(name) == users]
        return nodes[0] if len(nodes) == 1 else part

    def _worst_within(self, part: str) -> str:
        """The node, if its measurements are slower than all others over a shared part by more than the spread of
        healthy ones. A slow leaf or trunk slows all its users equally, so this node itself is slow."""
        if part.partition("/")[0] in OWN_KINDS:
            return part
        users = self._left(part)
        certain = math.log(self._limits.odds)
        for node in (one for one in self._users if _is_node(one) and self._scores[one] >= certain):
            own = self._left(node)
            rest = users - own
            low = min((self._shift[index] for index in rest), default=-math.inf) - self._spread
            if own <= users and max(self._shift[index] for index in own) < low:
                return node
        return part

    def _left(self, part: str) -> set[int]:
        return set(self._users[part]) - self._explained

    def _explain(self, users: set[int]) -> None:
        """Removes the measurements that a part explains; only parts that shared them are scored again."""
        self._explained |= users
        for part, score in self._scores.items():
            if score > -math.inf and not users.isdisjoint(self._users[part]):
                left = [index for index in self._users[part] if index not in self._explained]
                self._scores[part] = self._score(part, left) if left else -math.inf

    def _score(self, part: str, users: Sequence[int]) -> float:
        """Log odds against no fault, minus a penalty for the number of candidate parts."""
        shift = self._common_shift(users)
        if shift > -self._least:
            return -math.inf
        together = Counter(self._moments[i] for i in users)
        gains = (
            (self._misfit(self._shift[i]) - self._misfit(self._shift[i] - shift)) / together[self._moments[i]]
            for i in users
        )
        return sum(gains) - math.log(self._kinds[part.partition("/")[0]])

    def _common_shift(self, users: Sequence[int]) -> float:
        return median(self._shift[index] for index in users)

    def _misfit(self, shift: float) -> float:
        return min(abs(shift) / self._spread, self._limits.bounded) ** 2 / 2

    def _suspect(self, part: str, score: float) -> SuspectPart:
        users = [index for index in self._users[part] if index not in self._explained]
        shift = self._common_shift(users)
        slow = [index for index in users if self._shift[index] < shift / 2]
        certain = score >= math.log(self._limits.odds)
        return SuspectPart(
            part=part,
            loss=1 - math.exp(shift),
            confidence=1 / (1 + math.exp(-score)),
            slow=len(slow),
            measured=len(users),
            evidence=tuple(dict.fromkeys(self._pairs[index] for index in sorted(slow, key=lambda i: self._shift[i]))),
            confirmed=certain
            and len({self._moments[index] for index in slow}) >= 2
            and (part.startswith("pair/") or self._with_someone_good(part, slow)),
            same_as=tuple(self._shared_with(part)) if _is_node(part) else (),
        )

    def _shared_with(self, node: str) -> Iterable[str]:
        users = self._left(node)
        return (part for part in self._users if part.partition("/")[0] not in OWN_KINDS and self._left(part) == users)

    def _with_someone_good(self, part: str, slow: Sequence[int]) -> bool:
        """Suspects with at least one partner that is fast with others: two bad nodes together prove nothing about
        either."""
        ends = {end for index in slow for end in self._pairs[index]}
        suspect_users = set(self._users[part])
        fast = {
            end
            for index, names in enumerate(self._pairs)
            if index not in suspect_users and self._shift[index] > -2 * self._spread
            for end in names
        }
        return bool(ends & fast)


def _is_node(part: str) -> bool:
    return part.startswith("node/") and "/rail/" not in part


def _moments(measured: Sequence[Measured]) -> list[tuple[Pair, int]]:
    """Groups measurements by time: a pair meets on all of its rails at once, and perhaps again. Other load on a host
    at that moment slows all of its rails, so together they count once."""
    earlier: dict[tuple[Pair, str], Iterator[int]] = defaultdict(count)
    pairs = [(pair(one.one, one.other), one.rail) for one in measured]
    return [(both, next(earlier[both, rail])) for both, rail in pairs]


def _shift(one: Measured, baseline: PairBaseline, limits: Limits) -> float:
    floor = baseline.centre - 4 * limits.bounded * baseline.spread
    rate = math.log(one.bytes_per_second) if one.bytes_per_second > 0 else floor
    return max(rate, floor) - baseline.centre


def uses(one: Measured, parts: Parts) -> set[str]:
    """All parts that a measurement used."""
    return {*parts(_place(one.one, one.rail), _place(one.other, one.rail)), *_own_parts(one)}


def _place(name: str, rail: str) -> str:
    return f"{name}#{rail}" if rail else name


def _own_parts(one: Measured) -> tuple[str, ...]:
    here, there = pair(one.one, one.other)
    own = (f"node/{here}", f"node/{there}", f"pair/{here}+{there}")
    if not one.rail:
        return own
    return (*own, f"node/{here}/rail/{one.rail}", f"node/{there}/rail/{one.rail}", f"rail/{one.rail}")


def leaf_parts(leaves: Mapping[str, str]) -> Parts:
    """Parts of a pair if only leaves are known: its leaves, the uplinks of each, the trunk between the two.

    Under adaptive routing pairs can only identify the two leaves; the switch counters identify the link.
    """

    def parts(one: str, other: str) -> Iterable[str]:
        return between(leaf(one), leaf(other))

    def leaf(place: str) -> str:
        return leaves.get(place) or leaves.get(place.partition("#")[0], "")

    return parts


@lru_cache(maxsize=65536)
def between(here: str, there: str) -> tuple[str, ...]:
    """Parts between two leaves without a known route."""
    if not here or not there:
        return ()
    if here == there:
        return (f"leaf/{here}",)
    trunk = f"trunk/{'+'.join(sorted((here, there)))}"
    return (f"leaf/{here}", f"leaf/{there}", f"uplinks/{here}", f"uplinks/{there}", trunk)

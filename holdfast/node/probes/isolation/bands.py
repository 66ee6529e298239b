"""Hosts and pairs against their peers in every band: packet loss, frame size, bandwidth, latency and its tail. Pure.

No catalogued fabric is needed: the reference is what the other pairs of the same run reached. Loss and frames that
never arrive are exceptions: they are faults in any case.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean, median

from holdfast.node.probes.isolation import isolation
from holdfast.node.probes.isolation.isolation import Limits, Measured, PairBaseline, Parts, SuspectPart
from holdfast.node.probes.isolation.pairing import Pair, pair

MUCH_WAITED = 0.1  # share of the time of small exchanges of a usual pair
TAIL_SHARE = 0.01  # share of long exchanges: a loss of one packet in a hundred causes about this many
SMALL_PAYLOAD_SESSIONS = 3  # each of two may be a busy moment: small payloads alone do not identify a single pair
LARGE_BYTES = 1 << 20  # smaller exchanges take latency and CPU time rather than bandwidth
LEAST_LOST = 0.002  # a smaller share of lost datagrams may be zero loss
ENOUGH_SMALL = 0.5  # small datagrams that must arrive before the large ones count
PACKET_LOSS, FRAME_SIZE, BANDWIDTH, LATENCY, TAIL = (
    "packet loss",
    "MTU mismatch",
    "bandwidth",
    "latency",
    "tail latency",
)
# factor for a single pair: its variation is unknown, and healthy pairs differ by three on a busy host
ONE_PAIR_APART = 6.0
FEW_PAIRS, FEW_PAIRS_APART = 3, 4.0  # of so few pairs the spread is hardly known either
CPUS_DECIDE_APART = 2.0  # deviations: with short CPUs, each host gets another share for the whole run
NOT_BUSY = 0.1  # share of the time without a CPU
MUCH_BUSIER = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PairExchange:
    """Results of two hosts in one session, on one rail."""

    one: str
    other: str
    rail: str = ""
    bytes_per_second: Mapping[int, float] = field(default_factory=dict)  # by payload size, of the usual try
    best_bytes_per_second: Mapping[int, float] = field(default_factory=dict)  # of the fastest try
    latencies: tuple[float, ...] = ()  # seconds of each small exchange
    waits: tuple[float, ...] = ()  # number of exchanges in which an end had no CPU

    def rate(self, size: int, *, best: bool) -> float:
        """Rate of the usual try; with short CPUs that of the fastest, because a busy host slows some tries and a
        slow link all of them."""
        usual = self.bytes_per_second[size]
        return self.best_bytes_per_second.get(size, usual) if best else usual

    @property
    def without_waits(self) -> tuple[float, ...]:
        """Time that the fabric may be blamed for: at least that of the fastest exchange."""
        if not self.waits:
            return self.latencies
        least = min(self.latencies)
        return tuple(max(least, took - waited) for took, waited in zip(self.latencies, self.waits, strict=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class Datagrams:
    """Datagrams that one host sent to another, those that arrived, and those echoed."""

    sender: str
    receiver: str
    rail: str = ""
    round: int = 1
    sent: int
    arrived: int
    echoed: int
    full_sent: int = 0
    full_arrived: int = 0
    mtu: int = 0

    @property
    def lost(self) -> float:
        return 1.0 - self.echoed / self.sent if self.sent else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """Reference of a band, and its origin."""

    band: str
    typical: float
    unit: str
    measured: int
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """A faulty part, in the first band that shows it; other bands may add evidence."""

    suspect: SuspectPart
    band: str
    evidence: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Band:
    name: str
    unit: str
    measured: Sequence[Measured]  # larger is better
    baseline: PairBaseline
    limits: Limits
    text: Callable[[float], str]  # share of the measured value
    source: str
    least_slow: int = 2  # sessions that must show it
    apart: float = 1.0  # deviations between the named part and the others, if noise decides too
    by_rng: bool = False  # CPU scheduling decides too, or so few pairs were measured that one moment matters
    own: Callable[[Sequence[float]], float] = max  # the measurement over a part that must be worse than the others

    @property
    def reference(self) -> Reference:
        typical = math.exp(self.baseline.centre)
        value = typical if self.unit == "bytes_per_second" else 1.0 / typical
        return Reference(band=self.name, typical=value, unit=self.unit, measured=len(self.measured), source=self.source)


def judge(
    exchanges: Sequence[PairExchange], datagrams: Sequence[Datagrams], parts: Parts
) -> tuple[list[Named], list[Reference]]:
    """The faulty parts, each once, and the references.

    Measurements that one band explains do not count against other parts in the next band: a lossy node is also slow,
    and must not make its leaf look slow.
    """
    named: dict[str, Named] = {}
    found_bands = _bands(exchanges, datagrams)
    for band in found_bands:
        for suspect in _confirmed(band, band.measured, parts):
            if known := named.get(suspect.part):
                evidence = (*known.evidence, _evidence(suspect, band)[0])
                named[suspect.part] = Named(suspect=known.suspect, band=known.band, evidence=evidence)
        rest = [one for one in band.measured if named.keys().isdisjoint(isolation.uses(one, parts))]
        for suspect in _confirmed(band, rest, parts):
            named[suspect.part] = Named(suspect=suspect, band=band.name, evidence=_evidence(suspect, band))
    return list(named.values()), [band.reference for band in found_bands]


def _confirmed(band: _Band, measured: Sequence[Measured], parts: Parts) -> list[SuspectPart]:
    found = isolation.suspects(measured, parts, band.baseline, band.limits)
    sure = [one for one in found if one.confirmed and one.slow >= band.least_slow]
    return [one for one in sure if not band.by_rng or _stands_apart(one, sure, band, measured, parts)]


def _stands_apart(
    suspect: SuspectPart, others: Sequence[SuspectPart], band: _Band, measured: Sequence[Measured], parts: Parts
) -> bool:
    """Whether a part differs clearly from the others under noise.

    A slow usual measurement over a part is not enough: a busy moment slows a few pairs in a row, which may share a
    part. Each pair over it must be worse than nearly all others, by more than the spread of one kind of pairs, because
    a host with less CPU is no slow link. Of tails the usual pair decides: a few long exchanges are in most sessions
    over a faulty part and in some of all others, whether or not a CPU was short.
    """
    named = {one.part for one in others}
    used = [(one, isolation.uses(one, parts)) for one in measured]
    own = [one for one, users in used if named & users == {suspect.part}]
    over = own or [one for one, users in used if suspect.part in users]
    peers = sorted((one for one, users in used if named.isdisjoint(users)), key=lambda one: one.bytes_per_second)
    if not peers:
        return False
    best, low = band.own([one.bytes_per_second for one in over]), peers[len(peers) // 10].bytes_per_second
    pairs_left = len({pair(one.one, one.other) for one in peers})
    if pairs_left == 1:
        return band.name != TAIL and best * ONE_PAIR_APART < low
    apart = max(isolation.deviation(_best_of_each(over)), isolation.deviation(_best_of_each(peers)))
    return best * max(math.exp(band.apart * apart), FEW_PAIRS_APART if pairs_left <= FEW_PAIRS else 1.0) < low


def _bands(exchanges: Sequence[PairExchange], datagrams: Sequence[Datagrams]) -> list[_Band]:
    found = [_loss(datagrams), _frames(datagrams)]
    timed = [one for one in exchanges if one.latencies]
    noisy = _cpus_decide(timed)
    for size in sorted({size for one in exchanges for size in one.bytes_per_second}, reverse=True):
        rates = [
            Measured(one.one, one.other, one.rate(size, best=noisy), one.rail)
            for one in exchanges
            if size in one.bytes_per_second
        ]
        spread, limits = (0.05, Limits()) if size >= LARGE_BYTES else (0.4, Limits(least_loss=0.6))
        rates = rates if size >= LARGE_BYTES and not noisy else _best_of_each(rates)
        band = _learned(f"{BANDWIDTH} at {_size(size)}", rates, spread, limits, _rate, "bytes_per_second")
        found.append(replace(band, by_rng=band.by_rng or noisy, apart=CPUS_DECIDE_APART if noisy else 1.0))
    usual = _best_of_each([Measured(one.one, one.other, 1.0 / median(one.latencies), one.rail) for one in timed])
    # smaller payloads depend on CPUs and not on the fabric
    floor = median([tail(one.waits) for one in timed if one.waits] or [0.0])
    tails = [Measured(one.one, one.other, 1.0 / max(floor, tail(one.without_waits)), one.rail) for one in timed]
    found.append(_learned(LATENCY, usual, 0.3, Limits(least_loss=0.6), _seconds, "seconds"))
    found.append(_learned(TAIL, tails, 0.7, Limits(least_loss=0.875), _seconds, "seconds"))
    return [band for band in found if band.measured]


def _cpus_decide(timed: Sequence[PairExchange]) -> bool:
    """Whether hosts wait for CPUs so long that even large exchanges depend on it."""
    shares = [sum(one.waits) / max(sum(one.latencies), 1e-9) for one in timed if one.waits]
    return bool(shares) and median(shares) >= MUCH_WAITED


def _best_of_each(measured: Sequence[Measured]) -> list[Measured]:
    """The better time of each repeated pair: a busy CPU only slows an exchange, and a fault shows twice."""
    best: dict[tuple[Pair, str], Measured] = {}
    for one in measured:
        key = pair(one.one, one.other), one.rail
        if key not in best or one.bytes_per_second > best[key].bytes_per_second:
            best[key] = one
    return list(best.values())


def tail(latencies: Sequence[float]) -> float:
    """Mean of the slowest hundredth, at least two values, because a single one may be anything."""
    count = max(2, round(TAIL_SHARE * len(latencies)))
    return fmean(sorted(latencies)[-count:])


def _learned(
    name: str, measured: Sequence[Measured], spread: float, limits: Limits, text: Callable[[float], str], unit: str
) -> _Band:
    return _Band(
        name=name,
        unit=unit,
        measured=measured,
        baseline=isolation.learn(measured, spread),
        limits=limits,
        text=text,
        source="the other pairs of this run",
        least_slow=2 if spread <= isolation.LEAST_SPREAD else SMALL_PAYLOAD_SESSIONS,
        own=median if name == TAIL else max,
        by_rng=name in (LATENCY, TAIL)
        or (name.startswith(BANDWIDTH) and (spread > isolation.LEAST_SPREAD or isolation.few_hosts(measured))),
    )


def _loss(datagrams: Sequence[Datagrams]) -> _Band:
    """Compares loss with zero. A host that no datagram reaches is left out, because a packet filter may drop them."""
    measured = [
        Measured(*ends, 1.0 / (fmean(one.lost for one in ways) + LEAST_LOST), rail)
        for ends, rail, ways in _both_ways([one for one in datagrams if one.echoed])
    ]
    return _Band(
        name=PACKET_LOSS,
        unit="ratio",
        measured=measured,
        baseline=PairBaseline(math.log(1.0 / LEAST_LOST), 0.5, 1.0),
        limits=Limits(),
        text=lambda value: f"{100 * (1.0 / value - LEAST_LOST):.1f} % of the datagrams lost",
        source="no datagram may be lost",
    )


def _frames(datagrams: Sequence[Datagrams]) -> _Band:
    known = [one for one in datagrams if one.full_sent and one.arrived >= ENOUGH_SMALL * one.sent]
    measured = [
        Measured(*ends, 1.0 if all(one.full_arrived for one in ways) else 0.0, rail)
        for ends, rail, ways in _both_ways(known)
    ]
    return _Band(
        name=FRAME_SIZE,
        unit="ratio",
        measured=measured,
        baseline=PairBaseline(0.0, 0.5, 1.0),
        limits=Limits(),
        text=lambda value: "full-size frames arrive" if value else "small frames arrive, full-size frames never do",
        source="a full-size frame must arrive",
    )


def _both_ways(datagrams: Sequence[Datagrams]) -> list[tuple[Pair, str, list[Datagrams]]]:
    """Each pair once per round: both directions were measured at the same time."""
    found: dict[tuple[Pair, str, int], list[Datagrams]] = defaultdict(list)
    for one in datagrams:
        found[pair(one.sender, one.receiver), one.rail, one.round].append(one)
    return [(ends, rail, ways) for (ends, rail, _), ways in found.items()]


def _evidence(suspect: SuspectPart, band: _Band) -> tuple[str, ...]:
    worse = f"{100 * suspect.loss:.0f} % below the others" if band.unit == "bytes_per_second" else ""
    if band.unit == "seconds":
        worse = f"{1.0 / (1.0 - suspect.loss):.1f} times as long as the others"
    lines = [", ".join(filter(None, (f"{suspect.slow} of {suspect.measured} measurements over it are slow", worse)))]
    if not worse:
        lines = [f"{suspect.slow} of {suspect.measured} measurements over it show it"]
    _, _, rail = suspect.part.rpartition("rail/")
    for one, other in suspect.evidence[:4]:
        values = [
            m.bytes_per_second
            for m in band.measured
            if {m.one, m.other} == {one, other} and ("rail/" not in suspect.part or m.rail == rail)
        ]
        lines.append(f"{one} with {other}: {band.text(median(values))}")
    return (f"{band.name}: {lines[0]}", *lines[1:])


def mtu_differs(datagrams: Sequence[Datagrams]) -> dict[str, tuple[int, int]]:
    """Hosts whose interface has another MTU than most, with both values. None if there is no majority."""
    own = {one.sender: one.mtu for one in datagrams if one.mtu}
    counted = Counter(own.values()).most_common(2)
    if len(counted) < 2 or counted[0][1] == counted[1][1]:
        return {}
    return {host: (mtu, counted[0][0]) for host, mtu in own.items() if mtu != counted[0][0]}


def loss_directions(host: str, datagrams: Sequence[Datagrams]) -> tuple[float, float]:
    """Shares lost on the way from and to a host, over all its partners."""
    out = [one for one in datagrams if one.sender == host and one.echoed]
    into = [one for one in datagrams if one.receiver == host and one.echoed]
    sending = [1 - one.arrived / one.sent for one in out] + [1 - one.echoed / max(1, one.arrived) for one in into]
    receiving = [1 - one.arrived / one.sent for one in into] + [1 - one.echoed / max(1, one.arrived) for one in out]
    return (fmean(sending) if sending else 0.0, fmean(receiving) if receiving else 0.0)


def busy_hosts(cpu_wait: Mapping[str, float]) -> dict[str, tuple[float, float]]:
    """Hosts whose worker waited for a CPU far longer than the others, with both shares."""
    usual = median(cpu_wait.values()) if cpu_wait else 0.0
    return {host: (share, usual) for host, share in cpu_wait.items() if share >= max(NOT_BUSY, MUCH_BUSIER * usual)}


def _size(size: int) -> str:
    for unit, factor in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size >= factor and size % factor == 0:
            return f"{size // factor} {unit}"
    return f"{size} B"


def _rate(value: float) -> str:
    return f"{value / 1e6:.1f} MB/s"


def _seconds(value: float) -> str:
    return f"{1e3 / value:.2f} ms"

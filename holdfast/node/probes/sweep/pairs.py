"""Pairs of hosts per rail: their results, and the hosts that could not take part."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from holdfast.node.probes.isolation import isolation
from holdfast.node.probes.isolation.bands import Datagrams, PairExchange, tail
from holdfast.node.probes.isolation.hosts import slot_name
from holdfast.node.probes.isolation.isolation import FEW_HOSTS, Measured
from holdfast.node.probes.isolation.pairing import Pair, every_pair, next_round, pair
from holdfast.node.probes.sweep import datagrams
from holdfast.node.probes.sweep.crew import Crew

ROUNDS = 3  # with more than a few hosts
VAIN_PARTNERS = 2  # failed partners, without a successful one, after which the fault is the host's own

Notify = Callable[[str], None]


@dataclass(slots=True)
class Pairs:
    """`slots`: number of ranks per host. The first rank of one host is paired with the first of the other, and so
    on."""

    crew: Crew
    command: Mapping[str, Any]
    timeout: float
    slots: Mapping[str, int]
    rows: list[dict[str, Any]] = field(default_factory=list)
    measured: list[Measured] = field(default_factory=list)
    errors_by_host: dict[str, str] = field(default_factory=dict)  # the host's last error
    datagrams: list[Datagrams] = field(default_factory=list)
    exchanges: list[PairExchange] = field(default_factory=list)
    cpu_wait: defaultdict[str, list[float]] = field(default_factory=lambda: defaultdict(list))  # one share per session
    wrong: list[tuple[str, str, tuple[str, ...]]] = field(default_factory=list)  # a pair and the slots that were wrong

    def meet(self, names: Sequence[str], leaves: Mapping[str, str], notify: Notify) -> None:
        for number in range(2 if len(names) <= FEW_HOSTS else ROUNDS):
            for batch in self._batches(names, number, leaves):
                notify(f"round {number + 1}: {' '.join('+'.join(one) for one in batch[:4])}")
                self.measure(batch, number + 1)
                self._note_unable(names)

    def _batches(self, names: Sequence[str], number: int, leaves: Mapping[str, str]) -> list[list[Pair]]:
        """Pairs that run at the same time. With few hosts, each pair is measured alone, so that none disturbs
        another."""
        if len(names) <= FEW_HOSTS:
            return [[one] for pairs in every_pair(names) for one in pairs]
        doubtful, good = isolation.doubts(self.measured, isolation.learn(self.measured))
        met = {pair(one.one, one.other) for one in self.measured}
        return [next_round(names, number, leaves=leaves, suspects=doubtful, trusted=good, met=met)]

    def measure(self, batch: Sequence[Pair], number: int) -> None:
        able = [one for one in batch if not any(self.crew.workers[name].trouble for name in one)]
        begun = []
        for one, other in able:
            for rail in range(min(self.slots[one], self.slots[other])):
                ends = (slot_name(one, rail), slot_name(other, rail))
                self.crew.begin(ends, dict(self.command))
                begun.append((one, other, rail, ends))
        for one, other, rail, ends in begun:
            self._take(one, other, rail, number, self.crew.finish(ends, self.timeout))

    def _take(self, one: str, other: str, rail: int, number: int, answers: Sequence[Mapping[str, Any]]) -> None:
        railed = {"rail": rail} if self.slots[one] > 1 else {}
        size = int(self.command["sizes"][-1])
        row: dict[str, Any] = {"one": one, "other": other, **railed, "round": number, "bytes": size}
        errors = {end: str(a["error"]) for end, a in zip((one, other), answers, strict=True) if "error" in a}
        if errors:
            self.errors_by_host |= errors
            self.rows.append({**row, "error": next(iter(errors.values()))})
            return
        exchange = self._exchange_of(one, other, str(rail) if railed else "", answers)
        self.exchanges.append(exchange)
        reached = max(exchange.bytes_per_second)  # the largest payload that fitted into the time
        rate = exchange.bytes_per_second[reached]
        self.measured.append(Measured(one, other, rate, exchange.rail))
        correct = not any(line["wrong"] for answer in answers for line in answer["rows"])
        self.rows.append({**row, "bytes": reached, "bytes_per_second": rate, "correct": correct, **_timed(exchange)})
        if not correct:
            ends = (slot_name(one, rail), slot_name(other, rail))
            ranks = {rank for answer in answers for line in answer["rows"] for rank in line.get("wrong_ranks", ())}
            self.wrong.append((one, other, tuple(ends[rank] for rank in sorted(ranks))))

    def _exchange_of(self, one: str, other: str, rail: str, answers: Sequence[Mapping[str, Any]]) -> PairExchange:
        """The result of the slower end: an exchange ends when both ends are done."""
        sizes = {
            int(lines[0]["bytes"]): [line["seconds"] for line in lines]
            for lines in zip(*(answer["rows"] for answer in answers), strict=False)
        }
        rates = {size: size / max(median(seconds) for seconds in ends) for size, ends in sizes.items()}
        best = {size: size / min(map(max, zip(*ends, strict=False))) for size, ends in sizes.items()}
        timed = list(zip(*(answer.get("latencies", ()) for answer in answers), strict=False))
        for name, answer in zip((one, other), answers, strict=True):
            self.cpu_wait[name].append(float(answer.get("cpu_wait_ratio", 0.0)))
        return PairExchange(
            one=one,
            other=other,
            rail=rail,
            bytes_per_second=rates,
            best_bytes_per_second=best,
            latencies=tuple(max(seconds for seconds, _ in both) for both in timed),
            waits=tuple(sum(waited for _, waited in both) for both in timed),
        )

    def exchange_datagrams(self, names: Sequence[str], leaves: Mapping[str, str], notify: Notify) -> None:
        """Runs before large transfers: which hosts lose datagrams or cannot pass full-size frames. With few hosts
        twice for every pair, else each host with one partner per round."""
        for number in range(2 if len(names) <= FEW_HOSTS else ROUNDS):
            few = len(names) <= FEW_HOSTS
            batch = (
                [one for row in every_pair(names) for one in row] if few else next_round(names, number, leaves=leaves)
            )
            notify(f"datagrams, round {number + 1}")
            for one, other in batch:
                for rail in range(min(self.slots[one], self.slots[other])):
                    self._send_datagrams(one, other, rail, number + 1)

    def _send_datagrams(self, one: str, other: str, rail: int, number: int) -> None:
        for sender, receiver in ((one, other), (other, one)):
            here, there = slot_name(sender, rail), slot_name(receiver, rail)
            if self.crew.workers[sender].trouble or self.crew.workers[receiver].trouble:
                continue
            own, to, key = self.crew.address_of(here), self.crew.address_of(there), datagrams.new_key()
            opened = self.crew.request(there, {"do": "echo", "address": to, "peer": own, "key": key}, self.timeout)
            if "port" not in opened:
                continue  # it cannot echo, so nothing is measured or reported
            command = {"do": "datagrams", "address": own, "to": to, "port": opened["port"], "key": key}
            found = self.crew.request(here, command, self.timeout)
            if "small" in found:
                small, full = found["small"], found["full"]
                self.datagrams.append(
                    Datagrams(
                        sender=sender,
                        receiver=receiver,
                        rail=str(rail) if self.slots[one] > 1 else "",
                        round=number,
                        sent=small["sent"],
                        arrived=small["arrived"],
                        echoed=small["echoed"],
                        full_sent=full["sent"],
                        full_arrived=full["arrived"],
                        mtu=found["mtu"],
                    )
                )

    def _note_unable(self, names: Sequence[str]) -> None:
        """Marks a host that could exchange with none of its partners, while these could exchange with others. It is
        not waited for again, and its partners are not suspected."""
        able = {end for one in self.measured for end in (one.one, one.other)}
        for name in names:
            vain = {one: why for one, why in self.in_vain(name).items() if one in able}
            if name not in able and len(vain) >= VAIN_PARTNERS and not self.crew.workers[name].trouble:
                why = self.errors_by_host.get(name) or next(iter(vain.values()))
                self.crew.workers[name].trouble = f"set-up failed: {why}"

    def in_vain(self, name: str) -> dict[str, str]:
        """Failed partners of a host, with the reasons."""
        failed = [row for row in self.rows if "error" in row and name in (row["one"], row["other"])]
        return {str(row["other"] if row["one"] == name else row["one"]): str(row["error"]) for row in failed}


def _timed(exchange: PairExchange) -> dict[str, float]:
    if not exchange.latencies:
        return {}
    return {"latency_seconds": median(exchange.latencies), "tail_seconds": tail(exchange.without_waits)}

"""A multi-node probe from start to end: the sweep over all hosts, the pairs, and the blamed part."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from statistics import median
from typing import Any

from holdfast.formats.nccl.tests import network_among
from holdfast.model.wire.sweep import SweepFinding, SweepReport
from holdfast.node.probes.isolation import bands
from holdfast.node.probes.isolation.fabric_map import FabricMap
from holdfast.node.probes.isolation.hosts import host_of, number_of, slot_name
from holdfast.node.probes.sweep import code_paths
from holdfast.node.probes.sweep.crew import Crew
from holdfast.node.probes.sweep.pairs import Pairs
from holdfast.node.probes.sweep.report import finding, mtu_findings, sweep_rows
from holdfast.node.probes.sweep.sizes import fitting, sizes

Notify = Callable[[str], None]
SlowBand = Callable[[SweepReport], Sequence[int]]
COPIES = 4
SMALL_BYTES, MIDDLE_BYTES = 8, 64 << 10  # payloads for comparing pairs, in addition to the large one
ONE_WAY = 0.5  # share of the other direction's rate


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeSweepOptions:
    operation: str = "all_reduce"
    backend: str = "gloo"
    smallest: int = 8
    largest: int = 2 << 30
    pair_bytes: int = 8 << 20
    budget_seconds: float = 0.25  # repetitions per size, if a single exchange does not take longer
    longest_seconds: float = 10.0  # after an exchange as long as this, no larger size is tried
    timeout_seconds: float = 60.0
    spoil: tuple[int, int] | None = None  # a drill: this rank is wrong at this size


def probe(crew: Crew, options: ProbeSweepOptions, known: FabricMap, slow_band: SlowBand, notify: Notify) -> SweepReport:
    """Runs the probe. `slow_band` evaluates a sweep and returns the sizes to measure again. The crew is stopped at
    the end."""
    with crew:
        notify(f"waiting for the workers of {len(crew.workers)} hosts")
        run = _Run(crew, options, notify)
        present = run.report.hosts = crew.muster()
        if len(present) >= 2:
            run.exchange_datagrams(known)
            if len(run.able) >= 2:
                run.sweep(run.able)
            run.code_paths(slow_band(run.report))
            before = len(run.able)
            run.compare_pairs(known)
            if not run.report.sweep and (2 <= len(run.able) < before or run.lost):
                run.sweep(run.able)  # hosts that blocked the others are known now
        run.conclude()
    return run.report


class _Run:
    def __init__(self, crew: Crew, options: ProbeSweepOptions, notify: Notify) -> None:
        self._crew, self._options, self._notify = crew, options, notify
        self.report = SweepReport(operation=options.operation)
        sizes_of_pairs = sorted({min(MIDDLE_BYTES, options.pair_bytes), options.pair_bytes})
        command = {**self._command(sizes_of_pairs, None), "latency_bytes": SMALL_BYTES}
        self._pairs = Pairs(crew, command, options.timeout_seconds, {})
        self._left_out: dict[str, str] = {}  # hosts whose large exchanges would hang, and why

    @property
    def able(self) -> list[str]:
        return [n for n, worker in self._crew.workers.items() if not worker.trouble and n not in self._left_out]

    @property
    def lost(self) -> bool:
        """Hosts that took part in the first sweep and do not answer any more."""
        return any(self._crew.workers[name].trouble for name in self.report.hosts)

    def sweep(self, hosts: Sequence[str]) -> None:
        options, report = self._options, self.report
        slots = self._slots(hosts)
        wanted, why = fitting(sizes(options.smallest, options.largest), self._memory(hosts), COPIES)
        self._notify(f"{options.operation} over {len(slots)} ranks on {len(hosts)} hosts, {len(wanted)} sizes")
        answers = self._exchange(slots, self._command(wanted, options.spoil), self._notify)
        self._note_failures(slots, answers)
        report.hosts, report.ranks = list(hosts), len(slots)
        report.sweep = sweep_rows([answer for answer in answers if "rows" in answer], options.operation)
        report.stopped = next((answer["stopped"] for answer in answers if answer.get("stopped")), why)
        report.network = network_among(worker.network for worker in self._crew.workers.values())
        report.gpu_model = next((str(self._crew.workers[name].facts.get("gpu_model") or "") for name in hosts), "")
        for row in report.sweep:
            self._blame_wrong([slots[rank] for rank in row.wrong_ranks], f"at {row.bytes} bytes")

    def code_paths(self, band: Sequence[int]) -> None:
        """Measures a slow band again on every NCCL code path, to name the slow one."""
        if not band or len(self.able) < 2:
            return
        if self._options.backend != "nccl":
            self.report.code_paths = [code_paths.NOT_HERE]
            return
        pinned = {}
        for algorithm, protocol in code_paths.PATHS:
            path = code_paths.path_name(algorithm, protocol)
            self._notify(f"the slow band again with {path}")
            command = {**self._command(band, None), "environment": code_paths.environment(algorithm, protocol)}
            answers = self._exchange(self._slots(self.able), command)
            rows = sweep_rows([one for one in answers if "rows" in one], self._options.operation)
            pinned[path] = code_paths.rates(rows)
        chosen = {size: rate for size, rate in code_paths.rates(self.report.sweep).items() if size in band}
        self.report.code_paths = code_paths.named(chosen, pinned)

    def exchange_datagrams(self, known: FabricMap) -> None:
        """A host that passes no full-size frames is reported and left out, because every exchange with it would
        hang."""
        hosts = self.able
        self._pairs.slots = {name: self._slots_of(name) for name in hosts}
        self._pairs.exchange_datagrams(hosts, known.leaves, self._notify)
        named, _ = bands.judge([], self._pairs.datagrams, known.parts)
        for one in named:
            kind, _, name = one.suspect.part.partition("/")
            if one.band == bands.FRAME_SIZE and kind == "node":
                self._left_out[host_of(name.partition("/")[0])] = one.evidence[0]

    def compare_pairs(self, known: FabricMap) -> None:
        hosts = self.able
        self._pairs.slots = {
            name: self._slots_of(name) for name in self._crew.workers if self._crew.workers[name].facts
        }
        self._pairs.meet(hosts, known.leaves, self._notify)
        self.report.pairs = self._pairs.rows
        datagrams = self._pairs.datagrams
        named, references = bands.judge(self._pairs.exchanges, datagrams, known.parts)
        waits = {name: median(shares) for name, shares in self._pairs.cpu_wait.items()}
        found = [finding(one, datagrams, bands.busy_hosts(waits)) for one in named]
        suspected = self._suspected | {one.subject for one in found}
        found = [self._with_direction(one, suspected) for one in found]
        by_subject = {one.subject: one for one in found}
        self.report.suspects += found
        self.report.suspects += [one for one in mtu_findings(datagrams) if one.subject not in by_subject]
        self.report.references = [asdict(one) for one in references]
        for one, other, slots in self._pairs.wrong:
            self._blame_wrong(slots, f"at {self._options.pair_bytes} bytes between {one} and {other}")

    def _with_direction(self, found: SweepFinding, suspected: set[str]) -> SweepFinding:
        """Measures a slow node in each direction with a host that is not suspected."""
        name = found.subject.removeprefix("node/")
        if found.kind != "node" or not found.cause.startswith(bands.BANDWIDTH) or name not in self.able:
            return found
        good = [one for one in self.able if one != name and f"node/{one}" not in suspected]
        if not good:
            return found
        command = {**self._command([self._options.pair_bytes], None), "operation": "one_way"}
        ways = []
        for ends in ((name, good[-1]), (good[-1], name)):
            answers = self._exchange(ends, command)
            if any("error" in answer or not answer.get("rows") for answer in answers):
                return found
            size = answers[0]["rows"][0]["bytes"]
            ways.append(size / max(median(answer["rows"][0]["seconds"]) for answer in answers))
        sending, receiving = ways
        text = f"one way with {good[-1]}: it sends {sending / 1e6:.1f} MB/s and receives {receiving / 1e6:.1f} MB/s"
        cause = found.cause
        if min(ways) < ONE_WAY * max(ways):
            cause = "slow sending" if sending < receiving else "slow receiving"
        return replace(found, cause=cause, evidence=(*found.evidence, text))

    @property
    def _suspected(self) -> set[str]:
        return {one.subject for one in self.report.suspects}

    def conclude(self) -> None:
        self.report.verdicts = [self._verdict(name) for name in self._crew.workers]

    def _exchange(
        self, slots: Sequence[str], command: dict[str, Any], notify: Notify | None = None
    ) -> list[dict[str, Any]]:
        self._crew.begin(slots, command)
        return self._crew.finish(slots, self._options.timeout_seconds, notify)

    def _slots(self, hosts: Sequence[str]) -> list[str]:
        return [slot_name(name, number) for name in hosts for number in range(self._slots_of(name))]

    def _slots_of(self, name: str) -> int:
        """One rank per GPU; without GPUs one per listed rail."""
        worker = self._crew.workers[name]
        return max(1, int(worker.facts.get("gpus") or 0)) if self._options.backend == "nccl" else worker.host.rails

    def _memory(self, hosts: Sequence[str]) -> int:
        """The memory that every rank can use: the minimum over the hosts."""
        workers = [self._crew.workers[name] for name in hosts]
        if self._options.backend == "nccl":
            return min(int(worker.facts.get("gpu_bytes") or 0) for worker in workers)
        here = sum(not worker.host.launch for worker in workers) or 1
        return min(int(worker.facts["free_bytes"]) // here // worker.host.rails for worker in workers)

    def _command(self, wanted: Sequence[int], spoil: tuple[int, int] | None) -> dict[str, Any]:
        return {
            "backend": self._options.backend,
            "operation": self._options.operation,
            "sizes": list(wanted),
            "budget_seconds": self._options.budget_seconds,
            "longest_seconds": self._options.longest_seconds,
            "timeout_seconds": self._options.timeout_seconds,
            "spoil": spoil,
        }

    def _blame_wrong(self, slots: Sequence[str], where: str) -> None:
        ranks = self._slots(self.report.hosts)
        for slot in slots:
            text = f"rank {ranks.index(slot)} puts wrong numbers in {where}"
            self.report.suspects.append(SweepFinding(self._subject(slot), "rank", 1.0, (text,), "wrong numbers"))

    def _subject(self, slot: str) -> str:
        name = host_of(slot)
        if self._slots_of(name) == 1:
            return f"node/{name}"
        return f"node/{name}/{'gpu' if self._options.backend == 'nccl' else 'rail'}/{number_of(slot)}"

    def _note_failures(self, slots: Sequence[str], answers: Sequence[dict[str, Any]]) -> None:
        """Records failures. A group that failed as a whole blames no host; the pairs show which one. Errors beside a
        lost host do not count either: its partners fail because of it."""
        gone = any(self._crew.workers[host_of(slot)].trouble for slot in slots)
        if gone or all("error" in answer for answer in answers):
            return
        for slot, answer in zip(slots, answers, strict=True):
            worker = self._crew.workers[host_of(slot)]
            if "error" in answer and not worker.trouble:
                worker.trouble = f"set-up failed: {answer['error']}"

    def _verdict(self, name: str) -> dict[str, Any]:
        subject, trouble = f"node/{name}", self._crew.workers[name].trouble
        suspects = self.report.suspects
        blamed = [one for one in suspects if one.subject == subject or one.subject.startswith(f"{subject}/")]
        if blamed:
            return {"subject": subject, "health": "fail", "reason": "; ".join(blamed[0].evidence)}
        if trouble:
            return {"subject": subject, "health": "unknown", "reason": trouble}
        if len(self.report.hosts) < 2:
            why = "no peer: fewer than two hosts could start"
            return {"subject": subject, "health": "unknown", "reason": why}
        vain = {one: why for one, why in self._pairs.in_vain(name).items() if not self._crew.workers[one].trouble}
        if vain:
            one, why = next(iter(vain.items()))
            return {"subject": subject, "health": "unknown", "reason": f"set-up failed with {one}: {why}"}
        return {"subject": subject, "health": "pass", "reason": "as fast as its peers, with right numbers"}

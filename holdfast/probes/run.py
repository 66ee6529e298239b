"""A multi-node probe from start to end: the sweep over all hosts, the pairs, and who is to blame."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from holdfast.probes import code_paths, isolation
from holdfast.probes.crew import Crew
from holdfast.probes.fabric_map import FabricMap
from holdfast.probes.hosts import Host
from holdfast.probes.isolation import FEW_HOSTS, Measured
from holdfast.probes.pairing import Pair, every_pair, next_round, pair
from holdfast.probes.report import Finding, Report, finding, sweep_rows
from holdfast.probes.sizes import fitting, sizes

Tell = Callable[[str], None]
SlowBand = Callable[[Report], Sequence[int]]
ROUNDS = 3  # with more hosts
COPIES = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    operation: str = "all_reduce"
    backend: str = "gloo"
    smallest: int = 8
    largest: int = 2 << 30
    pair_bytes: int = 8 << 20
    budget_seconds: float = 0.25  # per size, where a single exchange does not take longer
    longest_seconds: float = 10.0  # after one as long as this, no larger size is tried
    patience_seconds: float = 60.0
    spoil: tuple[int, int] | None = None  # a drill: this rank is wrong at this size


def probe(hosts: Sequence[Host], options: Options, known: FabricMap, slow_band: SlowBand, tell: Tell) -> Report:
    """`slow_band` judges a sweep and tells the sizes that are worth another look."""
    report = Report(operation=options.operation)
    with Crew(hosts) as crew:
        tell(f"starting a worker on {len(hosts)} hosts")
        present = crew.muster()
        report.hosts = present
        if len(present) >= 2:
            _sweep(crew, present, options, report, tell)
            able = [name for name in present if not crew.workers[name].trouble]
            _code_paths(crew, able, slow_band(report), options, report, tell)
            _pairs(crew, able, known, options, report, tell)
        report.verdicts = [_verdict(name, crew.workers[name].trouble, report) for name in crew.workers]
    return report


def _sweep(crew: Crew, names: Sequence[str], options: Options, report: Report, tell: Tell) -> None:
    free = min(int(crew.workers[name].facts["free_bytes"]) for name in names)
    local = sum(not crew.workers[name].host.launch for name in names) or 1
    wanted, why = fitting(sizes(options.smallest, options.largest), free // local, COPIES)
    tell(f"{options.operation} over {len(names)} hosts, {len(wanted)} sizes")
    crew.begin(names, _command(options, wanted, options.spoil))
    answers = crew.finish(names, options.patience_seconds, tell)
    _note_failures(crew, names, answers)
    report.sweep = sweep_rows([answer for answer in answers if "rows" in answer], options.operation)
    report.stopped = next((answer["stopped"] for answer in answers if answer.get("stopped")), why)
    report.network = next((worker.network for worker in crew.workers.values() if worker.network), "")
    report.gpu_model = next((str(crew.workers[name].facts.get("gpu_model") or "") for name in names), "")
    report.suspects += [
        Finding(f"node/{names[rank]}", "rank", 1.0, (f"rank {rank} puts wrong numbers in at {row.bytes} bytes",))
        for row in report.sweep
        for rank in row.wrong_ranks
    ]


def _code_paths(
    crew: Crew, names: Sequence[str], band: Sequence[int], options: Options, report: Report, tell: Tell
) -> None:
    """A slow band once more on every code path of NCCL, so that the slow one has a name."""
    if not band or len(names) < 2:
        return
    if options.backend != "nccl":
        report.code_paths = [code_paths.NOT_HERE]
        return
    pinned = {}
    for algorithm, protocol in code_paths.PATHS:
        path = code_paths.path_name(algorithm, protocol)
        tell(f"the slow band again with {path}")
        environment = code_paths.environment(algorithm, protocol)
        crew.begin(names, {**_command(options, band, None), "environment": environment})
        answers = crew.finish(names, options.patience_seconds)
        pinned[path] = code_paths.rates(sweep_rows([one for one in answers if "rows" in one], options.operation))
    chosen = {size: rate for size, rate in code_paths.rates(report.sweep).items() if size in band}
    report.code_paths = code_paths.named(chosen, pinned)


def _pairs(crew: Crew, names: Sequence[str], known: FabricMap, options: Options, report: Report, tell: Tell) -> None:
    measured: list[Measured] = []
    for number in range(2 if len(names) <= FEW_HOSTS else ROUNDS):
        for batch in _batches(names, number, measured, known.leaves):
            tell(f"round {number + 1}: {' '.join('+'.join(one) for one in batch[:4])}")
            measured += _measure_pairs(crew, batch, options, report, number)
    baseline = isolation.learn(measured)
    found = isolation.suspects(measured, known.parts, baseline)
    report.suspects += [finding(one, measured) for one in found if one.confirmed]


def _batches(
    names: Sequence[str], number: int, measured: Sequence[Measured], leaves: Mapping[str, str]
) -> list[list[Pair]]:
    """What runs at the same time. Of a few hosts every pair is measured alone, so that none is another's load."""
    if len(names) <= FEW_HOSTS:
        return [[one] for turn in every_pair(names) for one in turn]
    doubtful, good = isolation.doubts(measured, isolation.learn(measured))
    met = {pair(one.one, one.other) for one in measured}
    return [next_round(names, number, leaves=leaves, suspects=doubtful, trusted=good, met=met)]


def _measure_pairs(crew: Crew, batch: Sequence[Pair], options: Options, report: Report, number: int) -> list[Measured]:
    healthy = [one for one in batch if not any(crew.workers[name].trouble for name in one)]
    for one in healthy:
        crew.begin(one, _command(options, [options.pair_bytes], None))
    measured = []
    for one in healthy:
        answers = crew.finish(one, options.patience_seconds)
        row: dict[str, Any] = {"one": one[0], "other": one[1], "round": number + 1, "bytes": options.pair_bytes}
        if all("rows" in answer for answer in answers):
            rate = options.pair_bytes / max(median(answer["rows"][0]["seconds"]) for answer in answers)
            measured.append(Measured(one[0], one[1], rate))
            report.pairs.append({**row, "bytes_per_second": rate})
        else:
            report.pairs.append({**row, "error": next(a["error"] for a in answers if "error" in a)})
    return measured


def _command(options: Options, wanted: Sequence[int], spoil: tuple[int, int] | None) -> dict[str, Any]:
    return {
        "backend": options.backend,
        "operation": options.operation,
        "sizes": list(wanted),
        "budget_seconds": options.budget_seconds,
        "longest_seconds": options.longest_seconds,
        "patience_seconds": options.patience_seconds,
        "spoil": spoil,
    }


def _note_failures(crew: Crew, names: Sequence[str], answers: Sequence[dict[str, Any]]) -> None:
    """A group that failed as a whole says nothing of a single host; the pairs will."""
    if all("error" in answer for answer in answers):
        return
    for name, answer in zip(names, answers, strict=True):
        if "error" in answer and not crew.workers[name].trouble:
            crew.workers[name].trouble = f"set-up failed: {answer['error']}"


def _verdict(name: str, trouble: str, report: Report) -> dict[str, Any]:
    subject = f"node/{name}"
    blamed = [one for one in report.suspects if one.subject == subject or one.subject.startswith(f"{subject}/")]
    if trouble:
        return {"subject": subject, "health": "unknown", "reason": trouble}
    if blamed:
        return {"subject": subject, "health": "fail", "reason": "; ".join(blamed[0].evidence)}
    failed = [one for one in report.pairs if name in (one["one"], one["other"]) and "error" in one]
    if failed:
        return {"subject": subject, "health": "unknown", "reason": f"set-up failed: {failed[0]['error']}"}
    if len(report.hosts) < 2:
        return {"subject": subject, "health": "unknown", "reason": "nobody to meet: fewer than two hosts could start"}
    return {"subject": subject, "health": "pass", "reason": "as fast as its peers, with right numbers"}

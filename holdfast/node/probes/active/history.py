"""Past results, one JSON line per run, which make a regression of a GPU visible.

A run adds one line with a single write, so that concurrent processes write whole lines. A torn or foreign line is
skipped.
"""

import json
import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Any

from holdfast.model.signal import Reading, Signal, Value
from holdfast.model.subject import Subject

SOURCE = "probes_before"
SPEED = "_per_second"
COUNTERS = (
    "gpu_ecc_aggregate_corrected_total",
    "gpu_ecc_aggregate_uncorrected_total",
    "gpu_remapped_rows_correctable",
    "gpu_remapped_rows_uncorrectable",
)
IDENTITY = ("gpu_uuid", "gpu_model", "probe_fingerprint_key")  # runs with another part or library are not compared
DIGEST = "probe_fingerprint"
MOST_RUNS = 50
LEAST_AGREEING = 3  # digests before their majority counts

Facts = Mapping[Subject, Mapping[str, Value]]


def record(latest: Iterable[tuple[Subject, str, Value]]) -> dict[Subject, dict[str, Value]]:
    """The record of a run, by subject; empty if no probe ran."""
    facts: dict[Subject, dict[str, Value]] = defaultdict(dict)
    for subject, name, value in latest:
        measured = name.startswith("probe_") and name.endswith(SPEED)
        if measured or name in COUNTERS or name in IDENTITY or name == DIGEST:
            facts[subject][name] = value
    ran = any(name.startswith("probe_") for values in facts.values() for name in values)
    return dict(facts) if ran else {}


def load(path: str) -> list[dict[Subject, dict[str, Value]]]:
    try:
        with open(path, "rb") as file:
            lines = file.read().splitlines()
    except OSError:
        return []
    return [facts for line in lines[-MOST_RUNS:] if (facts := _facts(line))]


def _facts(line: bytes) -> dict[str, dict[str, Value]]:
    try:
        record: Any = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    subjects = record.get("subjects") if isinstance(record, dict) else None
    if not isinstance(subjects, dict) or not all(isinstance(values, dict) for values in subjects.values()):
        return {}
    return {
        subject: {name: value for name, value in values.items() if isinstance(value, str | int | float)}
        for subject, values in subjects.items()
    }


def append(path: str, facts: Facts, now: float) -> str:
    """Appends a run; returns the error as text."""
    line = json.dumps({"at": round(now, 3), "subjects": facts}) + "\n"
    try:
        with open(path, "ab") as file:
            file.write(line.encode())
        _shorten(path)
    except OSError as error:
        return f"{path}: {error.strerror}"
    return ""


def _shorten(path: str) -> None:
    with open(path, "rb") as file:
        lines = file.read().splitlines(keepends=True)
    if len(lines) > 2 * MOST_RUNS:
        beside = f"{path}.new"
        with open(beside, "wb") as file:
            file.writelines(lines[-MOST_RUNS:])
        os.replace(beside, path)


def recall(runs: Sequence[Facts], current: Facts, now: float) -> Reading:
    """The history of each subject as signals: median result, its spread, and counters at that time."""
    signals: list[Signal] = []
    golden = _golden(runs)
    for subject, facts in current.items():
        own = [run[subject] for run in runs if _same_part(run.get(subject), facts)]
        for name in facts:
            numbers = [float(run[name]) for run in own if isinstance(run.get(name), int | float)]
            if name in COUNTERS and numbers:
                signals.append(Signal(subject, f"past_{name}", numbers[-1]))
            elif name.endswith(SPEED) and numbers:
                signals += _about_past(subject, name, numbers)
        if digest := golden.get(str(facts.get("probe_fingerprint_key"))):
            signals.append(Signal(subject, "probe_fingerprint_golden", digest))
    return Reading(source=SOURCE, at=now, signals=signals)


def _same_part(before: Mapping[str, Value] | None, now: Mapping[str, Value]) -> bool:
    return before is not None and all(before.get(name, now.get(name)) == now.get(name) for name in IDENTITY)


def _about_past(subject: Subject, name: str, numbers: Sequence[float]) -> list[Signal]:
    middle = median(numbers)
    spread = 1.4826 * median(abs(one - middle) for one in numbers) / middle if middle else 0.0
    return [
        Signal(subject, f"past_{name}", middle),
        Signal(subject, f"past_spread_{name}", spread),
        Signal(subject, f"past_runs_{name}", float(len(numbers))),
    ]


def _golden(runs: Sequence[Facts]) -> dict[str, str]:
    """The digest of most runs of a kind, if enough agree."""
    seen: dict[str, Counter[str]] = defaultdict(Counter)
    for run in runs:
        for facts in run.values():
            if DIGEST in facts:
                seen[str(facts.get("probe_fingerprint_key"))][str(facts[DIGEST])] += 1
    best = {kind: counts.most_common(1)[0] for kind, counts in seen.items()}
    return {
        kind: digest
        for kind, (digest, count) in best.items()
        if count >= LEAST_AGREEING and 2 * count > sum(seen[kind].values())
    }

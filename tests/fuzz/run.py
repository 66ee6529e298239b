"""`python -m tests.fuzz.run [--inputs N] [--only TEXT]`: every reader with mutated inputs, each in its own process.

A failure is an exception that is not one of ours, an input that takes 2 s, or 512 MB more memory than before.
`--seconds` limits the time of one target. `--keep FILE` adds what ran to the counts of earlier runs.
"""

import argparse
import ast
import importlib
import json
import math
import multiprocessing
import os
import random
import resource
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from tests.fuzz.targets import Target, targets
from tests.source import ROOT

SECONDS, MEGABYTES = 2.0, 512  # of CPU: how busy the machine is says nothing of a reader
LONGEST = 8_192
DEEP = 5_000
HOSTILE = ["[" * DEEP, '{"a":' * DEEP, "(" * DEEP, "9" * 401, "-" + "9" * 401, "1e999", "nan", "\x00", "\ud800",
           "é" * 50, " " * 4_096, "a" * 4_096, "=" * 2_000, ":" * 2_000, "a=" * 2_000, "\n" * 500, '"' * 500, "٣",
           "[1-9" * 50, "0x" + "f" * 300, "1970-01-01T00:00:00Z", "9" * 20, "-1", "NaN", "null", "{}"]  # fmt: skip

HOSTILE += ["a = " + "[" * DEEP, "a = " + "{b=" * DEEP, "a = " + "9" * 5_000, '{"a": ' + "9" * 5_000 + "}"]


class TooSlow(BaseException):
    pass


@dataclass
class Result:
    name: str
    inputs: int
    seconds: float
    failure: str = ""
    sample: str = ""


def dictionary(target: Target) -> list[str]:
    """The texts in the reader's own source: what it looks for."""
    path = ROOT.parent / (target.module.replace(".", "/") + ".py")
    if not path.exists():
        return list(HOSTILE)
    tree = ast.parse(path.read_text(encoding="utf-8"))
    words = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    return [*sorted(word for word in words if 0 < len(word) <= 200), *HOSTILE]


def mutated(chance: random.Random, words: list[str], pool: list[str]) -> str:
    text = chance.choice(pool) if pool and chance.random() < 0.7 else ""
    for _ in range(chance.randint(1, 6)):
        place = chance.randint(0, len(text))
        kind = chance.random()
        if kind < 0.5:
            text = text[:place] + chance.choice(words) + chance.choice(["", " ", "\n", ",", ":"]) + text[place:]
        elif kind < 0.65:
            text = (
                text[:place]
                + chr(chance.choice([0, 9, 10, 32, 34, 58, 91, 93, 123, 125, 0xFF, 0x1F600]))
                + text[place:]
            )
        elif kind < 0.8 and text:
            text = text[:place] + text[chance.randint(0, len(text)) :]
        elif kind < 0.9:
            text = text * chance.randint(2, 5)
        else:
            text = text[:place] + str(chance.randint(-(10**20), 10**20)) + text[place:]
    return text[:LONGEST]


def _alarm(number: int, frame: FrameType | None) -> None:
    raise TooSlow


def attempt(target: Target, text: str | bytes) -> str:
    """Why this input is a failure; '' where it is not."""
    given: Any = text.encode("utf-8", "surrogatepass") if isinstance(text, str) and target.takes is bytes else text
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        found = target.call(given)
        if hasattr(found, "__next__"):
            for _ in found:  # type: ignore[attr-defined]
                pass
    except TooSlow:
        return f"took more than {SECONDS:g} s"
    except MemoryError:
        return f"took more than {MEGABYTES} MB"
    except Exception as error:  # noqa: BLE001
        if not type(error).__module__.startswith("holdfast"):
            return f"{type(error).__name__}: {error}"[:300]
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return ""


def prepare(target: Target) -> None:
    """Limits this process to the time and memory that one input may take."""
    importlib.import_module(target.module)  # its imports are not its time
    signal.signal(signal.SIGPROF, _alarm)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    most = used + (MEGABYTES << 20)
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def fuzz(target: Target, inputs: int, seed: int, seconds: float = math.inf) -> Result:
    prepare(target)
    chance, words, pool = random.Random(seed), dictionary(target), list[str]()
    began = time.monotonic()
    for number in range(inputs):
        if number % 100 == 0 and time.monotonic() - began > seconds:
            return Result(target.name, number, time.monotonic() - began)
        text = words[number] if number < len(words) else mutated(chance, words, pool)
        why = attempt(target, text)
        if why:
            return Result(target.name, number + 1, time.monotonic() - began, why, repr(text[:300]))
        if len(pool) < 200 or chance.random() < 0.01:
            pool = [*pool[-199:], text]
    return Result(target.name, inputs, time.monotonic() - began)


def in_a_process(target: Target, inputs: int, seed: int, seconds: float = math.inf) -> Result:
    """A reader that ends its process, or eats the memory of it, is a failure too."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    child = context.Process(target=lambda: theirs.send(fuzz(target, inputs, seed, seconds)))
    child.start()
    theirs.close()
    try:
        found: Result = ours.recv()
    except EOFError:
        child.join()
        found = Result(target.name, 0, 0.0, f"its process ended with code {child.exitcode}")
    child.join()
    return found


def keep(path: Path, one: Result, edges: int | None = None) -> None:
    """Adds a run to the counts in `path`: mutated inputs, or guided ones and the branches they reached."""
    kept = json.loads(path.read_text()) if path.exists() else {"bench": "make fuzz", "targets": {}}
    row = kept["targets"].setdefault(one.name, {"mutated": 0, "guided": 0, "branches": 0, "failures": 0})
    row["mutated" if edges is None else "guided"] += one.inputs
    row["branches"] = max(row["branches"], edges or 0)
    row["failures"] += bool(one.failure)
    rows = kept["targets"].values()
    totals = {name: sum(row[name] for row in rows) for name in ("mutated", "guided", "failures")}
    least = min(row["mutated"] + row["guided"] for row in rows)
    path.write_text(json.dumps({**kept, "total": totals, "fewest_inputs_of_a_target": least}, indent=1) + "\n")


def fewest_first(found: list[Target], path: Path | None) -> list[Target]:
    """The targets that earlier runs reached least come first, so that short runs add up."""
    rows = json.loads(path.read_text())["targets"] if path and path.exists() else {}
    return sorted(
        found, key=lambda one: rows.get(one.name, {}).get("mutated", 0) + rows.get(one.name, {}).get("guided", 0)
    )


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--inputs", type=int, default=100_000)
    parser.add_argument("--only", default="")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=math.inf, help="most time for one target")
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args()
    bad = 0
    for target in fewest_first(targets(), options.keep):
        if options.only in target.name:
            one = in_a_process(target, options.inputs, options.seed, options.seconds)
            bad += bool(one.failure)
            ended = f"{one.failure or 'ok'} {one.sample}"
            print(f"{one.name:60} {one.inputs:9} inputs {one.seconds:7.1f} s  {ended}", flush=True)
            if options.keep:
                keep(options.keep, one)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())

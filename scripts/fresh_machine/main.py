"""Options, the order of the steps, and the summary."""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fresh_machine import commands, image, packages, root, units
from fresh_machine.machine import Machine, StepFailed, as_json, remove, say

CHECKOUT = Path(__file__).resolve().parents[2]
RESULTS = CHECKOUT / "bench" / "results" / "fresh_machine.json"
STEPS = ("packages", "demo", "test", "units", "image")
MADE = ("base", "packages", "machine", "units", "image", "context", "storage", "storage-run")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="scripts/fresh-machine", description="README's commands on a minimal Debian 12."
    )
    parser.add_argument("--only", choices=STEPS, action="append", help="this step alone; may be said more than once")
    parser.add_argument("--quick", action="store_true", help="`make quick` instead of `make test`")
    parser.add_argument(
        "--ref", default="HEAD", help="the commit to try (default: HEAD); changes not committed are not"
    )
    parser.add_argument(
        "--root", type=Path, help="where to build (default: a new folder in /var/tmp); with --keep, again"
    )
    parser.add_argument("--keep", action="store_true", help="leave the roots and the logs")
    parser.add_argument("--result", type=Path, default=RESULTS, help="where the summary is written as JSON")
    return parser.parse_args()


def main() -> int:
    options = _options()
    if os.geteuid() != 0:
        raise SystemExit("fresh-machine: needs root, to build a root and to enter it")
    commit = root.Source(CHECKOUT, options.ref).git("rev-parse", "--verify", f"{options.ref}^{{commit}}")
    source = root.Source(CHECKOUT, commit)
    work = options.root or Path(tempfile.mkdtemp(prefix="fresh-machine-", dir="/var/tmp"))
    work.mkdir(mode=0o700, parents=True, exist_ok=True)
    say(f"commit {commit[:12]} in {work}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the root is removed
    results: dict[str, Any] = {}
    try:
        results = _all(source, work.resolve(), options)
    finally:
        if not options.keep:
            _clean(work, logs=options.root is not None or not _good(results))
    _remember(options.result, commit[:12], results)
    return _summary(results)


def _remember(file: Path, commit: str, results: dict[str, Any]) -> None:
    """Steps that were not run keep what they had, with the commit that it was seen on."""
    known = json.loads(file.read_text()) if file.exists() else {}
    steps = {name: {"commit": commit, **result} for name, result in results.items() if isinstance(result, dict)}
    file.write_text(as_json({"bench": "fresh_machine", **known, **results, **steps}))


def _all(source: root.Source, work: Path, options: argparse.Namespace) -> dict[str, Any]:
    began = time.monotonic()
    try:
        base = root.build(work, source)
    except StepFailed as failed:
        return {"root": {"ok": False, "reason": str(failed)}}
    about = {"ok": True, "seconds": round(time.monotonic() - began, 1), "installed": source.prerequisites()}
    about |= {"debian": (base.tree / "etc/debian_version").read_text().strip(), "megabytes": _megabytes(base.tree)}
    results: dict[str, Any] = {"entered_by": "systemd-nspawn" if base.nspawn else "chroot", "root": about}
    say(f"root: Debian {about['debian']}, {about['megabytes']} MB, entered by {results['entered_by']}")
    steps: dict[str, Callable[[], dict[str, Any]]] = {
        "packages": lambda: packages.unknown_name(root.clone(base.copy(work / "packages"), source), work),
        "demo": lambda: commands.demo(_machine(base, source, work), work),
        "test": lambda: commands.tests(_machine(base, source, work), work, "quick" if options.quick else "test"),
        "units": lambda: units.units(root.clone(base.copy(work / "units"), source), source, work),
        "image": lambda: image.image(base.copy(work / "image"), source, _emptied(work)),
    }
    for name in options.only or STEPS:
        say(f"{name}: begins")
        try:
            results[name] = steps[name]()
        except StepFailed as failed:
            results[name] = {"ok": False, "reason": str(failed)}
        say(f"{name}: {'good' if results[name]['ok'] else 'FAILED'} {results[name].get('reason', '')}")
    return results


_made: list[Machine] = []


def _machine(base: Machine, source: root.Source, work: Path) -> Machine:
    """Where README's commands run: the tests after the demo, on the same clone."""
    if not _made:
        _made.append(root.clone(base.copy(work / "machine"), source))
    return _made[0]


def _emptied(work: Path) -> Path:
    for name in ("context", "storage", "storage-run"):
        if (work / name).exists():
            remove(work / name)
    return work


def _megabytes(tree: Path) -> int:
    result = subprocess.run(["du", "-sxm", str(tree)], capture_output=True, text=True, check=True).stdout
    return int(result.split()[0])


def _good(results: dict[str, Any]) -> bool:
    steps = [result for result in results.values() if isinstance(result, dict)]
    return bool(steps) and all(result["ok"] for result in steps)


def _clean(work: Path, *, logs: bool) -> None:
    """Logs stay where a step failed or the folder was given."""
    for name in MADE:
        if (work / name).exists():
            remove(work / name)
    (work / "base.ready").unlink(missing_ok=True)
    if logs:
        say(f"logs are in {work}")
    elif all(path.is_file() for path in work.iterdir()):
        shutil.rmtree(work)


def _summary(results: dict[str, Any]) -> int:
    print()
    steps = {name: result for name, result in results.items() if isinstance(result, dict)}
    for name, result in steps.items():
        facts = {key: value for key, value in result.items() if key not in ("ok", "skipped_because", "failures")}
        print(f"{name:6} {'good  ' if result['ok'] else 'FAILED'} {facts}")
        for reason, count in result.get("skipped_because", {}).items():
            print(f"         {count:4} skipped: {reason}")
        for failure in result.get("failures", []):
            print(f"              failed: {failure}")
    return 0 if _good(results) else 1

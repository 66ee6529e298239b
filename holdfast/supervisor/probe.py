"""Tests this node before a restart that requires it, with `holdfast check` or the site's command."""

import subprocess
import time
from collections.abc import Iterator, Sequence

import msgspec

from holdfast.catalog import job_errors
from holdfast.model.evidence import Evidence
from holdfast.model.signal import Event
from holdfast.runtime import codec, process

_SHOWN = 200


def failures(command: Sequence[str], node: str, timeout_seconds: float) -> list[Evidence]:
    """Evidence against this node; none if it passed or the result is unknown."""
    try:
        done = process.capture(command, timeout_seconds)
    except subprocess.TimeoutExpired:
        return [_failed("probe", f"it did not end within {timeout_seconds:.0f} s", "host.other", node)]
    except OSError as error:
        return [_failed("probe", f"{command[0]}: {error.strerror}", "host.other", node)]
    if (verdicts := _verdicts(done.stdout)) is not None:
        return [*_of(verdicts, node)]
    if not done.returncode:
        return []
    last_line = (done.stderr.strip() or done.stdout.strip()).decode("utf-8", "replace").rpartition("\n")[2][:_SHOWN]
    return [_failed("probe", f"exit code {done.returncode}: {last_line}", "host.other", node)]


def _verdicts(output: bytes) -> list[dict[str, object]] | None:
    """The verdicts in the output of `holdfast check --json`; None for any other command."""
    try:
        found = codec.decode(output, dict[str, object])["verdicts"]
        return codec.convert(found, list[dict[str, object]])
    except (msgspec.DecodeError, UnicodeDecodeError, KeyError, RecursionError):
        return None


def _of(verdicts: Sequence[dict[str, object]], node: str) -> Iterator[Evidence]:
    """Only failed verdicts. A suite that sees no GPU reports unknown and blames no node."""
    for verdict in verdicts:
        if verdict.get("health") == "fail":
            check = str(verdict.get("check"))
            cause = job_errors.of_verdict(check, "fail").cause or "host.other"
            yield _failed(check, str(verdict.get("reason", "")), cause, node)


def _failed(check: str, reason: str, cause: str, node: str) -> Evidence:
    says = f"{node} failed its probe: {check}: {reason}"
    event = Event(kind="probe", code=check, at=time.time(), text=says, severity="fatal", detail={"says": says})
    return Evidence(event=event, file="probe", host=node, role="strong", cause=cause)

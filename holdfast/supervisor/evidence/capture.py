"""Captures evidence of a hang before the end: stacks, Flight Recorder dumps, NCCL RAS."""

import os
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from holdfast.diagnosis.evidence import nccl_ras as ras_evidence
from holdfast.formats.nccl import ras as ras_form
from holdfast.model.evidence import Evidence
from holdfast.node.sources.jobs import nccl_ras
from holdfast.supervisor.evidence.stack_capture import StackCapture

DUMP_SECONDS = 10.0  # PyTorch polls its pipe once a second, and writes within a few more
_POLL_SECONDS = 0.2
_RAS_TIMEOUT_SECONDS = 3.0


def stacks(captures: Sequence[StackCapture], file: Path) -> None:
    """The stack of every rank, as text."""
    with suppress(OSError):
        file.write_bytes(msgspec.json.format(msgspec.json.encode(captures)) + b"\n")


def ask_for_dumps(folder: Path, timeout_seconds: float = DUMP_SECONDS) -> int:
    """Requests a Flight Recorder dump from each rank and returns the number of requests.

    PyTorch reads a pipe per rank and writes the dump next to it. A rank without a watchdog does not read its pipe and
    is not waited for.
    """
    asked = [pipe for pipe in sorted(folder.glob("*.pipe")) if _knock(pipe)]
    deadline = time.monotonic() + timeout_seconds
    while asked and time.monotonic() < deadline and not all(_dump_of(pipe).exists() for pipe in asked):
        time.sleep(_POLL_SECONDS)
    return len(asked)


def _knock(pipe: Path) -> bool:
    try:
        descriptor = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return os.write(descriptor, b"1") > 0
    except OSError:
        return False
    finally:
        os.close(descriptor)


def _dump_of(pipe: Path) -> Path:
    return pipe.with_suffix("")  # 'rank_3.pipe' is next to 'rank_3'


def of_ras(node: str, port: int = nccl_ras.PORT) -> list[Evidence]:
    """The output of NCCL RAS, if the service answers on this node."""
    try:
        status = ras_form.parse(nccl_ras.ask("127.0.0.1", port, _RAS_TIMEOUT_SECONDS))
    except (OSError, ras_form.NotRas):
        return []
    return ras_evidence.evidence(status, f"ras://{node}", time.time())

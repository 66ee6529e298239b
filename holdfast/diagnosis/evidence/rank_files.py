"""A training job from the files that its ranks wrote without an agent, counted as the controller counts it."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from holdfast.config.extra import needs_extra
from holdfast.formats.job.progress import LARGEST_MESSAGE, Hello, Message, ProgressError, decode
from holdfast.formats.job.windows import windows
from holdfast.model.refusal import Refusal
from holdfast.model.wire.progress import RankWindow
from holdfast.node.sources.jobs import log_file

MOST_FILES = 65_536


def read(folder: str, name: str) -> dict[str, Any]:
    with needs_extra("controller"):
        from holdfast.fleet.jobs.record import JobRecord
        from holdfast.fleet.jobs.show import detail
        from holdfast.fleet.jobs.verdicts import JobVerdicts
        from holdfast.fleet.jobs.views import CheckpointsView

    found = sorted(_windows(Path(folder), name), key=lambda pair: pair[1].at)
    if not found:
        raise Refusal(f"{folder}: expected files of ranks of {name!r} such as {name}.0.jsonl; none was found")
    job = JobVerdicts(JobRecord(name, found[0][1].owner))
    evaluated = found[0][1].at
    for node, window in found:
        if window.at - evaluated >= 10.0:
            evaluated = window.at
            job.evaluate(evaluated, lambda _: [], {})
        job.record.take(node, window, window.at)
    job.evaluate(found[-1][1].at, lambda _: [], {})
    unknown = CheckpointsView(unknown="the files of ranks do not say what keepers hold")
    document: dict[str, Any] = msgspec.to_builtins(detail(job, found[-1][1].at, unknown))
    return document


def _windows(folder: Path, name: str) -> Iterator[tuple[str, RankWindow]]:
    try:
        names = sorted(path for path in folder.iterdir() if path.suffix in (".jsonl", ".old"))[:MOST_FILES]
        paths = [path for path in names if path.is_file() and not path.is_symlink()]  # no pipe, no device
    except OSError as error:
        raise Refusal(f"{folder}: cannot be read: {error.strerror}") from None
    for path in paths:
        messages = list(_messages(path))
        hello = next((one for one in messages if isinstance(one, Hello)), None)
        if hello is not None and hello.job == name:
            owner = f"uid-{path.stat().st_uid}"
            yield from ((hello.node or os.uname().nodename, window) for window in windows(messages, owner))


def _messages(path: Path) -> Iterator[Message]:
    """A line that cannot be read is left out: a process may have died while it wrote it."""
    try:
        growth = log_file.Growth(path)
        with path.open("rb") as file:
            while line := file.readline(LARGEST_MESSAGE + 2):
                growth.take(len(line))
                try:
                    yield decode(line.rstrip(b"\n"))
                except ProgressError:
                    continue
    except OSError as error:
        raise Refusal(f"{path}: cannot be read: {error.strerror}") from None
    except log_file.Unreadable as error:
        raise Refusal(str(error)) from None

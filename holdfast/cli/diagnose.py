"""`holdfast diagnose PATH...`: why a job failed, from any mix of its logs, and what to do now."""

import os
import sys
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from holdfast.cli.refusal import Refusal
from holdfast.model.evidence import Evidence
from holdfast.sources import log_file


def diagnose(
    paths: Annotated[list[Path], typer.Argument(help="Logs or directories of them; '-' is standard input.")],
    json: bool = typer.Option(False, "--json", help="Print one JSON document and nothing else."),
    markdown: bool = typer.Option(False, "--markdown", help="Print Markdown for a ticket."),
) -> int:
    """Say why a job failed and what to do next, from logs of its ranks, launcher, NCCL and kernels, packed too."""
    from holdfast.cli import diagnose_document, diagnose_show
    from holdfast.diagnosis import diagnose as room
    from holdfast.diagnosis import story

    found, files, unread = gather(paths)
    diagnosis = room.diagnose(found)
    unseen = [*unread, *diagnosis.unseen]
    for sentence in unread:
        sys.stderr.write(f"holdfast: {sentence}\n")
    if json:
        document = diagnose_document.document(diagnosis, files, unread, unseen)
        sys.stdout.buffer.write(msgspec.json.encode(document) + b"\n")
    elif markdown:
        sys.stdout.write(story.markdown(diagnosis, unseen))
    else:
        diagnose_show.show(diagnosis, files, unseen)
    return 1 if unread else 0


def gather(paths: list[Path]) -> tuple[list[Evidence], int, list[str]]:
    """(evidence, how many files were read, why some could not be read to their end)."""
    from holdfast.cli.diagnose_dumps import Dumps, is_dump
    from holdfast.cli.diagnose_read import read

    for path in paths:
        if str(path) != log_file.STDIN and not os.path.lexists(path):
            raise Refusal(f"{path}: no such file or directory; expected logs or directories of them")
    found: list[Evidence] = []
    unread: list[str] = []
    files = 0
    dumps = Dumps()
    for path in paths:
        for file in [path] if str(path) == log_file.STDIN else log_file.files_below(path):
            files += 1
            if is_dump(file):
                dumps.add(file)
                continue
            evidence, trouble = read(file)
            found += evidence
            unread += [trouble] if trouble else []
    if not files:
        raise Refusal(f"{', '.join(map(str, paths))}: no file to read; expected logs or directories of them")
    of_dumps, troubles = dumps.evidence()
    return [*found, *of_dumps], files, [*unread, *troubles]

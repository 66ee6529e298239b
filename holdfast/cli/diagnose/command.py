"""`holdfast diagnose PATH...`: why a job failed, from any mix of its logs, and the next step."""

import os
import sys
import time
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from holdfast.cli.shared.options import Token, Url
from holdfast.client.client import connect
from holdfast.model.evidence import Evidence
from holdfast.model.refusal import Refusal
from holdfast.node.sources.jobs import log_file


def diagnose(
    paths: Annotated[
        list[Path] | None, typer.Argument(help="Logs or directories of them; '-' is standard input.")
    ] = None,
    json: bool = typer.Option(False, "--json", help="Print one JSON document and nothing else."),
    markdown: bool = typer.Option(False, "--markdown", help="Print Markdown for a ticket."),
    ras: str = typer.Option(
        "", help="A node of a live job: ask its NCCL RAS which ranks are behind. The port is optional."
    ),
    job: str = typer.Option("", help="A job's id: add what the controller knows about the job and its nodes."),
    url: Url = "",
    token: Token = "",
) -> int:
    """Report why a job failed and what to do next, from its logs: ranks, launcher, NCCL, kernel. Reads archives too."""
    from holdfast.cli.diagnose import show as diagnose_show
    from holdfast.diagnosis.evidence import document as diagnose_document
    from holdfast.diagnosis.rules import diagnose as room
    from holdfast.diagnosis.rules import report

    if not paths and not ras and not job:
        raise Refusal("nothing to read; expected logs, directories of them, --job or --ras")
    found, files, unread = gather(paths) if paths else ([], 0, [])
    found += _of_ras(ras) if ras else []
    of_job, blind = _of_job(job, url, token) if job else ([], [])
    diagnosis = room.diagnose([*found, *of_job])
    unseen = [*unread, *blind, *diagnosis.unseen]
    for sentence in unread:
        sys.stderr.write(f"holdfast: {sentence}\n")
    if json:
        document = diagnose_document.document(diagnosis, files, unread, unseen)
        sys.stdout.buffer.write(msgspec.json.encode(document) + b"\n")
    elif markdown:
        sys.stdout.write(report.markdown(diagnosis, unseen))
    else:
        diagnose_show.show(diagnosis, files, unseen)
    return 1 if unread else 0


def _of_job(job: str, url: str, token: str) -> tuple[list[Evidence], list[str]]:
    from holdfast.diagnosis.evidence.controller import known_of

    known = known_of(connect(url, token), job)
    return known.evidence, known.unseen


def _of_ras(address: str) -> list[Evidence]:
    from holdfast.diagnosis.evidence import nccl_ras as ras_evidence
    from holdfast.formats.nccl import ras as form
    from holdfast.node.sources.jobs import nccl_ras

    host, _, port = address.partition(":")
    if port and not port.isdecimal():
        raise Refusal(f"--ras {address}: expected HOST or HOST:PORT")
    try:
        status = form.parse(nccl_ras.ask(host, int(port or nccl_ras.PORT)))
    except (OSError, OverflowError, form.NotRas) as why:
        raise Refusal(f"--ras {address}: {why}", 1) from None
    return ras_evidence.evidence(status, f"ras://{address}", time.time())


def gather(paths: list[Path]) -> tuple[list[Evidence], int, list[str]]:
    """(evidence, number of files read, why some files could not be read completely)."""
    from holdfast.diagnosis.evidence.dumps import Dumps, is_dump
    from holdfast.diagnosis.evidence.files import read

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

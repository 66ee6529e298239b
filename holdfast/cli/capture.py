"""`holdfast capture`: writes a redacted bundle of everything that the sources of this machine read."""

import sys
import time
from pathlib import Path

import msgspec
import typer

from holdfast.cli.shared.options import AsJson, Config
from holdfast.cli.shared.table import plain
from holdfast.model.refusal import Refusal
from holdfast.node.agent.assemble import load_settings


def capture(
    out: str = typer.Option("", help="File to write; default: holdfast-DATE.tar.gz here."),
    config: Config = "",
    as_json: AsJson = False,
) -> None:
    """Read every source once, run the installed tools, redact names, addresses, users and secrets, write one file.

    Changes nothing on the node. `holdfast check --from BUNDLE` reproduces these verdicts.
    """
    from rich.console import Console

    from holdfast.node.capture import collect

    path = Path(out or time.strftime("holdfast-%Y%m%d-%H%M%S.tar.gz", time.gmtime()))
    if path.exists():
        raise Refusal(f"{path}: exists; name another file with --out")
    with Console(stderr=True, emoji=False).status("capturing") as status:
        try:
            done = collect.capture(load_settings(config), path, lambda text: status.update(text))
        except OSError as error:
            raise Refusal(f"{path}: cannot be written: {error.strerror}", 1) from None
    if as_json:
        document = {
            "bundle": str(done.path),
            "bytes": done.size,
            "node": done.node,
            "sources": done.sources,
            "blind": done.blind,
            "left_out": done.left_out,
        }
        sys.stdout.buffer.write(msgspec.json.encode(document) + b"\n")
        return
    typer.echo(plain(f"{done.path}: {done.size / 1e6:.1f} MB, {len(done.sources)} sources, as {done.node}"))
    for source, why in {**done.blind, **done.left_out}.items():
        typer.echo(plain(f"  not in it: {source}: {why}"))
    typer.echo(plain(f"holdfast check --from {done.path}"))

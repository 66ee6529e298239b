"""`holdfast twin`: creates a simulated node, injects and clears faults, and advances its time."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Column, Table

from holdfast.cli.shared.options import AsJson
from holdfast.lab import twin
from holdfast.model.refusal import Refusal

app = typer.Typer(no_args_is_help=True)

Directory = Annotated[Path, typer.Argument(help="The node's folder.", metavar="FOLDER")]


@contextmanager
def _one_sentence() -> Iterator[None]:
    try:
        yield
    except (twin.TwinError, ValueError, OverflowError) as error:
        raise Refusal(str(error)) from None
    except OSError as error:
        raise Refusal(f"{error.filename}: {error.strerror}", exit_code=1) from None


@app.command("node")
def make(
    directory: Directory,
    model: Annotated[
        str,
        typer.Option(
            help="The node: a100, b200, gb200, h100, h200, l40s, mi300x; h100_roce, h100_efa, h200_bnxt, mi300x_ionic "
            "have another network."
        ),
    ] = "h100",
    name: Annotated[str, typer.Option(help="The node's name.")] = "n01",
    as_json: AsJson = False,
) -> None:
    """Create a healthy node in a new folder, with a configuration for every source."""
    with _one_sentence():
        made = twin.make_node(directory, model=model, name=name)
    config = made.directory / "holdfast.toml"
    if as_json:
        ports = [port.name for port in made.ports()]
        typer.echo(
            json.dumps(
                {"node": name, "model": model, "config": str(config), "gpus": made.state.gpu_count, "ports": ports}
            )
        )
        return
    typer.echo(f"{name}: {made.state.gpu_count} x {made.model.gpu_name}, {len(made.ports())} RDMA ports")
    typer.echo(f"holdfast check --config {config}")
    typer.echo(f"LD_LIBRARY_PATH={made.library.parent} gpustat")


@app.command("inject")
def inject(
    directory: Directory,
    fault: Annotated[str, typer.Argument(help="A name of `holdfast twin faults`.", metavar="FAULT")],
    gpu: Annotated[int, typer.Option(help="Which GPU, counted from 0.")] = 0,
    port: Annotated[str, typer.Option(help="RDMA device, such as mlx5_3. The default is the first one.")] = "",
    value: Annotated[str, typer.Option(help="Value of the fault; `holdfast twin faults` explains it.")] = "",
    clear: Annotated[bool, typer.Option("--clear", help="Remove the fault.")] = False,
    as_json: AsJson = False,
) -> None:
    """Inject a fault into a node, or remove it with --clear."""
    with _one_sentence():
        if clear:
            what = twin.clear(directory, fault, gpu=gpu, port=port)
        else:
            what = twin.inject(directory, fault, gpu=gpu, port=port, value=value)
        active = twin.injected(directory)
    if as_json:
        typer.echo(
            json.dumps(
                {"fault": fault, "cleared": clear, "expects": what.expects, "injected": active, "needs": what.needs}
            )
        )
        return
    broke = what.breaks.replace("--value", value or what.default)
    typer.echo(f"cleared: {fault}" if clear else f"{broke}; should change: {_outcome(what, ', ')}")
    if what.needs and not clear:
        typer.echo(f"one `holdfast check` does not show it: needs {what.needs}")
    typer.echo(f"injected now: {', '.join(active) or 'nothing'}")


@app.command("faults")
def faults(as_json: AsJson = False) -> None:
    """List the faults: what each breaks, which checks should change, and what it needs to show beyond one reading."""
    known = twin.all_faults().values()
    if as_json:
        rows = [
            {
                "fault": f.name,
                "on": f.on,
                "breaks": f.breaks,
                "value": f.default,
                "expects": f.expects,
                "blinds": f.blinds,
                "needs": f.needs,
            }
            for f in known
        ]
        typer.echo(json.dumps(rows))
        return
    table = Table(
        Column("fault", no_wrap=True), "on", "breaks", "--value", Column("expected", no_wrap=True), "needs", box=None
    )
    for one in known:
        table.add_row(one.name, one.on, one.breaks, one.default, _outcome(one, "\n"), one.needs)
    Console(emoji=False).print(table)


def _outcome(fault: twin.Fault, between: str) -> str:
    """The expected effect of a fault on the verdicts; a source that cannot be read makes them unknown."""
    return between.join(fault.expects) or (f"nothing; blinds {fault.blinds}" if fault.blinds else "nothing")


@app.command("tick")
def tick(
    directory: Directory,
    seconds: Annotated[float, typer.Option(min=0.0, max=1e7, help="How much time passes.")] = 1.0,
    seed: Annotated[int, typer.Option(help="The same seed gives the same noise.")] = 0,
    live: Annotated[
        bool, typer.Option("--live", help="Continue in real time, one tick per second, until interrupted.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Let time pass: traffic counters grow, temperatures and power move a little."""
    if live and as_json:
        raise Refusal("--json: expected no --live, which runs until it is interrupted and prints no result")
    with _one_sentence():
        node = twin.open_node(directory)
        twin.tick(node, seconds, seed)
        while live:
            time.sleep(1.0)
            twin.tick(node, 1.0, seed)
    typer.echo(json.dumps({"node": node.name, "seconds": seconds}) if as_json else f"{node.name}: {seconds:g} s passed")


@app.command("replay")
def replay(
    bundle: Annotated[Path, typer.Argument(help="A bundle of `holdfast capture`.", metavar="BUNDLE")],
    minutes: Annotated[float, typer.Option(min=0.1, help="How long the agent runs on it, in virtual time.")] = 10.0,
    config: Annotated[str, typer.Option(help="Configuration file with limits; the defaults if not given.")] = "",
    as_json: AsJson = False,
) -> None:
    """Run the agent on a captured bundle in virtual time, and print every verdict and its changes."""
    from holdfast.node.agent.assemble import load_settings
    from holdfast.node.capture import bundle as bundles

    loaded = bundles.load(bundle)
    node, changes = bundles.replay(loaded, load_settings(config), 60.0 * minutes)
    first = {change.check for change in changes if not change.before}
    later = [change for change in changes if change.before]
    if as_json:
        verdicts = [verdict.as_json() for verdict in node.verdicts.values()]
        shown = [{"at": one.at, "check": one.check, "before": one.before, "after": one.after} for one in later]
        typer.echo(
            json.dumps({"node": loaded.node, "health": node.health.value, "verdicts": verdicts, "changes": shown})
        )
        return
    for verdict in node.verdicts.values():
        if verdict.state not in ("pass", "disabled", "not_applicable"):
            typer.echo(f"{verdict.state}: {verdict.check}: {verdict.summary()}")
    for one in later:
        typer.echo(f"{one.at - loaded.captured_at:.0f} s: {one.check}: {one.before} -> {one.after}: {one.reason}")
    typer.echo(f"{loaded.node}: {node.health.value}; {len(first)} checks, {len(later)} changes in {minutes:g} min")

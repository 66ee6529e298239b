"""`holdfast job`: training jobs: progress, slow ranks, where time went, what a failure would lose."""

import json
from typing import Annotated, Any
from urllib.parse import quote

import typer

from holdfast.cli.job.checkpoints import show_places
from holdfast.cli.job.clean import clean
from holdfast.cli.shared.fleet_clock import FleetClock, fleet_clock
from holdfast.cli.shared.options import AsJson, Token, Url
from holdfast.cli.shared.table import console, count, plain, print_list, styled, table
from holdfast.client.client import connect
from holdfast.config.quantities import lasting

app = typer.Typer(no_args_is_help=True)
app.command()(clean)
Document = dict[str, Any]


@app.command("list")
def list_jobs(url: Url = "", token: Token = "", as_json: AsJson = False) -> None:
    """List training jobs whose ranks report progress: running jobs first, then by size."""
    found = connect(url, token).get("/v1/trainings")
    if as_json:
        typer.echo(json.dumps(found))
        return
    rows = [
        [
            plain(one["job"]),
            styled(one["state"]),
            styled(one["health"]),
            f"{one['ranks_reporting']}/{one['world']}",
            str(one["step"]),
            _seconds(one["step_seconds"]),
            _share(one["goodput"]),
            _hours(one["exposure_gpu_hours"]),
            plain(one["reason"]),
        ]
        for one in sorted(found["jobs"], key=_place)
    ]
    if rows:
        print_list(("job", "state", "health", "ranks", "step", "a step", "goodput", "at risk", "why"), rows)
    else:
        console().print("No job reports its progress; see docs/progress.md.")


def _place(one: Document) -> tuple[bool, int, str]:
    """A stable order, the same as on the page."""
    return one["state"] != "running", -one["world"], one["job"]


@app.command()
def show(
    name: Annotated[str, typer.Argument(help="The job; OWNER:NAME if several users have a job of that name.")],
    files: Annotated[
        str, typer.Option(help="Read the files in this folder that ranks wrote because no agent ran.")
    ] = "",
    url: Url = "",
    token: Token = "",
    as_json: AsJson = False,
) -> None:
    """Show a training job: ledger, exposure, where its checkpoints are, restarts, slow ranks and links."""
    if files:
        from holdfast.diagnosis.evidence.rank_files import read

        found, times = read(files, name), FleetClock()
    else:
        client = connect(url, token)
        found, times = client.get(f"/v1/trainings/{quote(name, safe='')}"), fleet_clock(client)
    if as_json:
        typer.echo(json.dumps(found))
        return
    _print(found, times)


def _print(found: Document, times: FleetClock) -> None:
    out = console()
    ranks = f"{found['ranks_reporting']} of {found['world']} ranks on {count(len(found['nodes']), 'node')}"
    last = times.ago(found["last_report_at"])
    out.print(f"{plain(found['job'])} of {plain(found['owner'])}: {found['state']}, {ranks}, last report {last}")
    if found["reason"]:
        out.print(f"{styled(found['health'])}: {plain(found['reason'])}")
    loss = "" if found["loss"] is None else f", loss {found['loss']:.4g}"
    rate = "" if not found["tokens_per_second"] else f", {found['tokens_per_second']:,.0f} tokens/s"
    usual = _seconds(found["usual_step_seconds"])
    out.print(f"step {found['step']}, {_seconds(found['step_seconds'])} a step (usually {usual}){rate}{loss}")
    shares = f"goodput {_share(found['goodput'])}, ETTR {_share(found['ettr'])}"
    out.print(
        f"{shares}, checkpoint efficiency {_share(found['checkpoint_efficiency'])}, "
        f"{found['cluster_days']:.3g} cluster-days of progress in {lasting(found['elapsed_seconds'])}"
    )
    _exposed(found["exposure"], out)
    show_places(found["checkpoints"], out)
    rows = table("GPU-hours", "", "share")
    whole = sum(found["gpu_hours"].values()) or 1.0
    for part, hours in found["gpu_hours"].items():
        if hours:
            rows.add_row(part, f"{hours:,.3f}", f"{100 * (hours / whole):.1f} %")
    out.print(rows)
    _restarts(found["restarts"], times, out)
    for one in found["slow"]:
        whole_job = one["subject"] == f"job/{found['job']}"
        words = one["reason"] or f"takes {100 * one['ratio']:.0f} % longer than {'usual' if whole_job else 'its peers'}"
        since = "" if one["since"] is None else f", for {lasting(times.seconds_since(one['since']))}"
        out.print(f"slow: {plain(one['subject'])}: {plain(words)}{since}")
    if found["trouble"]:
        out.print(plain(found["trouble"]))


def _restarts(restarts: list[Document], times: FleetClock, out: Any) -> None:
    for one in restarts:
        cost = f"{one['gpu_hours']:.3f} GPU-hours: {lasting(one['down_seconds'])} down"
        where = "the beginning" if one["from_step"] < 0 else f"step {one['from_step']}"
        again = f"{count(one['lost_steps'], 'step')} repeated from {where}"
        out.print(f"restart {times.ago(one['at'])}: {cost}, {again}")
        unknown = ["none of its nodes left service before; `holdfast diagnose` reads its logs"]
        for line in one.get("notes") or unknown:
            out.print(f"  {plain(line)}")


def _exposed(exposure: Document | None, out: Any) -> None:
    if exposure is None:
        return
    since = "no checkpoint was reported" if exposure["saved_step"] < 0 else f"step {exposure['saved_step']} is safe"
    tokens = f", {exposure['tokens']:,.0f} tokens" if exposure["tokens"] else ""
    text = f"{count(exposure['steps'], 'step')}, {exposure['gpu_hours']:.3f} GPU-hours{tokens}"
    out.print(f"a failure now would lose {text} ({since})")


def _seconds(value: float | None) -> str:
    return "?" if value is None else f"{value:.3g} s"


def _share(value: float | None) -> str:
    return "?" if value is None else f"{100 * value:.1f} %"


def _hours(value: float | None) -> str:
    return "?" if value is None else f"{value:.3g} GPU-h"

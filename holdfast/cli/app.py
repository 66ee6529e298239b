"""Every command, joined."""

import typer

from holdfast import __version__
from holdfast.cli import (
    agent,
    audit,
    check,
    controller,
    diagnose,
    doctor,
    drill,
    gate_command,
    incident,
    job,
    node,
    plan,
    policy,
    probe,
    report,
    running,
    seam,
    signals,
    simulate,
    token,
    twin,
    up,
)
from holdfast.cli import (
    run as run_command,
)

app = typer.Typer(
    name="holdfast",
    help="Keeps GPU fleets productive: checks nodes, says what is wrong and what to do.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command()(up.up)
app.command()(check.check)
app.command(context_settings=gate_command.CONTEXT)(gate_command.gate)
app.command()(signals.signals)
app.command()(doctor.doctor)
app.command()(agent.agent)
app.command()(controller.controller)
app.command()(diagnose.diagnose)
app.command()(simulate.simulate)
app.command()(report.report)
app.command(context_settings=run_command.CONTEXT)(run_command.run)
app.command()(audit.audit)
app.add_typer(job.app, name="job")
app.add_typer(drill.app, name="drill")
app.add_typer(incident.app, name="incident")
app.add_typer(node.app, name="node")
app.add_typer(plan.app, name="plan")
app.add_typer(policy.app, name="policy")
app.add_typer(probe.app, name="probe")
app.add_typer(seam.app, name="seam")
app.add_typer(token.app, name="token")
app.add_typer(twin.app, name="twin")


@app.callback(invoke_without_command=True)
def _version(version: bool = typer.Option(False, "--version", help="Print the version and stop.")) -> None:
    if version:
        typer.echo(f"holdfast {__version__}")
        raise typer.Exit


def run(arguments: list[str]) -> int:
    return running.run(app, arguments)

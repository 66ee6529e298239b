"""Every command, joined. Usage errors exit 64 with one sentence; bad configuration likewise."""

import sys

import typer

from holdfast import __version__
from holdfast.cli import (
    agent,
    audit,
    check,
    controller,
    diagnose,
    doctor,
    gate_command,
    node,
    plan,
    policy,
    signals,
    token,
    twin,
    up,
)
from holdfast.cli.refusal import Refusal
from holdfast.model.settings import SettingsError

USAGE_ERROR = 64
# Typer brings its own copy of Click in newer versions; its one exported error leads to the others in both.
_UsageError: type[Exception] = typer.BadParameter.__mro__[1]
_CommandError: type[Exception] = typer.BadParameter.__mro__[2]

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
app.command()(audit.audit)
app.add_typer(node.app, name="node")
app.add_typer(plan.app, name="plan")
app.add_typer(policy.app, name="policy")
app.add_typer(token.app, name="token")
app.add_typer(twin.app, name="twin")


@app.callback(invoke_without_command=True)
def _version(version: bool = typer.Option(False, "--version", help="Print the version and stop.")) -> None:
    if version:
        typer.echo(f"holdfast {__version__}")
        raise typer.Exit


def run(arguments: list[str]) -> int:
    command = typer.main.get_command(app)
    try:
        result = command.main(arguments, prog_name="holdfast", standalone_mode=False)
    except Refusal as error:
        return _refuse(str(error), error.exit_code)
    except SettingsError as error:
        return _refuse(str(error), USAGE_ERROR)
    except _CommandError as error:
        said = str(getattr(error, "format_message", error.__str__)())
        return _refuse(said, USAGE_ERROR if isinstance(error, _UsageError) else 1)
    except (typer.Abort, KeyboardInterrupt):
        return 130
    return result if isinstance(result, int) else 0


def _refuse(sentence: str, code: int) -> int:
    sys.stderr.write(f"holdfast: {sentence}\n")
    return code

"""Runs a command line. Usage errors and bad configuration exit 64 with one sentence."""

import sys

import typer

from holdfast.economics.costs.feasible import BadNumber
from holdfast.model.refusal import Refusal
from holdfast.model.settings import SettingsError

USAGE_ERROR = 64
NOT_FOUND = "not_found"  # the controller's error code
UNAUTHORIZED = "unauthorized"
LISTED_BY = {
    "node": "node list",
    "incident": "incident list",
    "inbox": "inbox list",
    "job": "job list",
    "token": "token list",
    "probe": "node list",
}
# Typer brings its own copy of Click in newer versions; its one exported error leads to the others in both.
_UsageError: type[Exception] = typer.BadParameter.__mro__[1]
_CommandError: type[Exception] = typer.BadParameter.__mro__[2]


def run(app: typer.Typer, arguments: list[str]) -> int:
    command = typer.main.get_command(app)
    try:
        result = command.main(arguments, prog_name="holdfast", standalone_mode=False)
    except Refusal as error:
        return _refuse(f"{error}{_next(arguments, error.code)}", error.exit_code)
    except (SettingsError, BadNumber) as error:
        return _refuse(str(error), USAGE_ERROR)
    except _CommandError as error:
        sentence = str(getattr(error, "format_message", error.__str__)())
        help_of = _help_of(error)
        message = f"{sentence.removesuffix('.')}{help_of}" if help_of else sentence
        return _refuse(message, USAGE_ERROR if isinstance(error, _UsageError) else 1)
    except (typer.Abort, KeyboardInterrupt):
        return 130
    return result if isinstance(result, int) else 0


def _next(arguments: list[str], code: str) -> str:
    """The next command to try: after an unknown name, the command that lists the names."""
    if code == UNAUTHORIZED:
        return "; --token or $HOLDFAST_TOKEN sets it, `holdfast token create NAME` makes one (as an administrator)"
    listing = LISTED_BY.get(arguments[0]) if arguments and code == NOT_FOUND else None
    return f"; `holdfast {listing}` lists what there is" if listing else ""


def _help_of(error: Exception) -> str:
    """The help command, after a wrong option."""
    path = getattr(getattr(error, "ctx", None), "command_path", "")
    sentence = str(getattr(error, "format_message", error.__str__)())
    return f"; see `{path} -h`" if path and not sentence.startswith("Usage: ") else ""


def _refuse(sentence: str, code: int) -> int:
    """Prints a usage error. A noun without a verb gets its help text, without our prefix."""
    sys.stderr.write(f"{sentence}\n" if sentence.startswith("Usage: ") else f"holdfast: {sentence}\n")
    return code

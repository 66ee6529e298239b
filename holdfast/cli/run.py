"""`holdfast run -- CMD`: supervise a training command; restart it, or stop and say why."""

import socket
import sys
from pathlib import Path
from typing import Annotated

import typer

from holdfast.cli.refusal import Refusal

CONTEXT = {"ignore_unknown_options": True, "allow_interspersed_args": False}


def run(
    command: Annotated[list[str], typer.Argument(help="The training command, after `--`.")],
    folder: Annotated[Path, typer.Option(help="Logs of attempts, and what a run remembers.")] = Path("holdfast-run"),
    node: str = typer.Option("", help="This machine's name; its short host name where not given."),
    same_cause: int = typer.Option(3, min=1, help="Attempts that may end by one cause without coming further."),
    hang_factor: float = typer.Option(5.0, min=1.0, help="Silence of so many times the longest gap is a hang."),
    hang_floor_seconds: float = typer.Option(60.0, min=0.1, help="But no silence shorter than this."),
    grace_seconds: float = typer.Option(10.0, min=0.0, help="Between asking processes to end and killing them."),
    backoff_seconds: float = typer.Option(5.0, min=0.0, help="First wait after an attempt without progress; doubles."),
    storage_patience_seconds: float = typer.Option(3600.0, help="How long to wait for full or silent storage."),
    kernel_log: str = typer.Option("/dev/kmsg", help="Where the kernel's messages are read."),
) -> int:
    """Supervise a training command: say why it ended, start it again where that helps, stop where it does not.

    Exit code: 0 ended well, 93 another run would be a waste (tell the scheduler not to requeue), else the command's.
    """
    from holdfast.supervisor.decide import Budget
    from holdfast.supervisor.loop import Supervisor
    from holdfast.supervisor.memory import Busy
    from holdfast.supervisor.options import Options

    options = Options(
        command=tuple(command), node=node or socket.gethostname().partition(".")[0], folder=folder,
        budget=Budget(same_cause=same_cause, first_wait_seconds=backoff_seconds), hang_factor=hang_factor,
        hang_floor_seconds=hang_floor_seconds, grace_seconds=grace_seconds,
        storage_patience_seconds=storage_patience_seconds, kernel_log=kernel_log,
    )  # fmt: skip
    try:
        return Supervisor(options, _tell).run()
    except Busy as why:
        raise Refusal(str(why)) from None
    except FileNotFoundError as error:
        raise Refusal(f"{error.filename}: no such command; expected one to run after --") from None


def _tell(sentence: str) -> None:
    sys.stderr.write(f"holdfast: {sentence}\n")
    sys.stderr.flush()

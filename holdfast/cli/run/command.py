"""`holdfast run -- CMD`: supervise a training command; restart it, or stop and say why."""

import os
import shlex
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli.shared.options import Token, Url
from holdfast.client.client import connect
from holdfast.config.extra import needs_extra
from holdfast.model.refusal import Refusal

if TYPE_CHECKING:
    from holdfast.supervisor.nodes.c10d import Together
    from holdfast.supervisor.nodes.fleet import Fleet
    from holdfast.supervisor.nodes.rendezvous import Alone
    from holdfast.supervisor.options import Options

_ASSEMBLY_SECONDS = 600.0
_ENTRY = "from holdfast.cli import main; main()"
_OWN_PROBE = (sys.executable, "-c", _ENTRY, "check", "--stage", "bootstrap", "--no-active", "--json")

CONTEXT = {"ignore_unknown_options": True, "allow_interspersed_args": False}


def run(
    command: Annotated[list[str], typer.Argument(help="The training command, after `--`.")],
    folder: Annotated[Path, typer.Option(help="Logs of attempts, and what a run remembers.")] = Path("holdfast-run"),
    node: str = typer.Option("", help="This machine's name; Slurm's, or its short host name, where not given."),
    same_cause: int = typer.Option(3, min=1, help="Attempts that may end by one cause without coming further."),
    hang_factor: float = typer.Option(5.0, min=1.0, help="Silence of so many times the longest gap is a hang."),
    hang_floor_seconds: float = typer.Option(60.0, min=0.1, help="But no silence shorter than this."),
    grace_seconds: float = typer.Option(10.0, min=0.0, help="Between asking processes to end and killing them."),
    backoff_seconds: float = typer.Option(5.0, min=0.0, help="First wait after an attempt without progress; doubles."),
    storage_patience_seconds: float = typer.Option(3600.0, help="How long to wait for full or silent storage."),
    kernel_log: str = typer.Option("/dev/kmsg", help="Where the kernel's messages are read."),
    verdict_file: str = typer.Option("/run/holdfast/verdict.json", help="What this node's agent says, where one runs."),
    tune_nccl: bool = typer.Option(False, help="Set what NCCL survives more with, where the job sets nothing."),
    nodes: int = typer.Option(
        0, min=0, help="On several nodes, one of us on each: how many take part; others stand by."
    ),
    store: str = typer.Option("", help="On the leader's node; the nodes agree over it: docs/run.md."),
    lead: bool = typer.Option(False, help="Decide here. Without it the first node of a Slurm or Kubernetes job does."),
    probe: str = typer.Option("", help="Proves a node before a restart that wants it; else the suite of `check`."),
    url: Url = "",
    token: Token = "",
    lost_seconds: float = typer.Option(15.0, min=1.0, help="A node without a report for so long is presumed lost."),
) -> int:
    """Supervise a training command: say why it ended, start it again where that helps, stop where it does not.

    Exit code: 0 ended well, 93 another run would be a waste (tell the scheduler not to requeue), else the command's.
    """
    from holdfast.catalog.nccl_tuning import environment
    from holdfast.supervisor.decide import Budget
    from holdfast.supervisor.memory import Busy
    from holdfast.supervisor.nodes.rendezvous import LeaderLost
    from holdfast.supervisor.options import Options

    options = Options(
        command=tuple(command), node=node or _this_node(), folder=folder,
        budget=Budget(same_cause=same_cause, first_wait_seconds=backoff_seconds), hang_factor=hang_factor,
        hang_floor_seconds=hang_floor_seconds, grace_seconds=grace_seconds,
        storage_patience_seconds=storage_patience_seconds, kernel_log=kernel_log, verdict_file=verdict_file,
        environ=environment() if tune_nccl else {}, probe=tuple(shlex.split(probe)) or _OWN_PROBE,
    )  # fmt: skip
    try:
        return _supervise(options, _rendezvous(options.node, nodes, store, lead, lost_seconds), _fleet(url, token))
    except Busy as why:
        raise Refusal(str(why)) from None
    except LeaderLost as why:
        raise Refusal(str(why), 1) from None
    except FileNotFoundError as error:
        raise Refusal(f"{error.filename}: no such command; expected one to run after --") from None


def _this_node() -> str:
    return os.environ.get("SLURMD_NODENAME") or socket.gethostname().partition(".")[0]


def _rendezvous(node: str, nodes: int, store: str, lead: bool, lost_seconds: float) -> "Alone | Together":
    from holdfast.supervisor.nodes.rendezvous import Alone

    if not nodes and not store:
        return Alone(node)
    host, _, port = store.rpartition(":")
    if not nodes or not host or not port.isdecimal():
        raise Refusal(f"--nodes {nodes} --store {store!r}: expected how many nodes take part, and HOST:PORT")
    with needs_extra("training"):
        from holdfast.supervisor.nodes.c10d import Together, leads_by_scheduler
    return Together(node, store, lead or leads_by_scheduler(), nodes, lost_seconds, _ASSEMBLY_SECONDS)


def _fleet(url: str, token: str) -> "Fleet | None":
    """Only where a controller is named: the one that `holdfast up` started here has no training nodes."""
    if not url and not os.environ.get("HOLDFAST_URL"):
        return None
    from holdfast.supervisor.nodes.controller import ControllerFleet

    return ControllerFleet(connect(url, token), _tell)


def _supervise(options: "Options", rendezvous: "Alone | Together", fleet: "Fleet | None") -> int:
    from holdfast.supervisor.loop import Supervisor
    from holdfast.supervisor.nodes.follower import follow
    from holdfast.supervisor.nodes.rendezvous import Alone

    if isinstance(rendezvous, Alone) or rendezvous.leads:
        return Supervisor(options, rendezvous, _tell, fleet).run()
    return follow(options, rendezvous, _tell)


def _tell(sentence: str) -> None:
    sys.stderr.write(f"holdfast: {sentence}\n")
    sys.stderr.flush()

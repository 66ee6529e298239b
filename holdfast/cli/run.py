"""`holdfast run -- CMD`: supervises a training command; restarts it, or stops and says why."""

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
    from holdfast.supervisor.loop import FleetClient
    from holdfast.supervisor.nodes.c10d import C10dRendezvous
    from holdfast.supervisor.nodes.rendezvous import SingleNode
    from holdfast.supervisor.options import RunOptions

_ENTRY = "from holdfast.cli import main; main()"
_OWN_PROBE = (sys.executable, "-c", _ENTRY, "check", "--stage", "bootstrap", "--no-active", "--json")

CONTEXT = {"ignore_unknown_options": True, "allow_interspersed_args": False}


def run(
    command: Annotated[list[str], typer.Argument(help="The training command, after `--`.")],
    folder: Annotated[Path, typer.Option(help="Logs of attempts and the state of the run.")] = Path("holdfast-run"),
    node: str = typer.Option("", help="Name of this machine; default: Slurm's node name, or the short host name."),
    same_cause: int = typer.Option(3, min=1, help="Stop after this many attempts without progress for one cause."),
    hang_factor: float = typer.Option(
        5.0, min=1.0, help="N times the longest gap so far without progress: a suspected hang."
    ),
    hang_floor_seconds: float = typer.Option(60.0, min=0.1, help="Shortest silence that is a hang."),
    grace_seconds: float = typer.Option(10.0, min=0.0, help="Time between SIGTERM and SIGKILL."),
    backoff_seconds: float = typer.Option(5.0, min=0.0, help="First wait after an attempt without progress; doubles."),
    storage_timeout_seconds: float = typer.Option(3600.0, help="How long to wait for full or silent storage."),
    kernel_log: str = typer.Option("/dev/kmsg", help="File with kernel messages."),
    verdict_file: str = typer.Option("/run/holdfast/verdict.json", help="Verdicts of this node's agent, if one runs."),
    tune_nccl: bool = typer.Option(False, help="Set NCCL variables for longer outages, where the job sets none."),
    nodes: int = typer.Option(
        0, min=0, help="Nodes of the job, one supervisor on each; further nodes are spares. 0: this node only."
    ),
    min_nodes: int = typer.Option(
        0, min=0, help="Continue with this many when no spare is left.", show_default="--nodes"
    ),
    max_nodes: int = typer.Option(0, min=0, help="Use up to this many once they join.", show_default="--nodes"),
    store: str = typer.Option("", help="HOST:PORT on the leader's node for the supervisors' rendezvous: docs/run.md."),
    lead: bool = typer.Option(False, help="Lead here. Without it the first node of a Slurm or Kubernetes job leads."),
    probe: str = typer.Option("", help="Command that tests a node before a restart; else `holdfast check`."),
    url: Url = "",
    token: Token = "",
    lost_seconds: float = typer.Option(15.0, min=1.0, help="A node is presumed lost after this time without a report."),
) -> int:
    """Supervise a training command: report why it ended, and restart it or stop.

    Exit code: 0 ended well, 93 another run would fail too (do not requeue), else the command's.
    """
    from holdfast.catalog.nccl_tuning import environment
    from holdfast.supervisor.decide import Budget
    from holdfast.supervisor.nodes.rendezvous import LeaderLost
    from holdfast.supervisor.options import RunOptions
    from holdfast.supervisor.run_record import Busy

    options = RunOptions(
        command=tuple(command), node=node or _this_node(), folder=folder,
        budget=Budget(same_cause=same_cause, first_wait_seconds=backoff_seconds), hang_factor=hang_factor,
        hang_floor_seconds=hang_floor_seconds, grace_seconds=grace_seconds,
        storage_timeout_seconds=storage_timeout_seconds, kernel_log=kernel_log, verdict_file=verdict_file,
        environ=environment() if tune_nccl else {}, probe=tuple(shlex.split(probe)) or _OWN_PROBE,
    )  # fmt: skip
    try:
        size = (min_nodes or nodes, max_nodes or nodes or min_nodes)
        return _supervise(options, _rendezvous(options, size, store, lead, lost_seconds), _fleet(url, token))
    except Busy as why:
        raise Refusal(str(why)) from None
    except LeaderLost as why:
        raise Refusal(str(why), 1) from None
    except FileNotFoundError as error:
        raise Refusal(f"{error.filename}: no such command; expected one to run after --") from None


def _this_node() -> str:
    return os.environ.get("SLURMD_NODENAME") or socket.gethostname().partition(".")[0]


def _rendezvous(
    options: "RunOptions", size: tuple[int, int], store: str, lead: bool, lost_seconds: float
) -> "SingleNode | C10dRendezvous":
    from holdfast.runtime.job_secret import SecretError, job_secret
    from holdfast.supervisor.nodes.rendezvous import SingleNode

    if not any(size) and not store:
        return SingleNode(options.node)
    host, _, port = store.rpartition(":")
    if not 0 < size[0] <= size[1] or not host or not port.isdecimal():
        raise Refusal(f"{size[0]} to {size[1]} nodes, --store {store!r}: expected the number of nodes, and HOST:PORT")
    with needs_extra("training"):
        from holdfast.supervisor.nodes.c10d import C10dRendezvous, Size, StoreTimeouts, leads_by_scheduler
    options.folder.mkdir(parents=True, exist_ok=True)
    try:
        secret = job_secret(options.folder)
    except SecretError as why:
        raise Refusal(str(why)) from None
    timeout, leads = StoreTimeouts(lost_seconds=lost_seconds), lead or leads_by_scheduler()
    return C10dRendezvous(options.node, store, secret, Size(*size), timeout, leads=leads, notify=_notify)


def _fleet(url: str, token: str) -> "FleetClient | None":
    """The controller, only if it is named: the one of a local `holdfast up` has no training nodes."""
    if not url and not os.environ.get("HOLDFAST_URL"):
        return None
    from holdfast.supervisor.nodes.controller import ControllerFleet

    return ControllerFleet(connect(url, token), _notify)


def _supervise(options: "RunOptions", rendezvous: "SingleNode | C10dRendezvous", fleet: "FleetClient | None") -> int:
    from holdfast.supervisor.loop import Supervisor, follow
    from holdfast.supervisor.nodes.rendezvous import SingleNode

    if isinstance(rendezvous, SingleNode) or rendezvous.leads:
        return Supervisor(options, rendezvous, _notify, fleet).run()
    return follow(options, rendezvous, _notify)


def _notify(sentence: str) -> None:
    sys.stderr.write(f"holdfast: {sentence}\n")
    sys.stderr.flush()

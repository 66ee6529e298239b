"""`holdfast probe`: measures the fabric between hosts, and names the part that is slow or wrong."""

import sys
from typing import Annotated

import typer

from holdfast.cli.probe.show import show
from holdfast.cli.shared.options import AsJson, Config, Token, Url

MAIN = "from holdfast.cli import main; main()"  # the program that a host of `stress --hosts` runs

app = typer.Typer(no_args_is_help=True)
app.command()(show)

Hosts = Annotated[
    str, typer.Option(help="File with a host per line: `name address [leaf=L] [launch command...]`; or TOML.")
]
Slurm = Annotated[str, typer.Option(help="A Slurm hostlist instead, such as n[1-4]: workers start with srun.")]
Local = Annotated[int, typer.Option(help="This many processes on this machine instead of hosts.")]


@app.command()
def run(
    hosts: Hosts = "",
    slurm: Slurm = "",
    local: Local = 0,
    nodes: str = typer.Option(
        "", help="Nodes of the controller instead, such as n[01-08]: their agents are the workers."
    ),
    reason: str = typer.Option("", help="With --nodes: why; it is recorded with your name."),
    torchrun: bool = typer.Option(
        False, "--torchrun", help="The workers are the processes that torchrun started with this same command."
    ),
    operation: str = typer.Option(
        "all_reduce", help="all_reduce, all_gather, reduce_scatter, all_to_all or send_recv."
    ),
    backend: str = typer.Option("gloo", help="gloo, or nccl on GPUs."),
    smallest: str = typer.Option("8", help="Smallest payload of the sweep in bytes, or with KiB, MiB, GiB."),
    largest: str = typer.Option("2GiB", help="Largest payload; the sweep stops earlier if memory or time run out."),
    pair_bytes: str = typer.Option("8MiB", help="Payload for the comparison of pairs."),
    longest_seconds: float = typer.Option(10.0, help="Try no larger size after an exchange that takes this long."),
    timeout_seconds: float = typer.Option(120.0, help="How long a host may stay silent before it counts as absent."),
    spoil: str = typer.Option("", hidden=True, help="For tests: one wrong number in this rank's sum at this size."),
    fabric: str = typer.Option("", help="Compare the sweep with the limits of this fabric in the catalog (reference)."),
    topology: str = typer.Option(
        "",
        help="Where hosts are in the fabric: a file (ibnetdiscover with dump_fts, topology.conf, `node list --json`), "
        "`controller`, or `ib` to read the subnet.",
    ),
    adaptive: bool = typer.Option(False, help="The fabric routes adaptively: name leaf pairs, not single links."),
    baseline: str = typer.Option(
        "", help="File of this cluster's past sweeps to compare with; a healthy sweep is added."
    ),
    nccl_tests: str = typer.Option(
        "",
        help="Evaluate this nccl-tests output instead, or run this nccl-tests binary here, or a command such as "
        "'mpirun -np 16 --hostfile H all_reduce_perf'.",
    ),
    url: Url = "",
    token: Token = "",
    as_json: AsJson = False,
) -> None:
    """Sweep a collective over all hosts, compare pairs, and name the node, pair, leaf or trunk that is slow.

    Exit code: 0 all pass, 1 a range of sizes is slow, 2 something failed, 3 a host could not take part.
    Needs torch on every host.
    """
    from rich.console import Console

    from holdfast.cli.probe.report import print_sweep
    from holdfast.node.probes.runs import sweep
    from holdfast.node.probes.runs.agents import ControllerAccess

    options = sweep.SweepOptions(
        hosts=hosts,
        slurm=slurm,
        local=local,
        nodes=nodes,
        torchrun=torchrun,
        operation=operation,
        backend=backend,
        smallest=smallest,
        largest=largest,
        pair_bytes=pair_bytes,
        longest_seconds=longest_seconds,
        timeout_seconds=timeout_seconds,
        spoil=spoil,
        fabric=fabric,
        topology=topology,
        adaptive=adaptive,
        baseline=baseline,
        nccl_tests=nccl_tests,
        controller=ControllerAccess(reason, url, token),
    )
    with Console(stderr=True, emoji=False).status("probing") as status:
        report = sweep.run(options, lambda text: status.update(text))
    raise typer.Exit(0 if report is None else print_sweep(report, as_json))


@app.command()
def fingerprint(
    hosts: Hosts = "",
    slurm: Slurm = "",
    local: Local = 0,
    repeats: int = typer.Option(5, min=2, help="Repeats per device; silent corruption is rare."),
    golden: str = typer.Option(
        "", help="File of expected bits per kind of device; new kinds are added from the majority."
    ),
    flip: int = typer.Option(-1, hidden=True, help="For tests: flip one input bit of this rank."),
    as_json: AsJson = False,
) -> None:
    """Compute the same fixed numbers on every device, and name the one whose bits differ from the majority's.

    Exit code: 0 all agree, 2 a device computes other bits, 3 a host could not take part.
    """
    from rich.console import Console

    from holdfast.cli.probe.report import print_fingerprints
    from holdfast.node.probes.runs import fingerprint as service
    from holdfast.node.probes.runs.hosts import chosen_hosts

    chosen = chosen_hosts(hosts, slurm, local)
    with Console(stderr=True, emoji=False).status("computing"):
        verdict = service.run(chosen, repeats, flip, golden)
    raise typer.Exit(print_fingerprints(verdict, as_json))


@app.command()
def stress(
    profile: str = typer.Option(..., help="pretrain, rl, agentic, documents, recommender, vision, or one of --file."),
    file: str = typer.Option("", help="TOML with profiles of your own; see docs/probes.md."),
    minutes: float = typer.Option(1.0, min=0.0, help="How long the load runs."),
    seconds: float = typer.Option(0.0, min=0.0, help="How long, in seconds instead of minutes."),
    workers: int = typer.Option(0, min=0, help="Maximum number of devices; on a CPU, of processes (2)."),
    config: Config = "",
    hosts: Hosts = "",
    slurm: Slurm = "",
    as_json: AsJson = False,
) -> None:
    """Put a shaped load on every device while the passive checks run, and report what changed.

    Exit code: 0 nothing, 1 a device lagged or a check changed, 2 a worker never reported or died.
    """
    from holdfast.cli.probe.report import print_stress
    from holdfast.node.agent.assemble import load_settings
    from holdfast.node.probes.runs import stress as service
    from holdfast.node.probes.runs.hosts import chosen_hosts

    chosen, lasts = service.find_profile(profile, file), seconds or 60.0 * minutes
    if hosts or slurm:
        command = [sys.executable, "-c", MAIN, "probe", "stress", "--profile", chosen.name, "--seconds", str(lasts)]
        command += ["--workers", str(workers), "--json"]
        command += ["--file", file] if file else []
        command += ["--config", config] if config else []
        found = service.run_on_hosts(chosen, chosen_hosts(hosts, slurm, 0), command, lasts)
    else:
        found = service.run(chosen, load_settings(config), lasts, workers, lambda text: typer.echo(text, err=True))
    raise typer.Exit(print_stress(found, as_json))

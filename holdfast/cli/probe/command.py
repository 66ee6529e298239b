"""holdfast probe: measure the fabric between hosts, and name the part that is slow or wrong."""

import typer

from holdfast.cli.probe.show import show
from holdfast.client.client import Token, Url

app = typer.Typer(no_args_is_help=True)
app.command()(show)


@app.command()
def run(
    hosts: str = typer.Option("", help="File with a host a line: `name address [leaf=L] [launch words...]`; or TOML."),
    slurm: str = typer.Option(
        "", help="Hosts by Slurm instead, as a hostlist such as n[1-4]: workers start with srun."
    ),
    local: int = typer.Option(0, help="So many processes on this machine instead of hosts."),
    nodes: str = typer.Option(
        "", help="Nodes of the controller instead, such as n[01-08]: their agents are the workers."
    ),
    reason: str = typer.Option("", help="Why, with --nodes; it is kept with who asked."),
    torchrun: bool = typer.Option(
        False, "--torchrun", help="Workers are the processes that torchrun started with these same words."
    ),
    operation: str = typer.Option(
        "all_reduce", help="all_reduce, all_gather, reduce_scatter, all_to_all or send_recv."
    ),
    backend: str = typer.Option("gloo", help="gloo, or nccl on GPUs."),
    smallest: str = typer.Option("8", help="Smallest payload of the sweep in bytes, or with KiB, MiB, GiB."),
    largest: str = typer.Option("2GiB", help="Largest payload; stops earlier where memory or time do not allow it."),
    pair_bytes: str = typer.Option("8MiB", help="Payload with which pairs are compared."),
    longest_seconds: float = typer.Option(10.0, help="After an exchange as long as this no larger size is tried."),
    patience_seconds: float = typer.Option(120.0, help="How long a host may stay silent before it counts as absent."),
    spoil: str = typer.Option("", help="A drill: RANK:BYTES puts one wrong number into that rank's sum at that size."),
    fabric: str = typer.Option("", help="Judge the sweep by the limits of this fabric of the catalog (reference)."),
    topology: str = typer.Option(
        "",
        help="Where hosts hang: a file (ibnetdiscover with dump_fts, topology.conf, `node list --json`), "
        "`controller`, or `ib` to ask the subnet.",
    ),
    adaptive: bool = typer.Option(False, help="The fabric routes adaptively: name leaf pairs, not single links."),
    baseline: str = typer.Option(
        "", help="File with this cluster's past sweeps: compared with, and added to when all is well."
    ),
    nccl_tests: str = typer.Option(
        "",
        help="Judge this output of nccl-tests instead, or run this binary of it here, or a command such as "
        "'mpirun -np 16 --hostfile H all_reduce_perf'.",
    ),
    url: Url = "",
    token: Token = "",
    json_output: bool = typer.Option(False, "--json", help="Print one JSON document and nothing else."),
) -> None:
    """Sweep a collective over all hosts, compare pairs, and name the node, pair, leaf or trunk that is slow.

    Exit code: 0 all pass, 1 a band of sizes is slow, 2 something failed, 3 a host could not take part.
    Needs torch on every host.
    """
    from holdfast.cli.probe.agents import Asking
    from holdfast.cli.probe.here import Wish, carry_out

    asking = Asking(reason, url, token)
    sizes, more = (smallest, largest, pair_bytes), (topology, adaptive, baseline)
    wish = Wish(
        hosts, slurm, local, operation, backend, *sizes, spoil, fabric, nccl_tests, *more, torchrun, nodes, asking
    )
    raise typer.Exit(carry_out(wish, longest_seconds, patience_seconds, json_output))


@app.command()
def fingerprint(
    hosts: str = typer.Option("", help="File with hosts, as for `probe run`."),
    slurm: str = typer.Option("", help="Hosts by Slurm instead, as a hostlist."),
    local: int = typer.Option(0, help="So many processes on this machine instead of hosts."),
    repeats: int = typer.Option(5, min=2, help="How often each device computes: silent corruption is rare."),
    golden: str = typer.Option(
        "", help="File with the bits of every kind of device: compared with, and learned from the majority where new."
    ),
    flip: int = typer.Option(-1, help="A drill: turn one bit of the inputs of this rank."),
    json_output: bool = typer.Option(False, "--json", help="Print one JSON document and nothing else."),
) -> None:
    """Compute the same fixed numbers on every device, and name the one whose bits differ from the majority's.

    Exit code: 0 all agree, 2 somebody computes something else, 3 a host could not take part.
    """
    from holdfast.cli.probe.fingerprint import carry_out

    raise typer.Exit(carry_out((hosts, slurm, local), repeats, flip, golden, json_output))


@app.command()
def stress(
    profile: str = typer.Option(..., help="pretrain, rl, agentic, documents, recommender, vision, or one of --file."),
    file: str = typer.Option("", help="TOML with profiles of your own; see docs/probes.md."),
    minutes: float = typer.Option(1.0, min=0.0, help="How long the load runs."),
    seconds: float = typer.Option(0.0, min=0.0, help="How long, in seconds instead of minutes."),
    workers: int = typer.Option(0, min=0, help="At most so many devices; on a CPU so many processes (2)."),
    config: str = typer.Option("", help="Configuration file; /etc/holdfast/holdfast.toml if it is there."),
    hosts: str = typer.Option("", help="File with hosts, as for `probe run`: the load runs on all of them at once."),
    slurm: str = typer.Option("", help="Hosts by Slurm instead, as a hostlist."),
    json_output: bool = typer.Option(False, "--json", help="Print one JSON document and nothing else."),
) -> None:
    """Put a shaped load on every device while the passive checks watch, and say what surfaced.

    Exit code: 0 nothing, 1 a device lagged or a check turned, 2 a worker was never heard of or died.
    """
    from holdfast.cli.probe.stress import carry_out

    raise typer.Exit(carry_out(profile, file, seconds or 60.0 * minutes, workers, config, (hosts, slurm), json_output))

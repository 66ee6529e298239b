"""`holdfast topology`: checks a topology file, or writes a first one."""

import json
from collections import Counter
from typing import Annotated, Any

import typer

from holdfast.cli.shared.options import AsJson, Token, Url
from holdfast.client.client import connect
from holdfast.model.refusal import Refusal

app = typer.Typer(no_args_is_help=True)
File = Annotated[str, typer.Argument(help="A topology in TOML; without it, the gaps in the controller's own.")]
Seen = Annotated[str, typer.Argument(help="Output of ibnetdiscover, or Slurm's topology.conf.")]


@app.command()
def check(file: File = "", url: Url = "", token: Token = "", as_json: AsJson = False) -> None:
    """Check a topology file. Without a file: names without reports, and nodes without an edge."""
    found = _of_file(file) if file else _of_controller(url, token)
    if as_json:
        typer.echo(json.dumps(found))
        return
    if file:
        things = ", ".join(f"{many} {thing}" for thing, many in found["things"].items()) or "nothing"
        edges = ", ".join(f"{many} {kind}" for kind, many in found["edges"].items()) or "none"
        typer.echo(f"{file}: no mistake; things: {things}; edges: {edges}")
        return
    for gap in found["gaps"]:
        typer.echo(gap)
    if found["more_gaps"]:
        typer.echo(f"and {found['more_gaps']} more")
    if not found["gaps"]:
        typer.echo("data arrives for every name in the topology, and every node that reports is in it")


@app.command()
def draw(seen: Seen, as_json: AsJson = False) -> None:
    """Convert a network description to a topology file to start from: switches, links, nodes or rail ports."""
    from holdfast.config.text_file import read_text
    from holdfast.formats.fabric import subnet as ib_topology
    from holdfast.formats.slurm import topology as slurm_topology
    from holdfast.formats.topology.draw import as_toml, of_fabric, of_leaves

    text = read_text(seen)
    fabric = ib_topology.parse(text)
    try:
        edges = of_fabric(fabric) if fabric.cables else of_leaves(slurm_topology.parse(text, seen))
    except slurm_topology.TopologyError as error:
        raise Refusal(f"{seen}: neither output of ibnetdiscover nor Slurm's topology.conf: {error}") from None
    if as_json:
        typer.echo(json.dumps({"edges": [{"kind": one.kind, "from": one.source, "to": one.target} for one in edges]}))
    else:
        typer.echo(as_toml(edges), nl=False)


def _of_file(file: str) -> dict[str, Any]:
    from holdfast.config.text_file import read_text
    from holdfast.formats.topology.file import NotATopology, read

    try:
        topology = read(read_text(file))
    except NotATopology as error:
        raise Refusal("\n".join(f"{file}: {one}" for one in error.mistakes)) from None
    return {
        "things": dict(Counter(one.partition("/")[0] for one in sorted(topology.subjects) if one.count("/") == 1)),
        "edges": dict(Counter(edge.kind for edge in topology.edges)),
        "mistakes": [],
    }


def _of_controller(url: str, token: str) -> dict[str, Any]:
    seams = connect(url, token).get("/v1/seams")
    if not seams["watched"]:
        raise Refusal("this controller evaluates no seams: its configuration has no [seams]")
    return {"gaps": seams["gaps"], "more_gaps": seams["more_gaps"]}

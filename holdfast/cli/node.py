"""`holdfast node`: the controller's view of nodes, operator actions, and this node's manifest."""

import json
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from holdfast.cli.shared import node_history
from holdfast.cli.shared.fleet_clock import FleetClock, fleet_clock
from holdfast.cli.shared.options import AsJson, Config, Token, Url
from holdfast.cli.shared.table import STYLES, clock, console, count, plain, styled, table
from holdfast.client import history as client_history
from holdfast.client.client import Client, connect, node_path
from holdfast.config.quantities import lasting
from holdfast.formats.slurm import hostlist
from holdfast.model.refusal import Refusal

DEFAULT_MANIFEST = "/etc/holdfast/manifest.toml"
MOST_INCIDENTS = 1_000
PAGE_NODES = 1_000
Node = dict[str, Any]
Names = Annotated[str, typer.Argument(help="A node, or a list such as n[001-016].", metavar="NAME")]
Force = Annotated[
    bool, typer.Option("--force", help="Proceed even if more nodes would be out of service than the policy allows.")
]
Reason = Annotated[str, typer.Option("--reason", help="Why; it is recorded in the node's history.")]

app = typer.Typer(no_args_is_help=True)


@app.command("list")
def list_nodes(
    names: Annotated[str, typer.Argument(help="Only these, such as n[001-016]; default: all.")] = "",
    pool: Annotated[str, typer.Option(help="Only this pool.")] = "",
    stage: Annotated[str, typer.Option(help="Only this stage, such as quarantined.")] = "",
    health: Annotated[str, typer.Option(help="Only this health, such as fail.")] = "",
    url: Url = "",
    token: Token = "",
    as_json: AsJson = False,
) -> None:
    """List nodes: the stage of each, since when and why."""
    wanted = set(_expand(names)) if names else None
    client = connect(url, token)
    found = _all_nodes(client, pool=pool, stage=stage, health=health)
    shown = [node for node in found if wanted is None or node["name"] in wanted]
    if as_json:
        typer.echo(json.dumps({"nodes": shown}))
        return
    print_nodes(shown, fleet_clock(client))


def _all_nodes(client: Client, **only: str) -> list[Node]:
    """Read page by page. An older controller without pages answers with all nodes at once."""
    found: list[Node] = []
    after = ""
    while True:
        page = client.get("/v1/nodes", limit=PAGE_NODES, after=after, **only)
        found += page["nodes"]
        after = page.get("next", "")
        if not after:
            return found


def print_nodes(nodes: Sequence[Node], times: FleetClock) -> None:
    """Prints nodes. The pool column is left out if all nodes are in one pool."""
    pools = len({node["pool"] for node in nodes}) > 1
    rows = table("node", *(["pool"] if pools else []), "stage", "for", "health", "why")
    for node in nodes:
        stage, health = styled(node["stage"]), styled(node["health"])
        why = plain(node_history.why(node, time.time(), times.factor))
        cells = (stage, lasting(times.seconds_since(node["since"])), health, why)
        rows.add_row(plain(node["name"]), *([plain(node["pool"])] if pools else []), *cells)
    out = console()
    out.print(rows)
    stages = ", ".join(f"{many} {stage}" for stage, many in Counter(node["stage"] for node in nodes).most_common())
    out.print(count(len(nodes), "node") + (f": {stages}" if stages else ""))


@app.command()
def show(names: Names, url: Url = "", token: Token = "", as_json: AsJson = False) -> None:
    """Show a node's stage and the current verdict of every check; a list shows several nodes."""
    client = connect(url, token)
    found = [client.get(node_path(name)) for name in _expand(names)]
    if as_json:
        typer.echo(json.dumps(found[0] if len(found) == 1 else {"nodes": found}))
        return
    incidents = client.get("/v1/incidents", only="open", limit=MOST_INCIDENTS)["incidents"]
    times = fleet_clock(client)
    for node in found:
        show_node(times, node, [one for one in incidents if _concerns(one, node["name"])])


def _concerns(incident: dict[str, Any], name: str) -> bool:
    """Whether the incident is about the node or a part of it, or has the node as a victim."""
    return name in incident["evidence"] or f"{incident['subject']}/".startswith(f"node/{name}/")


def show_node(times: FleetClock, node: dict[str, Any], incidents: Sequence[dict[str, Any]]) -> None:
    out = console()
    lasts = lasting(times.seconds_since(node["since"]))
    out.print(f"{node['name']}: {styled(node['stage'])} for {lasts}: ", end="")
    out.print(plain(node["reason"]))
    place = ", ".join(f"{kind} {name}" for kind, name in node["place"].items())
    tested = "no valid test" if node["tested_at"] is None else f"tested {times.ago(node['tested_at'])}"
    out.print(f"pool {node['pool']}{f', {place}' if place else ''}; {tested}; repair step {node['repair_step']}")
    for one in incidents:
        about = one["reason"].removeprefix(f"{one['subject']}: ")
        out.print(f"[yellow]open incident[/] on {plain(one['subject'])}: {plain(about)}")
    _show_next_step(node.get("next_step"))
    if not node["verdicts"]:
        out.print("every check passes" if node["health"] == "pass" else "no check has reported yet")
        return
    rows = table("check", "health", "since", "what was seen")
    order = list(STYLES)
    for verdict in sorted(node["verdicts"], key=lambda v: order.index(v["health"]) if v["health"] in order else 99):
        cells = (styled(verdict["health"]), times.ago(verdict["since"]), plain(verdict["reason"]))
        rows.add_row(plain(verdict["check"]), *cells)
    out.print(rows)


def _show_next_step(step: dict[str, Any] | None) -> None:
    """Prints the next step; an older controller and a healthy node have none."""
    if not step:
        return
    out = console()
    out.print(f"[bold]next step[/]: {plain(step['text'])}")
    if step["remedy"] and step["remedy"].lower() not in step["text"].lower():
        out.print(f"  remedy: {plain(step['remedy'])}")
    out.print(f"  owner: {plain(step['owner'])}; runbook: {plain(step['runbook']) or 'none'}")
    for command in step["commands"]:
        out.print(f"  $ {plain(command)}", soft_wrap=True)


@app.command()
def history(
    name: Annotated[str, typer.Argument(help="The node.", metavar="NAME")],
    limit: Annotated[int, typer.Option(min=1, max=1000, help="Show at most the newest N entries.")] = 200,
    url: Url = "",
    token: Token = "",
    as_json: AsJson = False,
) -> None:
    """Show how a node reached its stage: verdicts, transitions, actions and events, oldest first."""
    client = connect(url, token)
    page = client_history.of_node(client, name, limit)
    if as_json:
        typer.echo(json.dumps(page))
        return
    rows, times = table("when", "kind", "what", "why"), fleet_clock(client)
    for line in node_history.lines(page["entries"][::-1]):
        rows.add_row(clock(times.at(line.at)), styled(line.kind), plain(line.what), plain(line.why))
    console().print(rows)


@app.command()
def quarantine(
    names: Names, reason: Reason, force: Force = False, url: Url = "", token: Token = "", as_json: AsJson = False
) -> None:
    """Take nodes out of service for repair; running jobs finish first."""
    _request(connect(url, token), "quarantine", names, reason, as_json, force=force)


@app.command()
def release(names: Names, reason: Reason, url: Url = "", token: Token = "", as_json: AsJson = False) -> None:
    """Return quarantined or removed nodes to service; each is tested first."""
    _request(connect(url, token), "release", names, reason, as_json)


@app.command()
def retest(names: Names, reason: Reason, url: Url = "", token: Token = "", as_json: AsJson = False) -> None:
    """Test nodes in full before a job starts there again."""
    _request(connect(url, token), "retest", names, reason, as_json)


@app.command()
def remove(
    names: Names, reason: Reason, force: Force = False, url: Url = "", token: Token = "", as_json: AsJson = False
) -> None:
    """Take nodes out of the fleet for good: no repair steps, and no spare replaces them. `release` brings them back."""
    _request(connect(url, token), "remove", names, reason, as_json, force=force)


@app.command()
def forget(names: Names, reason: Reason, url: Url = "", token: Token = "", as_json: AsJson = False) -> None:
    """Delete removed nodes: their verdicts, counters and credentials. One that enrols again is a new node."""
    client = connect(url, token)
    done = [client.post(node_path(name, "forget"), {"reason": reason})["name"] for name in _expand(names)]
    typer.echo(json.dumps({"forgotten": done}) if as_json else f"forgotten: {hostlist.compress(done)}")


@app.command()
def assets(
    name: Annotated[str, typer.Argument(help="A node.", metavar="NAME")],
    url: Url = "",
    token: Token = "",
    as_json: AsJson = False,
) -> None:
    """Show the parts of a node with their serial numbers, those it had before, and the tickets about them."""
    _print_assets(connect(url, token).get(node_path(name, "assets")), as_json)


@app.command()
def ticket(
    name: Annotated[str, typer.Argument(help="A node.", metavar="NAME")],
    number: Annotated[str, typer.Argument(help="The ticket of your own system, such as RMA-4711.", metavar="TICKET")],
    state: Annotated[str, typer.Option(help="open, sent (the part is on its way), replaced or closed.")] = "open",
    part: Annotated[str, typer.Option(help="The part, as 'node assets' names it, such as gpu/3.")] = "",
    note: Annotated[str, typer.Option(help="A note about it.")] = "",
    url: Url = "",
    token: Token = "",
    as_json: AsJson = False,
) -> None:
    """Record a ticket or RMA for a node, or its new state."""
    body = {"ticket": number, "state": state, "part": part, "note": note}
    _print_assets(connect(url, token).post(node_path(name, "tickets"), body), as_json)


def _print_assets(record: dict[str, Any], as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(record))
        return
    rows = table("part", "serial number", "model", "since", "until")
    for one in (*record["earlier"], *record["parts"]):
        part, until = one["part"], clock(one["until"]) if one["until"] else ""
        rows.add_row(plain(part["place"]), plain(part["serial"]), plain(part["model"]), clock(one["since"]), until)
    console().print(rows)
    if record["tickets"]:
        rows = table("ticket", "state", "part", "serial number", "when", "by", "note")
        for one in record["tickets"]:
            cells = (one["id"], one["state"], one["place"], one["serial"])
            rows.add_row(*map(plain, cells), clock(one["at"]), plain(one["by"]), plain(one["note"]))
        console().print(rows)


def _request(client: Client, verb: str, names: str, reason: str, as_json: bool, force: bool = False) -> None:
    """Sends the command for one node after the other. In a list, nodes for which nothing changes are skipped; another
    refusal ends the loop, and its message names the nodes that were done."""
    chosen = _expand(names)
    done: list[dict[str, Any]] = []
    unchanged: dict[str, str] = {}
    for name in chosen:
        try:
            done.append(client.post(node_path(name, verb), {"reason": reason} | ({"force": True} if force else {})))
        except Refusal as refusal:
            if refusal.code != "no_change" or len(chosen) == 1:
                before = hostlist.compress(node["name"] for node in done)
                raise Refusal(f"{refusal}{f'; done before: {before}' if before else ''}", refusal.exit_code) from None
            unchanged[name] = str(refusal)
        if not as_json:
            typer.echo(unchanged.get(name) or f"{name}: {done[-1]['stage']}")
    if as_json:
        typer.echo(json.dumps({"nodes": done, "unchanged": unchanged}))


def _expand(names: str) -> list[str]:
    try:
        found = hostlist.expand(names)
    except hostlist.NotAHostlist as error:
        raise Refusal(str(error)) from None
    if not found:
        raise Refusal(f"expected a node name or a list such as n[001-016], found {names!r}")
    return found


@app.command()
def learn(
    config: Config = "",
    out: Annotated[str, typer.Option(help=f"File to write; default: the configured one, or {DEFAULT_MANIFEST}.")] = "",
    lacks: Annotated[str, typer.Option(help="Parts that nodes of this kind do not have: rdma,edac.")] = "",
    identities: Annotated[
        bool, typer.Option(help="Also expect serials and UUIDs: a manifest for this one node.")
    ] = False,
    force: Annotated[bool, typer.Option(help="Overwrite the file, and learn even from an unhealthy node.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write a manifest of this node: what nodes of this kind should have."""
    from holdfast.node.agent.assemble import load_settings
    from holdfast.node.agent.learn import learn as learn_manifest

    settings = load_settings(config)
    path = Path(out or settings.agent.manifest or DEFAULT_MANIFEST)
    parts = [part.strip() for part in lacks.split(",") if part.strip()]
    learned = learn_manifest(settings, path, parts, identities=identities, force=force)
    kinds = learned.subjects
    if as_json:
        found = {"manifest": str(path), "node": learned.node, "lacks": learned.manifest.lacks, "subjects": kinds}
        typer.echo(json.dumps(found))
        return
    counted = ", ".join(f"{many} {kind}" for kind, many in sorted(kinds.items()) if kind != "node")
    typer.echo(f"wrote {path}: {counted or 'only the node itself'}")
    if settings.agent.manifest != str(path):
        typer.echo(f'name it in the configuration: [agent] manifest = "{path}"')

"""`holdfast node list|show|story|quarantine|release|retest|remove`: the fleet's nodes, as the controller knows them."""

import json
import time
from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from holdfast.cli.node import story as story_text
from holdfast.cli.shared.table import STYLES, ago, clock, console, count, lasting, plain, styled, table
from holdfast.client.client import AsJson, Client, Token, Url, connect, node_path
from holdfast.formats.slurm import hostlist
from holdfast.model.refusal import Refusal

SILENT_SECONDS = 60.0  # two heartbeats
MOST_INCIDENTS = 1_000
Node = dict[str, Any]
Names = Annotated[str, typer.Argument(help="A node, or a list such as n[001-016].", metavar="NAME")]
Force = Annotated[bool, typer.Option("--force", help="Also if more nodes would be out than the policy allows.")]
Reason = Annotated[str, typer.Option("--reason", help="Why; it is kept in the node's story.")]


def list_nodes(
    names: Annotated[str, typer.Argument(help="Only these, such as n[001-016]; all if not said.")] = "",
    pool: Annotated[str, typer.Option(help="Only this pool.")] = "",
    stage: Annotated[str, typer.Option(help="Only this stage, such as quarantined.")] = "",
    health: Annotated[str, typer.Option(help="Only this health, such as fail.")] = "",
    url: Url = "",
    token: Token = "",
    as_json: AsJson = False,
) -> None:
    """Every node: where it is in its life, since when and why."""
    wanted = set(_expand(names)) if names else None
    found = connect(url, token).get("/v1/nodes", pool=pool, stage=stage, health=health)["nodes"]
    shown = [node for node in found if wanted is None or node["name"] in wanted]
    if as_json:
        typer.echo(json.dumps({"nodes": shown}))
        return
    _print_list(shown, time.time())


def _print_list(nodes: Sequence[Node], now: float) -> None:
    """A column that says the same of all is left out."""
    pools = len({node["pool"] for node in nodes}) > 1
    rows = table("node", *(["pool"] if pools else []), "stage", "for", "health", "why")
    for node in nodes:
        stage, health = styled(node["stage"]), styled(node["health"])
        cells = (stage, lasting(now - node["since"]), health, plain(why(node, now)))
        rows.add_row(plain(node["name"]), *([plain(node["pool"])] if pools else []), *cells)
    out = console()
    out.print(rows)
    stages = ", ".join(f"{many} {stage}" for stage, many in Counter(node["stage"] for node in nodes).most_common())
    out.print(count(len(nodes), "node") + (f": {stages}" if stages else ""))


def why(node: Node, now: float) -> str:
    """What an operator asks next: which fault, which job, how long silent."""
    words = node["reason"]
    if node["stage"] == "allocated":
        words = f"runs {', '.join(node['jobs'])}" if node["jobs"] else words
    elif node["stage"] not in ("ready", "cleaning", "provisioning") and node["cause"]:
        words = f"{node['cause']}: {words}"
    if node["degraded_by"]:
        words += f"; degraded by {node['degraded_by']}"
    silent = now - (node["heard_at"] or node["since"])
    return f"{words}; not heard for {lasting(silent)}" if silent > SILENT_SECONDS else words


def show(names: Names, url: Url = "", token: Token = "", as_json: AsJson = False) -> None:
    """A node's stage and the standing verdict of every check; several by a list."""
    client = connect(url, token)
    found = [client.get(node_path(name)) for name in _expand(names)]
    if as_json:
        typer.echo(json.dumps(found[0] if len(found) == 1 else {"nodes": found}))
        return
    incidents = client.get("/v1/incidents", only="open", limit=MOST_INCIDENTS)["incidents"]
    for node in found:
        _show_one(node, [one for one in incidents if _concerns(one, node["name"])])


def _concerns(incident: dict[str, Any], name: str) -> bool:
    """It is about the node or a part of it, or the node is among those that it reaches."""
    return name in incident["evidence"] or f"{incident['subject']}/".startswith(f"node/{name}/")


def _show_one(node: dict[str, Any], incidents: Sequence[dict[str, Any]]) -> None:
    now = time.time()
    out = console()
    out.print(f"{node['name']}: {styled(node['stage'])} since {ago(now, node['since'])}: ", end="")
    out.print(plain(node["reason"]))
    place = ", ".join(f"{kind} {name}" for kind, name in node["place"].items())
    tested = ago(now, node["tested_at"]) if node["tested_at"] else "never"
    out.print(f"pool {node['pool']}{f', {place}' if place else ''}; tested {tested}; repair step {node['repair_step']}")
    for one in incidents:
        about = one["reason"].removeprefix(f"{one['subject']}: ")
        out.print(f"[yellow]open incident[/] on {plain(one['subject'])}: {plain(about)}")
    if not node["verdicts"]:
        out.print("every check passes" if node["health"] == "pass" else "no check has reported yet")
        return
    rows = table("check", "health", "since", "what was seen")
    order = list(STYLES)
    for verdict in sorted(node["verdicts"], key=lambda v: order.index(v["health"]) if v["health"] in order else 99):
        cells = (styled(verdict["health"]), ago(now, verdict["since"]), plain(verdict["reason"]))
        rows.add_row(plain(verdict["check"]), *cells)
    out.print(rows)


def story(
    name: Annotated[str, typer.Argument(help="The node.", metavar="NAME")],
    limit: Annotated[int, typer.Option(min=1, max=1000, help="The newest so many entries.")] = 200,
    url: Url = "",
    token: Token = "",
    as_json: AsJson = False,
) -> None:
    """How a node came where it is: verdicts, transitions, actions and events, oldest first."""
    page = connect(url, token).get(node_path(name, "story"), limit=limit)
    if as_json:
        typer.echo(json.dumps(page))
        return
    rows = table("when", "kind", "what", "why")
    for line in story_text.lines(page["entries"][::-1]):
        rows.add_row(clock(line.at), styled(line.kind), plain(line.what), plain(line.why))
    console().print(rows)


def quarantine(
    names: Names, reason: Reason, force: Force = False, url: Url = "", token: Token = "", as_json: AsJson = False
) -> None:
    """Take nodes out of service; what runs there finishes first."""
    _wish(connect(url, token), "quarantine", names, reason, as_json, force=force)


def release(names: Names, reason: Reason, url: Url = "", token: Token = "", as_json: AsJson = False) -> None:
    """Let quarantined or removed nodes back; each is tested first."""
    _wish(connect(url, token), "release", names, reason, as_json)


def retest(names: Names, reason: Reason, url: Url = "", token: Token = "", as_json: AsJson = False) -> None:
    """Test nodes in full before anything runs there again."""
    _wish(connect(url, token), "retest", names, reason, as_json)


def remove(
    names: Names, reason: Reason, force: Force = False, url: Url = "", token: Token = "", as_json: AsJson = False
) -> None:
    """Take nodes out of the fleet until they are released or enrol again."""
    _wish(connect(url, token), "remove", names, reason, as_json, force=force)


def _wish(client: Client, verb: str, names: str, reason: str, as_json: bool, force: bool = False) -> None:
    """Node by node. Of a list those for which it changes nothing are passed over; another refusal ends it, and is named
    together with those that were done."""
    wanted = _expand(names)
    done: list[dict[str, Any]] = []
    unchanged: dict[str, str] = {}
    for name in wanted:
        try:
            done.append(client.post(node_path(name, verb), {"reason": reason} | ({"force": True} if force else {})))
        except Refusal as refusal:
            if refusal.code != "no_change" or len(wanted) == 1:
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

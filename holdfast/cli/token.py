"""`holdfast token`: credentials for the controller's API."""

import json
import time
from typing import Annotated, Any

import typer

from holdfast.cli.shared.options import AsJson, Token, Url
from holdfast.cli.shared.table import ago, clock, console, count, plain, table
from holdfast.client.client import connect
from holdfast.economics.planning.inputs import PlanInputs
from holdfast.model.refusal import Refusal

HOUR = 3600.0
ROLES = ("job", "viewer", "operator", "admin")
LISTED = (*ROLES, "agent", "join")

app = typer.Typer(no_args_is_help=True)


@app.command()
def create(
    name: Annotated[str, typer.Argument(help="Holder of the token; not needed with --join.", metavar="NAME")] = "",
    role: Annotated[str, typer.Option(help="job, viewer, operator or admin.")] = "viewer",
    join: Annotated[bool, typer.Option("--join", help="A join token instead: agents enrol with it.")] = False,
    uses: Annotated[int, typer.Option(min=1, help="For a join token: how many nodes may enrol.")] = 1,
    node: Annotated[str, typer.Option(help="A join token for this node alone, also if it is enrolled already.")] = "",
    nodes: Annotated[
        str,
        typer.Option(
            help="For a join token: names that may enrol, such as gpu[001-100] or gpu-*. For a job's token: its nodes."
        ),
    ] = "",
    network: Annotated[
        str, typer.Option(help="For a join token: the network that nodes enrol from, such as 10.1.0.0/16.")
    ] = "",
    vouch: Annotated[
        bool,
        typer.Option(
            "--vouch",
            help="With a join token for several nodes: approve them at once; else the scheduler or an operator does.",
        ),
    ] = False,
    job: Annotated[str, typer.Option(help="For a job's token: the scheduler's id of the job.")] = "",
    lasts: Annotated[str, typer.Option("--for", help="How long it is valid: 12h, 30d.")] = "30d",
    url: Url = "",
    token: Token = "",
    as_json: AsJson = False,
) -> None:
    """Create a token. It is shown only once; the controller stores its hash."""
    join = join or bool(node)
    if not join and role not in ROLES:
        raise Refusal(f"--role: expected one of {', '.join(ROLES)}, found {role!r}")
    if not join and not name:
        raise Refusal("expected the token's holder, or --join")
    body: dict[str, object] = {
        "name": name,
        "role": None if join else role,
        "hours": PlanInputs().duration("for", lasts) / HOUR,
        "uses": uses,
    }
    bounds = {"node": node, "nodes": nodes, "network": network, "vouch": vouch, "job": job}
    body |= {key: value for key, value in bounds.items() if value}
    made = connect(url, token).post("/v1/tokens", body)
    typer.echo(json.dumps(made) if as_json else made["token"])


@app.command("list")
def list_tokens(
    role: Annotated[str, typer.Option(help=f"Only one of {', '.join(LISTED)}.")] = "",
    ended: Annotated[bool, typer.Option("--ended", help="Also show expired and revoked tokens.")] = False,
    url: Url = "",
    token: Token = "",
    as_json: AsJson = False,
) -> None:
    """List tokens with their holder and expiry. The tokens themselves are not stored."""
    if role and role not in LISTED:
        raise Refusal(f"--role: expected one of {', '.join(LISTED)}, found {role!r}")
    found = connect(url, token).get("/v1/tokens", role=role, ended=str(ended).lower())
    if as_json:
        typer.echo(json.dumps(found))
        return
    now = time.time()
    rows = table("role", "name", "made", "holds until", "", "hash")
    for one in found["tokens"]:
        cells = (one["role"], one["name"], ago(now, one["created"]), clock(one["expires"]), _state(one), one["hash"])
        rows.add_row(*(plain(cell) for cell in cells))
    console().print(rows)


def _state(one: dict[str, Any]) -> str:
    if one["revoked"] is not None:
        return "revoked"
    if one["uses_left"] is not None:
        return f"{count(one['uses_left'], 'use')} left"
    return "" if one["valid"] else "expired"


@app.command("pending")
def list_pending(url: Url = "", token: Token = "", as_json: AsJson = False) -> None:
    """List nodes that enrolled and wait for approval (vouch). Their reports have no effect."""
    found = connect(url, token).get("/v1/pending")
    if as_json:
        typer.echo(json.dumps(found))
        return
    now = time.time()
    rows = table("name", "pool", "enrolled from", "when", "hash")
    for one in found["pending"]:
        cells = (one["name"], one["pool"], one["address"], ago(now, one["at"]), one["token_hash"])
        rows.add_row(*(plain(cell) for cell in cells))
    console().print(rows)


@app.command()
def vouch(
    names: Annotated[list[str], typer.Argument(help="Nodes that wait for approval.", metavar="NODE...")],
    hash_: Annotated[
        str, typer.Option("--hash", help="The hash of the credential, if several wait under this name.")
    ] = "",
    url: Url = "",
    token: Token = "",
    as_json: AsJson = False,
) -> None:
    """Approve nodes that enrolled: they join the fleet and are tested before work starts there."""
    client = connect(url, token)
    for name in names:
        vouched = client.post("/v1/pending/vouch", {"name": name, "hash": hash_})
        typer.echo(json.dumps(vouched) if as_json else f"vouched for {name}, which enrolled from {vouched['address']}")


@app.command()
def revoke(
    target: Annotated[str, typer.Argument(help="A name, or the hash of one token.", metavar="NAME|HASH")],
    kind: Annotated[str, typer.Option(help="node or user, if both have this name.")] = "",
    url: Url = "",
    token: Token = "",
    as_json: AsJson = False,
) -> None:
    """Revoke all tokens of a node or a user, or a single one by its hash."""
    ended = connect(url, token).post("/v1/tokens/revoke", {"target": target, "kind": kind})
    if not ended["revoked"]:
        raise Refusal(f"no valid token is called {target!r}", 1)
    typer.echo(json.dumps(ended) if as_json else f"ended {ended['revoked']} of {target}")

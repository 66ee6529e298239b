"""`holdfast inbox`: items that need an operator, and what was done about them."""

import json
from typing import Annotated, Any
from urllib.parse import quote

import typer

from holdfast.cli.shared.fleet_clock import FleetClock, fleet_clock
from holdfast.cli.shared.options import AsJson, Token, Url
from holdfast.cli.shared.table import clock, console, count, plain, print_list
from holdfast.client.client import Client, connect
from holdfast.config.quantities import lasting
from holdfast.economics.planning.inputs import PlanInputs
from holdfast.model.refusal import Refusal

app = typer.Typer(no_args_is_help=True)
Key = Annotated[
    str, typer.Argument(help="The item: its number in `holdfast inbox list`, its key, or its subject: node/n7.")
]
Comment = Annotated[str, typer.Option("--comment", "-m", help="A note for the item's history.")]
STYLES = {"critical": "bold red", "warning": "yellow"}


@app.command("list")
def list_items(
    all_: Annotated[bool, typer.Option("--all", help="Also show muted and resolved items, and past ones.")] = False,
    days: Annotated[float, typer.Option(help="With --all: past items of this many days.", min=0, max=90)] = 7.0,
    owner: Annotated[str, typer.Option(help="Only items of this team.")] = "",
    assignee: Annotated[str, typer.Option(help="Only items of this person.")] = "",
    url: Url = "",
    token: Token = "",
    as_json: AsJson = False,
) -> None:
    """List what needs an operator, worst first: nodes, incidents and jobs that died."""
    client = connect(url, token)
    past = {"past_hours": days * 24} if all_ else {}
    found = client.get("/v1/inbox", owner=owner, assignee=assignee, **past)
    if as_json:
        typer.echo(json.dumps(found))
        return
    times, out = fleet_clock(client), console()
    numbered = list(enumerate(found["items"], start=1))
    shown = [(number, one) for number, one in numbered if all_ or one["state"] in ("open", "acknowledged")]
    rows = []
    for number, one in shown:
        age, owner = lasting(one["lasted_seconds"]), plain(one["owner"])
        rows.append([str(number), _title(one), plain(one["state"]), age, _hourly(one), owner, plain(one["remedy"])])
    if rows:
        print_list(("#", "what", "state", "age", "cost/h", "owner", "what to look at"), rows, title=1)
        first = f"`holdfast inbox show {shown[0][0]}` has the next step of the first."
        out.print(f"{count(len(shown), 'item')}.{'' if all_ else _hidden(found)} {first}")
    else:
        out.print("Nothing needs an operator." + _hidden(found))
    if all_:
        _print_past(found["past"], days, times)


def _print_past(past: list[dict[str, Any]], days: float, times: FleetClock) -> None:
    """Prints past items: who resolved each or how it ended, when, and the last comment."""
    out = console()
    if not past:
        out.print(f"No item ended in the last {days:g} days.")
        return
    rows = []
    for one in past:
        when, lasted = clock(times.at(one["resolved_at"])), lasting(one["lasted_seconds"])
        comment = "; ".join(text for text in (one["outcome"], one["comment"]) if text)
        rows.append([when, plain(one["title"]), lasted, plain(one["resolved_by"]), plain(comment)])
    print_list(("resolved", "what", "lasted", "by", "outcome"), rows, title=1)
    out.print(f"{count(len(past), 'past item')} of {days:g} days.")


def _title(one: dict[str, Any]) -> str:
    return f"[{STYLES.get(one['severity'], 'yellow')}]{plain(one['title'])}[/]"


def _hourly(one: dict[str, Any]) -> str:
    return "not known" if one["cost_per_hour"] is None else f"{one['cost_per_hour']:,.0f}"


def _hidden(found: dict[str, Any]) -> str:
    parts = [f"{found['counts'][state]} {state}" for state in ("muted", "resolved") if found["counts"].get(state)]
    return f" {', '.join(parts)} ({'--all shows them'})." if parts else ""


@app.command()
def show(item: Key, url: Url = "", token: Token = "", as_json: AsJson = False) -> None:
    """Show an item: remedy, owner, price, the commands to run, and its history."""
    client = connect(url, token)
    key = _key(client, item)
    found = client.get(f"/v1/inbox/{quote(key, safe='/@')}")
    if as_json:
        typer.echo(json.dumps(found))
        return
    one, out, times = found["item"], console(), fleet_clock(client)
    lasted = lasting(one["lasted_seconds"])
    if one["ended_at"] is None:
        out.print(f"{_title(one)}, {one['state']}, for {lasted}")
    else:
        out.print(f"{_title(one)}, resolved {clock(times.at(one['resolved_at']))} by {plain(one['resolved_by'])}")
        out.print(f"It lasted {lasted}; {plain(one['outcome'])}.")
    out.print(plain(one["detail"]))
    for name, text in _facts(one):
        if text:
            out.print(f"[bold]{name}[/]: {plain(text)}", soft_wrap=True)
    for command in one["commands"]:
        out.print(f"  $ {plain(command)}", soft_wrap=True)
    for note in found["notes"]:
        out.print(f"{clock(times.at(note['at']))} {plain(note['who'])}: {note['action']} {plain(note['text'])}")


def _facts(one: dict[str, Any]) -> list[tuple[str, str]]:
    money = one["currency"]
    over = one["ended_at"] is not None
    price = []
    if one["cost_so_far"] is not None:
        price.append(f"{one['cost_so_far']:,.0f} {money}{'' if over else ' so far'}")
    price += [f"{one['cost_per_hour']:,.1f} {money} an hour"] if one["cost_per_hour"] is not None else []
    price += [f"the work of {one['gpus_lost']:,.1f} GPUs is lost"] if one["gpus_lost"] else []
    return [
        ("key", one["key"]),
        ("next step", "" if over else one["remedy"]),
        ("owner", one["owner"] + (f" ({one['on_call']})" if one["on_call"] else "")),
        ("assigned to", one["assignee"]),
        ("price", ", ".join(price)),
        ("runbook", one["runbook"]),
        ("members", ", ".join(one["members"][:20]) + (" ..." if len(one["members"]) > 20 else "")),
    ]


@app.command()
def acknowledge(item: Key, comment: Comment = "", url: Url = "", token: Token = "", as_json: AsJson = False) -> None:
    """Acknowledge an item: you work on it."""
    _act(url, token, as_json, item, action="acknowledge", comment=comment)


@app.command()
def assign(
    item: Key,
    to: Annotated[str, typer.Argument(help="A person or team; '' removes the assignment.", metavar="WHO")],
    comment: Comment = "",
    url: Url = "",
    token: Token = "",
    as_json: AsJson = False,
) -> None:
    """Assign an item to a person or team."""
    _act(url, token, as_json, item, action="assign", assignee=to, comment=comment)


@app.command()
def mute(
    item: Key,
    for_: Annotated[str, typer.Option("--for", help="How long: 90m, 12h, 7d.", metavar="TIME")],
    comment: Comment = "",
    url: Url = "",
    token: Token = "",
    as_json: AsJson = False,
) -> None:
    """Silence an item: send no notifications for a time."""
    hours = PlanInputs().duration("--for", for_) / 3600
    _act(url, token, as_json, item, action="mute", hours=hours, comment=comment)


@app.command()
def unmute(item: Key, url: Url = "", token: Token = "", as_json: AsJson = False) -> None:
    """End a mute."""
    _act(url, token, as_json, item, action="unmute")


@app.command()
def comment(
    item: Key,
    text: Annotated[str, typer.Argument(help="The note.", metavar="TEXT")],
    url: Url = "",
    token: Token = "",
    as_json: AsJson = False,
) -> None:
    """Add a note to an item's history."""
    _act(url, token, as_json, item, action="comment", comment=text)


@app.command()
def resolve(item: Key, comment: Comment = "", url: Url = "", token: Token = "", as_json: AsJson = False) -> None:
    """Close an item; if the problem returns, it is a new item."""
    _act(url, token, as_json, item, action="resolve", comment=comment)


@app.command()
def reopen(item: Key, comment: Comment = "", url: Url = "", token: Token = "", as_json: AsJson = False) -> None:
    """Reopen an item."""
    _act(url, token, as_json, item, action="reopen", comment=comment)


def _act(url: str, token: str, as_json: bool, item: str, **command: object) -> None:
    client = connect(url, token)
    changed = client.post("/v1/inbox", {"item": _key(client, item), **command})
    typer.echo(json.dumps(changed) if as_json else f"{changed['title']}: {changed['state']}")


def _key(client: Client, wanted: str) -> str:
    """The key of an item from its number in the list, its key, or a subject that only one item has."""
    found = client.get("/v1/inbox")["items"]
    if wanted.isdigit():
        if not 0 < int(wanted) <= len(found):
            raise Refusal(f"item {wanted}: expected 1 to {len(found)}; `holdfast inbox list --all` numbers them")
        return str(found[int(wanted) - 1]["key"])
    named = [one["key"] for one in found if wanted in (one["key"], one["subject"], one["subject"].partition("/")[2])]
    if len(named) == 1:
        return str(named[0])
    if named:
        raise Refusal(f"{wanted} has {len(named)} items: {', '.join(named[:5])}; name one of them")
    if any(mark in wanted for mark in "@#"):  # the key of an item that is over
        return wanted
    raise Refusal(f"no item is about {wanted[:80]!r}; `holdfast inbox list` shows the open items")

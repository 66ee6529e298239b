"""Reading a policy and replaying history through it: what `holdfast policy` does. Needs the extra [controller]."""

import json as json_
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import typer

from holdfast.cli.shared.table import clock, console, printable, table
from holdfast.client.client import kept, state_directory
from holdfast.economics.planning.inputs import Asked
from holdfast.fleet.controller.settings import load as load_controller
from holdfast.fleet.decisions.lifecycle.policy import Policy
from holdfast.fleet.policy import file as policy_file
from holdfast.fleet.policy.preview import Preview, preview
from holdfast.fleet.store import Store, StoreError
from holdfast.model.incident import Incident
from holdfast.model.lifecycle import Stage
from holdfast.model.refusal import Refusal

MOST_CHANGES = 100_000  # replayed; what would be beyond is said to be left out


@dataclass(frozen=True, slots=True)
class Seen:
    """What the store has from `begin` on, and what became of it under the policy."""

    begin: float
    until: float | None
    """Where there was more than is replayed: the time of the last that was. None: up to now."""
    found: Preview
    left: int
    """Times that a node left service in truth."""


def check(file: str, config: str, as_json: bool) -> None:
    policy = policy_file.load(file)
    known = _pools(config) if config or _local().exists() else set()
    strange = policy_file.strange_pools(file, known) if known else []
    if as_json:
        told = {"file": file, "dry_run": policy.dry_run, "pools_compared": bool(known), "strange_pools": strange}
        typer.echo(json_.dumps(told))
        return
    doing = "carries nothing out (dry_run = true)" if policy.dry_run else "carries actions out"
    for sentence in (f"{file}: a policy that {doing}", *strange):
        typer.echo(sentence)


def _pools(config: str) -> set[str]:
    """A store that nobody named, such as that of an old demo, is no reason to call a policy wrong."""
    try:
        with _store(config) as store:
            return {node.pool for node in store.nodes()}
    except Refusal as refusal:
        if config:
            raise
        typer.echo(f"its pools were not compared with those of the nodes: {refusal}", err=True)
        return set()


def show_preview(file: str, since: str, config: str, as_json: bool) -> None:
    policy = policy_file.load(file) if file else Policy()
    begin = time.time() - Asked().duration("since", since)
    with _store(config) as store:
        seen = _replay(policy, store, begin, MOST_CHANGES)
    if as_json:
        typer.echo(json_.dumps(_document(seen)))
    else:
        _show(seen, since)


def _replay(policy: Policy, store: Store, begin: float, most: int) -> Seen:
    changes = store.changes(begin, most + 1)
    until = changes[most - 1][1].at if len(changes) > most else None
    steps = store.transitions(begin, MOST_CHANGES)
    left = [one for one in steps if one.after is Stage.DRAINING and one.before is not one.after]
    left = [one for one in left if until is None or one.at <= until]
    return Seen(begin, until, preview(policy, store.nodes(), changes[:most], begin), len(left))


@contextmanager
def _store(config: str) -> Iterator[Store]:
    """To look at: a question must not change the schema under a controller of another version."""
    try:
        store = Store.look_at(_url(config))
        try:
            yield store
        finally:
            store.close()
    except StoreError as error:
        raise Refusal(str(error), 1) from None


def _document(seen: Seen) -> dict[str, object]:
    found = seen.found
    return {
        "since": seen.begin,
        "cut_at": seen.until,
        "verdict_changes": found.changes,
        "actions": dict(found.actions),
        "left_service": dict(found.nodes),
        "left_service_then": seen.left,
        "held": dict(found.held),
        "promoted": found.promoted,
        "incidents": [_incident(one) for one in found.incidents],
    }


def _incident(one: Incident) -> dict[str, object]:
    return {"subject": one.subject, "cause": one.cause, "reason": one.reason, "opened": one.opened}


def _show(seen: Seen, since: str) -> None:
    found = seen.found
    typer.echo(f"{found.changes} verdict changes in the last {since}; nothing is changed by looking")
    if seen.until is not None:
        typer.echo(
            f"cut: there are more; only those until {clock(seen.until)} are looked at. Ask for a shorter --since."
        )
    would, left = sum(found.nodes.values()), seen.left
    typer.echo(f"nodes that would have left service: {len(found.nodes)}, {would} times; in truth it was {left} times")
    rows = table("action", "times")
    for verb, times in found.actions.most_common():
        rows.add_row(verb, str(times))
    console().print(rows)
    if found.promoted:
        typer.echo(f"spares promoted: {found.promoted}")
    for holder, times in found.held.most_common():
        typer.echo(f"observed only because of {holder.rstrip('?')}: {times} nodes")
    for incident in found.incidents:
        typer.echo(printable(f"incident on {incident.subject}: {incident.reason}"))


def _url(config: str) -> str:
    if config:
        return load_controller(config).base.store
    path = _local()
    if not path.exists():
        raise Refusal(f"no store is at {path}; name the controller's configuration with --config")
    return f"sqlite:///{path.absolute()}"


def _local() -> Path:
    """The store of the last `holdfast up`."""
    return Path(kept().get("store") or state_directory() / "holdfast.db")

"""`holdfast policy check` and `holdfast policy preview`. Needs the extra [controller]."""

import json as json_
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import typer

from holdfast.cli.shared.table import clock, console, printable, table
from holdfast.client.client import kept, state_directory
from holdfast.economics.planning.inputs import Asked
from holdfast.fleet.controller.settings import load as load_controller
from holdfast.fleet.decisions.lifecycle.policy import Policy
from holdfast.fleet.policy import file as policy_file
from holdfast.fleet.policy.replay import Replay, replay
from holdfast.fleet.store import Store, StoreError
from holdfast.model.refusal import Refusal


def check(file: str, config: str, as_json: bool) -> None:
    policy = policy_file.load(file)
    known = _pools(config) if config or _local().exists() else set()
    strange = policy_file.strange_pools(file, known) if known else []
    if as_json:
        found = {"file": file, "dry_run": policy.dry_run, "pools_compared": bool(known), "strange_pools": strange}
        typer.echo(json_.dumps(found))
        return
    doing = "carries nothing out (dry_run = true)" if policy.dry_run else "carries actions out"
    for sentence in (f"{file}: a policy that {doing}", *strange):
        typer.echo(sentence)


def _pools(config: str) -> set[str]:
    """The pools of stored nodes. A local store that cannot be read, such as an old demo's, does not fail the check."""
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
        replayed = replay(policy, store, begin)
    if as_json:
        typer.echo(json_.dumps(replayed.as_json()))
    else:
        _show(replayed, since)


@contextmanager
def _store(config: str) -> Iterator[Store]:
    """Read-only: a preview must not migrate the schema under a controller of another version."""
    try:
        store = Store.look_at(_url(config))
        try:
            yield store
        finally:
            store.close()
    except StoreError as error:
        raise Refusal(str(error), 1) from None


def _show(replayed: Replay, since: str) -> None:
    found = replayed.preview
    typer.echo(f"{found.changes} verdict changes in the last {since}; a preview changes nothing")
    if replayed.until is not None:
        typer.echo(
            f"cut: there are more; only those until {clock(replayed.until)} are replayed. Use a shorter --since."
        )
    would, left = sum(found.nodes.values()), replayed.left_then
    typer.echo(f"nodes that would have left service: {len(found.nodes)}, {would} times; in fact it was {left} times")
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

"""Replays the history of a store through a policy. Needs the extra [controller]."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from holdfast.fleet.decisions.lifecycle.policy import Policy
from holdfast.fleet.policy import file as policy_file
from holdfast.fleet.policy.preview import Preview, preview
from holdfast.fleet.store import Store, StoreError
from holdfast.model.lifecycle import Stage
from holdfast.model.refusal import Refusal

MOST_CHANGES = 100_000  # most changes of one replay; `until` is its end if there are more


@dataclass(frozen=True, slots=True)
class Replay:
    """The recorded changes from `begin` on, and the policy's decisions about them."""

    begin: float
    until: float | None
    """Time of the last replayed change when there are more than MOST_CHANGES; None: up to now."""
    found: Preview
    left: int
    """How often nodes really left service."""


def pools(store_url: str) -> set[str]:
    """The pools that the store's nodes are in."""
    with _read_only(store_url) as store:
        return {node.pool for node in store.nodes()}


def replay(file: str, since_seconds: float, store_url: str) -> Replay:
    """Replays the history; with the default policy if no file is named."""
    policy = policy_file.load(file) if file else Policy()
    begin, most = time.time() - since_seconds, MOST_CHANGES
    with _read_only(store_url) as store:
        changes = store.changes(begin, most + 1)
        until = changes[most - 1][1].at if len(changes) > most else None
        steps = store.transitions(begin, MOST_CHANGES)
        left = [one for one in steps if one.after is Stage.DRAINING and one.before is not one.after]
        left = [one for one in left if until is None or one.at <= until]
        return Replay(begin, until, preview(policy, store.nodes(), changes[:most], begin), len(left))


@contextmanager
def _read_only(store_url: str) -> Iterator[Store]:
    """Opens the store read-only: a preview must not migrate the schema of a controller with another version."""
    try:
        store = Store.open_read_only(store_url)
        try:
            yield store
        finally:
            store.close()
    except StoreError as error:
        raise Refusal(str(error), 1) from None

"""Rows of `holdfast top`: which nodes, in which order, and the header lines. Pure."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from rich.text import Text

from holdfast.cli.shared.fleet_clock import FleetClock
from holdfast.cli.shared.node_history import why
from holdfast.cli.shared.table import STYLES, clock, count
from holdfast.client.watch import LiveFleet, Node
from holdfast.config.printable import printable
from holdfast.config.quantities import lasting
from holdfast.formats.slurm import hostlist
from holdfast.model.lifecycle import OUT_OF_SERVICE, Stage

MOST_ROWS = 500
MOST_NAMED = 4
HEALTHS = ("fail", "unknown", "degraded", "pass", "not_applicable")
_HEALTH = {health: place for place, health in enumerate(HEALTHS)}  # looked up for 12,500 nodes a second
_STAGE = {stage.value: place for place, stage in enumerate(Stage)}
_LAST = 99
ORDERS: dict[str, Callable[[Node], Any]] = {
    "worst first": lambda node: (
        node["stage"] not in OUT_OF_SERVICE,
        _HEALTH.get(node["health"], _LAST),
        _STAGE.get(node["stage"], _LAST),
        node["name"],
    ),
    "by name": lambda node: node["name"],
    "newest change first": lambda node: -node["since"],
    "oldest change first": lambda node: node["since"],
}


def chosen(nodes: Iterable[Node], filter_text: str, order: str) -> list[Node]:
    """Nodes whose facts contain every word of the filter; n[001-016] is a list of names."""
    tests = [_test(word) for word in filter_text.lower().split()]
    return sorted((node for node in nodes if all(test(node) for test in tests)), key=ORDERS[order])


def _test(word: str) -> Callable[[Node], bool]:
    try:
        names = set(hostlist.expand(word)) if "[" in word else set()
    except hostlist.NotAHostlist:  # the user is still typing
        return lambda node: False
    if names:
        return lambda node: node["name"].lower() in names
    return lambda node: word in _facts(node)


def _facts(node: Node) -> str:
    facts = (node["name"], node["pool"], node["stage"], node["health"], node["reason"], node["cause"], node["held"])
    return " ".join((*facts, *node["jobs"], *(f"{kind}/{name}" for kind, name in node["place"].items()))).lower()


def row(node: Node, times: FleetClock) -> tuple[Text, ...]:
    text = Text(printable(why(node, node["read_at"], times.factor)))
    return (
        Text(printable(node["name"])),
        Text(printable(node["pool"])),
        styled(node["stage"]),
        Text(lasting(times.seconds_since(node["since"])), justify="right"),
        styled(node["health"]),
        text,
    )


def styled(word: str) -> Text:
    return Text(printable(word), STYLES.get(word, ""))


def connection(view: LiveFleet, now: float) -> Text:
    """Whether the view is live."""
    if view.error:
        since = f"since {clock(view.received_at)} ({lasting(now - view.received_at)})"
        return Text(f"NOT LIVE {since}: {printable(view.error)}. Below is the last view received.", "bold red")
    text = "live"
    if view.fleet.get("demo"):
        text += ", simulated"
    return Text(text + (", dry run: actions are only recorded" if view.fleet.get("dry_run") else ""), "green")


def stages(view: LiveFleet) -> Text:
    """How many nodes are in each stage, in the order of the lifecycle."""
    known = view.fleet.get("stages", {})
    text = [Text(count(view.fleet.get("nodes", 0), "node"), "bold")]
    text += [Text(f"{known[stage]} {stage}", STYLES.get(stage, "")) for stage in Stage if known.get(stage)]
    return Text("   ").join(text)


def pools(view: LiveFleet) -> Text:
    """Per pool: nodes out of service, the cap, and the breaker."""
    return Text("\n").join(_pool(pool) for pool in view.fleet.get("pools", ()))


def _pool(pool: dict[str, Any]) -> Text:
    tested = f"; {pool['testing']} in a test" if pool.get("testing") else ""  # an older controller does not say
    out = f"{pool['out']} of {pool['nodes']} out, at most {pool['cap']}{tested}"
    text = Text(f"pool {printable(pool['pool'])}: {out}; breaker ")
    text.append(
        "OPEN, it only observes" if pool["breaker_open"] else "closed", "bold red" if pool["breaker_open"] else ""
    )
    if pool["breaker_open"] and pool["reason"]:
        text.append(f": {printable(pool['reason'])}")
    if pool["spares_short"]:
        text.append(f"; {count(pool['spares_short'], 'spare')} short", "yellow")
    return text


def incidents(found: Sequence[dict[str, Any]], times: FleetClock) -> Text:
    """The newest incidents, one per line."""
    text = Text(count(len(found), "open incident"), "bold" if found else "")
    for one in found[:MOST_NAMED]:
        text.append(f"\n  {printable(one['subject'])}: {printable(one['cause'])}", "bold red")
        text.append(f" for {lasting(times.seconds_since(one['opened']))}: {printable(one['reason'])}")
    if len(found) > MOST_NAMED:
        text.append(f"\n  and {len(found) - MOST_NAMED} more: holdfast incident list")
    return text


def shown_text(shown: int, found: int, order: str, filter_text: str) -> Text:
    """How many nodes the table below shows."""
    text = f"{count(found, 'node')}, {order}"
    if filter_text:
        text += f", with {filter_text!r}"
    return Text(text + (f"; the first {shown} are shown, / narrows it" if shown < found else ""), "dim")

"""`holdfast node`: about nodes. `learn` writes down what a good one has; the fleet's nodes are in nodes.py."""

import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import msgspec
import typer

from holdfast.cli.node import fleet as nodes
from holdfast.model import manifest as manifests
from holdfast.model.health import Health
from holdfast.model.refusal import Refusal
from holdfast.model.signal import Signal
from holdfast.model.verdict import Verdict
from holdfast.node.agent.assemble import load_settings, refuse_unknown_parts
from holdfast.node.agent.node import Node
from holdfast.node.agent.once import look_at
from holdfast.node.agent.state import write_atomically

DEFAULT_MANIFEST = "/etc/holdfast/manifest.toml"

app = typer.Typer(no_args_is_help=True)
app.command("list")(nodes.list_nodes)
for _command in (nodes.show, nodes.story, nodes.quarantine, nodes.release, nodes.retest, nodes.remove):
    app.command()(_command)


@app.command()
def learn(
    config: str = typer.Option("", help="Configuration file; /etc/holdfast/holdfast.toml if it is there."),
    out: str = typer.Option("", help=f"File to write; the configured manifest, or {DEFAULT_MANIFEST}."),
    lacks: str = typer.Option("", help="Parts that nodes of this kind do not have, with commas: rdma,edac."),
    identities: bool = typer.Option(False, help="Also expect serials and UUIDs: a manifest for this one node."),
    force: bool = typer.Option(False, help="Overwrite the file, and learn even from a node that is not healthy."),
    json: bool = typer.Option(False, "--json", help="Print one JSON document and nothing else."),
) -> None:
    """Write a manifest of this node: what it has now is what nodes of its kind should have."""
    settings = load_settings(config)
    path = Path(out or settings.agent.manifest or DEFAULT_MANIFEST)
    if path.exists() and not force:
        raise Refusal(f"{path} exists; --force overwrites it", exit_code=1)
    parts = manifests.with_implied(part.strip() for part in lacks.split(",") if part.strip())
    refuse_unknown_parts(parts, "--lacks")
    # The manifest to come cannot be read yet, and an old one must not colour what is learned.
    node = look_at(replace(settings, agent=replace(settings.agent, manifest="")), "passive")
    if not force and (why := _unhealthy(node, set(parts))):
        advice = "mend it, name what it --lacks, or --force"
        raise Refusal(f"this node is no model to learn from; {advice}: {why}", exit_code=1)
    signals = [Signal(subject, name, value) for subject, name, value, _ in node.history.latest()]
    learned = manifests.learn(signals, node.census.node, parts, identities=identities)
    if trouble := write_atomically(path, manifests.dump(learned).encode()):
        raise Refusal(trouble, exit_code=1)
    kinds = Counter(name.partition("/")[0] for name in learned.expect)
    if json:
        document = {"manifest": str(path), "node": node.census.node, "lacks": learned.lacks, "subjects": kinds}
        sys.stdout.buffer.write(msgspec.json.encode(document) + b"\n")
        return
    counted = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()) if kind != "node")
    typer.echo(f"wrote {path}: {counted or 'only the node itself'}")
    if settings.agent.manifest != str(path):
        typer.echo(f'name it in the configuration: [agent] manifest = "{path}"')


def _unhealthy(node: Node, lacks: set[str]) -> str:
    """What speaks against this node, leaving out the parts it is said not to have."""
    against = [
        f"{name} is {verdict.state} ({verdict.summary()})"
        for name, verdict in node.verdicts.items()
        if not _fine(verdict, node.questions[name].check.part in lacks)
    ]
    return "; ".join(against[:5]) + (f"; and {len(against) - 5} more" if len(against) > 5 else "")


def _fine(verdict: Verdict, lacking: bool) -> bool:
    return verdict.disabled or verdict.health in (Health.PASS, Health.NOT_APPLICABLE) or lacking

"""`holdfast probe run --nodes`: the controller orders the agents of these nodes to meet; we wait, and tell."""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import msgspec

from holdfast.client.client import connect
from holdfast.formats.slurm import hostlist
from holdfast.model.refusal import Refusal
from holdfast.model.wire.probe import SweepRequest
from holdfast.model.wire.sweep import SweepReport
from holdfast.node.probes.sweep.run import Options

PATH = "/v1/probes/runs"
LOOK_SECONDS = 1.0
Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Asking:
    """How the controller is asked, and why."""

    reason: str = ""
    url: str = ""
    token: str = ""


def run(asking: Asking, nodes: str, options: Options, fabric: str, tell: Tell) -> SweepReport:
    """What the node that led told. Ctrl-C ends the run on all of them."""
    if not asking.reason.strip():
        raise Refusal("--nodes: expected --reason too: it is kept with who asked")
    wish = SweepRequest(
        operation=options.operation,
        backend=options.backend,
        smallest=options.smallest,
        largest=options.largest,
        pair_bytes=options.pair_bytes,
        longest_seconds=options.longest_seconds,
        patience_seconds=options.patience_seconds,
        fabric=fabric,
    )
    controller = connect(asking.url, asking.token)
    ask = {"nodes": _names(nodes), "reason": asking.reason, "sweep": msgspec.to_builtins(wish)}
    found = controller.post(PATH, ask)
    number = found["number"]
    try:
        while found["ended"] is None:
            tell(_words(found))
            time.sleep(LOOK_SECONDS)
            found = controller.get(f"{PATH}/{number}")
    except BaseException:
        with suppress(Refusal):
            controller.post(f"{PATH}/{number}/stop", {})
        raise
    try:
        return msgspec.convert(found["report"], type=SweepReport)
    except msgspec.ValidationError as error:
        raise Refusal(f"the report of run {number} cannot be read: {error}", 1) from None


def _names(words: str) -> Sequence[str]:
    try:
        return hostlist.expand(words)
    except ValueError as error:
        raise Refusal(f"--nodes: {error}") from None


def _words(found: dict[str, Any]) -> str:
    if found["at"]:
        return f"{found['leader']} leads: {found['at']}"
    return f"{len(found['ordered'])} of {len(found['nodes'])} nodes took their order (they ask every 30 s)"

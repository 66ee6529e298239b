"""A sweep by the agents of the named nodes: the controller sends the orders, and this process waits for the report."""

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
from holdfast.node.probes.sweep.run import ProbeSweepOptions
from holdfast.runtime import codec

PATH = "/v1/probes/runs"
POLL_SECONDS = 1.0
Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class ControllerAccess:
    """Address and token of the controller, and the reason that it records."""

    reason: str = ""
    url: str = ""
    token: str = ""


def run(
    access: ControllerAccess, nodes: str, options: ProbeSweepOptions, fabric: str, progress: Progress
) -> SweepReport:
    """The report of the leading node. Ctrl-C ends the run on all nodes."""
    if not access.reason.strip():
        raise Refusal("--nodes: expected --reason too: it is recorded with your name")
    request = SweepRequest(
        operation=options.operation,
        backend=options.backend,
        smallest=options.smallest,
        largest=options.largest,
        pair_bytes=options.pair_bytes,
        longest_seconds=options.longest_seconds,
        timeout_seconds=options.timeout_seconds,
        fabric=fabric,
    )
    controller = connect(access.url, access.token)
    body = {"nodes": _names(nodes), "reason": access.reason, "sweep": msgspec.to_builtins(request)}
    found = controller.post(PATH, body)
    number = found["number"]
    try:
        while found["ended"] is None:
            progress(_state(found))
            time.sleep(POLL_SECONDS)
            found = controller.get(f"{PATH}/{number}")
    except BaseException:
        with suppress(Refusal):
            controller.post(f"{PATH}/{number}/stop", {})
        raise
    try:
        return codec.convert(found["report"], SweepReport)
    except msgspec.ValidationError as error:
        raise Refusal(f"the report of run {number} cannot be read: {error}", 1) from None


def _names(text: str) -> Sequence[str]:
    try:
        return hostlist.expand(text)
    except ValueError as error:
        raise Refusal(f"--nodes: {error}") from None


def _state(found: dict[str, Any]) -> str:
    if found["at"]:
        return f"{found['leader']} leads: {found['at']}"
    return f"{len(found['ordered'])} of {len(found['nodes'])} nodes have their order (agents ask every 30 s)"

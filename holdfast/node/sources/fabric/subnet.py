"""The InfiniBand subnet through infiniband-diags: cables, routes, and the counters of every switch port.

One node per subnet is enough, and it needs access (root, or /dev/infiniband/umad*). So the agent reads it only if it
is configured: `[sources.ib_fabric]`.
"""

import subprocess

from holdfast.formats.fabric import counters as ib_counters
from holdfast.formats.fabric import routes as ib_routes
from holdfast.formats.fabric import subnet as ib_topology
from holdfast.formats.fabric.counters import PortErrors
from holdfast.formats.fabric.routes import Routes
from holdfast.formats.fabric.subnet import SWITCH, IbFabric
from holdfast.model.signal import Reading
from holdfast.model.subject import Subject
from holdfast.runtime import process
from holdfast.runtime.source import ReadingBuilder

TIMEOUT_SECONDS = 120.0
TOPOLOGY_SECONDS = 3600.0  # cables rarely move, and reading all of them costs more than reading errors
LONGEST_MESSAGE = 200
CARRIED = (
    "SymbolErrorCounter",
    "LinkErrorRecoveryCounter",
    "LinkDownedCounter",
    "PortRcvErrors",
    "PortRcvRemotePhysicalErrors",
    "PortRcvSwitchRelayErrors",
    "PortXmitDiscards",
    "LocalLinkIntegrityErrors",
    "ExcessiveBufferOverrunErrors",
    "VL15Dropped",
    "PortXmitWait",
)


class CannotAsk(Exception):
    """The subnet gives no answer; the message says why in one sentence."""


def topology() -> IbFabric:
    found = ib_topology.parse(_ask("ibnetdiscover"))
    if not found.cables:
        raise CannotAsk("ibnetdiscover found no cable")
    return found


def routes() -> Routes:
    """Forwarding tables of all switches."""
    return ib_routes.parse(_ask("dump_fts"))


def errors() -> list[PortErrors]:
    report = ib_counters.parse_errors(_ask("ibqueryerrors"))
    if report.nodes_checked is None:
        raise CannotAsk("ibqueryerrors breaks off before its summary")
    return report.ports


def counters(lid: int, port: int) -> dict[str, int]:
    """All counters of one port, including bytes and waiting for credit."""
    found = ib_counters.parse_perfquery(_ask("perfquery", str(lid), str(port)))
    return found[0].counts if found else {}


def port_subject(fabric: IbFabric, guid: str, port: int) -> Subject:
    return f"switch/{fabric.labels()[guid]}/port/{port}"


def _ask(*command: str) -> str:
    try:
        done = process.capture(command, TIMEOUT_SECONDS)
    except FileNotFoundError:
        raise CannotAsk(f"{command[0]} (infiniband-diags) is not installed") from None
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CannotAsk(f"{command[0]}: {error}") from None
    text = done.stdout.decode(errors="replace")
    if done.returncode and not text.strip():
        errors = " ".join(done.stderr.decode(errors="replace").split())[:LONGEST_MESSAGE]
        raise CannotAsk(f"{command[0]} ended with code {done.returncode}: {errors or 'no output'}")
    return text


class IbFabricSource:
    name = "ib_fabric"
    every = 300.0
    deadline = 3 * TIMEOUT_SECONDS
    carries: tuple[str, ...] = tuple(ib_counters.signal_of(name)[0] for name in CARRIED)

    def __init__(self) -> None:
        self._fabric: IbFabric | None = None
        self._asked_at = 0.0

    def read(self, now: float) -> Reading:
        try:
            if self._fabric is None or now - self._asked_at >= TOPOLOGY_SECONDS:
                self._fabric, self._asked_at = topology(), now
            bad = {(one.guid, one.port): one.counts for one in errors()}
        except CannotAsk as error:
            return Reading(source=self.name, at=now, blind=str(error))
        return self._build(self._fabric, bad).build(self.name, now)

    def _build(self, fabric: IbFabric, bad: dict[tuple[str, int], dict[str, int]]) -> ReadingBuilder:
        """A switch port that is not in the report has no errors: ibqueryerrors lists only ports with errors."""
        builder, labels = ReadingBuilder(), fabric.labels()
        for guid, port in fabric.cables:
            if fabric.nodes[guid].kind == SWITCH:
                counts = bad.get((guid, port), {})
                for counter in CARRIED:
                    builder.add(
                        f"switch/{labels[guid]}/port/{port}",
                        ib_counters.signal_of(counter)[0],
                        float(counts.get(counter, 0)),
                    )
        return builder

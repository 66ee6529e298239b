"""Presumed losses while an attempt runs: a GPU, a port, a node. watch.py waits for confirmation."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from holdfast.formats.job.message import of_kernel
from holdfast.model.evidence import Evidence
from holdfast.model.signal import Event
from holdfast.supervisor.evidence.gather import KernelWatch
from holdfast.supervisor.hardware.agent_verdicts import AgentVerdicts
from holdfast.supervisor.nodes.rendezvous import Rendezvous

_EVERY_SECONDS = 1.0
_NOT_A_LINK = ("lo", "docker", "virbr", "br-", "cni", "flannel", "veth", "cali")  # of other containers, not of a cable


@dataclass(frozen=True, slots=True)
class Presumed:
    """A presumed loss, which would explain a silence that began after it."""

    what: str
    since: float  # steady clock
    evidence: tuple[Evidence, ...] = ()


class Suspicion:
    def __init__(
        self,
        node: str,
        kernel: KernelWatch,
        agent: AgentVerdicts,
        rendezvous: Rendezvous,
        members: Sequence[str],
        sys: str,
    ) -> None:
        self._node, self._kernel, self._rendezvous, self._members = node, kernel, rendezvous, members
        self._agent = agent
        self._ports = PortWatch(sys)
        self._next = 0.0
        self._found: dict[str, Presumed] = {}

    def presumed(self) -> list[Presumed]:
        """Everything presumed lost so far in this attempt; checked once a second."""
        now = time.monotonic()
        if now >= self._next:
            self._next = now + _EVERY_SECONDS
            self._check_kernel(now)
            down = self._ports.down()
            for port in down:
                self._add(f"port {port} of {self._node} is down", now, self._port_down(port))
            if not down:
                self._forget("port ")
            self._check_agent(now)
            self._check_members(now)
        return [*self._found.values()]

    def _check_kernel(self, now: float) -> None:
        found = [of_kernel(event, self._node) for event in self._kernel.capture(time.time())]
        for one in found:
            if one.role == "strong" and one.cause.startswith("gpu."):
                self._add(f"{one.event.kind} {one.event.code or ''} of {self._node}".replace("  ", " "), now)

    def _check_agent(self, now: float) -> None:
        found = self._agent.failures()
        for one in found:
            self._found.setdefault(f"agent {one.check}", Presumed(one.what, now, (one.evidence,)))
        if not found:
            self._forget("agent ")

    def _check_members(self, now: float) -> None:
        lost = self._rendezvous.lost(self._members)
        for name, seconds in lost.items():
            self._add(f"{name} has sent no heartbeat for {seconds:.0f} s", now - seconds)
        if not lost:
            self._forget(*self._members)

    def _add(self, what: str, since: float, *evidence: Evidence) -> None:
        key = what.split(" has ")[0]
        self._found.setdefault(key, Presumed(what, since, evidence))

    def _forget(self, *starts: str) -> None:
        """Forgets a loss that recovered. A later silence has another reason."""
        self._found = {key: one for key, one in self._found.items() if not key.startswith(starts)}

    def _port_down(self, port: str) -> Evidence:
        says = f"port {port} of {self._node} went down"
        event = Event(
            kind="link", code="down", at=time.time(), text=says, device=port, severity="warning", detail={"says": port}
        )
        return Evidence(event=event, file="supervisor", host=self._node, role="strong", cause="fabric.port_down")


class PortWatch:
    """Ports of this machine that were up when an attempt began and are down now."""

    def __init__(self, sys: str = "/sys") -> None:
        self._sys = Path(sys)
        self._up = {port for port, up in self._states().items() if up}

    def down(self) -> list[str]:
        states = self._states()
        return sorted(port for port in self._up if not states.get(port, False))

    def _states(self) -> dict[str, bool]:
        links = {
            path.parent.name: _text(path) == "1"
            for path in self._sys.glob("class/net/*/carrier")
            if not path.parent.name.startswith(_NOT_A_LINK)
        }
        fabric = {
            f"{path.parts[-4]}:{path.parts[-2]}": _text(path).startswith("4")
            for path in self._sys.glob("class/infiniband/*/ports/*/state")
        }
        return links | fabric


def _text(path: Path) -> str:
    try:
        return path.read_text("ascii", "replace").strip()
    except OSError:  # a disabled link refuses to report its carrier
        return ""

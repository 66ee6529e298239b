"""fabric.ports: before a node takes work, every expected port is present and up."""

from holdfast.catalog.gpus import gpu_model
from holdfast.formats.fabric.infiniband import state_name
from holdfast.model.health import FailureClass, Health
from holdfast.model.subject import Subject, kind
from holdfast.model.verdict import Row, Verdict
from holdfast.model.window import Window
from holdfast.node.checks.check import Check, Limits
from holdfast.node.checks.fabric.rdma_ports import expected_ports


def judge(window: Window, limits: Limits) -> Verdict:
    seen = window.values("port_expected")
    if not seen:
        return Verdict(rows=())
    rows = [row for port in expected_ports(window) if (row := _judge_port(window, port, port in seen))]
    typical, text = _against_typical(window, [row.subject for row in rows if row.health is Health.PASS])
    if not rows and not typical:
        rows.append(
            Row(window.node, Health.UNKNOWN, reason="no port was ever up, and no manifest says which should be")
        )
    return Verdict(rows=tuple(rows + typical), evidence=text)


def _judge_port(window: Window, port: Subject, there: bool) -> Row | None:
    if not there:
        return Row(port, Health.FAIL, reason="the manifest lists it, the node does not have it")
    up = window.number(port, "port_up")
    if up is None:
        return None
    state = window.number(port, "port_state")
    text = "down" if state is None else state_name(state)
    return Row(port, Health.PASS, "up") if up else Row(port, Health.FAIL, text, "up", f"{text}, should be ACTIVE")


def _against_typical(window: Window, up: list[Subject]) -> tuple[list[Row], tuple[str, ...]]:
    """Compares with the usual node of this GPU model if there is no manifest. The result is a note, not a failure."""
    if any(kind(subject) == "nic" for subject in window.inventory.expect):
        return [], ()
    names = {str(window.value(gpu, "gpu_model") or "") for gpu in window.inventory.expected("gpu")}
    model = gpu_model(names.pop()) if len(names) == 1 else None
    if model is None or not model.rdma_ports:
        return [], ()
    rates = [window.number(port, "port_rate_bytes_per_second") or 0.0 for port in up]
    count = sum(rate >= model.rdma_bytes_per_second for rate in rates)
    usual = f"{model.rdma_ports} ports of {model.rdma_gigabits_per_second:g} Gb/s, usual for {model.name}"
    if count >= model.rdma_ports:
        return [], (f"{count} ports up: {usual}",)
    reason = f"{count} ports as fast are up, not {usual}; if that is intended, write a manifest (holdfast node learn)"
    return [Row(window.node, Health.DEGRADED, float(count), float(model.rdma_ports), reason)], ()


CHECK = Check(
    name="fabric.ports",
    asks="Is every RDMA port that this node should have present and up?",
    about="nic",
    part="rdma",
    reads=("port_up",),
    judge=judge,
    failure_class=FailureClass.SLOWDOWN,
    remedy="check cabling and the switch port; for a missing device, check the PCI bus and the driver",
    owner="network",
)

"""fabric.port_rate: a port that trained slower than its peers slows every collective."""

from holdfast.catalog import nics
from holdfast.model.health import FailureClass, Health
from holdfast.model.subject import Subject, local_name
from holdfast.model.verdict import Row, Verdict
from holdfast.model.window import Window
from holdfast.node.checks.check import Check, Limits
from holdfast.node.checks.fabric.rdma_ports import expected_ports

_RATE = "port_rate_bytes_per_second"


def judge(window: Window, limits: Limits) -> Verdict:
    up = [port for port in expected_ports(window) if window.number(port, "port_up")]
    rates = {port: rate for port in up if (rate := window.number(port, _RATE)) is not None}
    rows = [_judge_port(window, port, rate, rates, limits) for port, rate in rates.items()]
    rows += [
        Row(port, Health.PASS, reason="down: fabric.port_down tells")
        for port in expected_ports(window)
        if window.number(port, "port_up") == 0
    ]
    return Verdict(rows=tuple(rows), evidence=_below_catalog(window, rates))


def _judge_port(window: Window, port: Subject, rate: float, rates: dict[Subject, float], limits: Limits) -> Row:
    expected, whose = _expected(window, port, rates)
    if rate >= expected:
        return Row(port, Health.PASS, rate, expected)
    health = Health.FAIL if rate <= expected * limits["fail_ratio"] else Health.DEGRADED
    return Row(port, health, rate, expected, f"runs at {_gigabits(rate)}, {whose} {_gigabits(expected)}")


def _expected(window: Window, port: Subject, rates: dict[Subject, float]) -> tuple[float, str]:
    """The expected rate from the manifest, or the fastest port of the same model on this node."""
    reported = window.inventory.expect.get(port, {}).get(_RATE)
    if isinstance(reported, int | float):
        return float(reported), "the manifest says"
    make = _make(window, port)
    return max(rate for peer, rate in rates.items() if _make(window, peer) == make), "its peers run at"


def _make(window: Window, port: Subject) -> tuple[object, ...]:
    names = ("port_link_layer", "port_board_id", "port_hca_type")
    function = str(window.value(port, "port_pci_address") or "").rpartition(".")[2]
    return (*(window.value(port, name) for name in names), function)


def _below_catalog(window: Window, rates: dict[Subject, float]) -> tuple[str, ...]:
    """A note about a rate below the catalog's.

    It is only reported, because a slower switch is not a fault of the port.
    """
    notes = []
    for port, rate in rates.items():
        known = nics.adapter(str(window.value(port, "port_hca_type") or ""))
        if known and rate < known.rate_bytes_per_second:
            fastest = _gigabits(known.rate_bytes_per_second)
            notes.append(f"{local_name(port)}: {_gigabits(rate)} on a {known.model} that can do {fastest}")
    return tuple(notes)


def _gigabits(bytes_per_second: float) -> str:
    return f"{bytes_per_second * 8 / 1e9:g} Gb/s"


CHECK = Check(
    name="fabric.port_rate",
    asks="Does every RDMA port run at the rate of its peers, or of the manifest?",
    about="nic",
    part="rdma",
    reads=("port_up", _RATE),
    judge=judge,
    failure_class=FailureClass.SLOWDOWN,
    remedy="reseat or replace cable and transceiver; compare the speed settings of the switch port with its neighbours",
    owner="network",
    limits={"fail_ratio": 0.5},
)

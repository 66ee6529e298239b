"""fabric.ports: what should be there before work begins."""

from holdfast.model.health import Health
from holdfast.model.history import History
from holdfast.model.inventory import Inventory
from holdfast.model.signal import Reading, Signal
from holdfast.model.subject import Subject
from holdfast.model.verdict import Verdict
from holdfast.node.checks.fabric.ports import CHECK

PORTS = [f"node/n1/nic/mlx5_{i}/1" for i in range(8)]
GPU = "node/n1/gpu/0"


def ask(up: list[Subject], down: list[Subject] = (), manifest: list[Subject] = (), rate: float = 5e10) -> Verdict:  # type: ignore[assignment]
    history = History("n1")
    expect = {port: {"port_rate_bytes_per_second": rate} for port in manifest}
    history.inventory = Inventory(node="n1", subjects=frozenset({*up, *down, *manifest, GPU}), expect=expect)
    signals = [Signal(GPU, "gpu_model", "NVIDIA H100 80GB HBM3")]
    for port in (*up, *down):
        signals += [
            Signal(port, "port_expected", 1.0),
            Signal(port, "port_up", float(port in up)),
            Signal(port, "port_state", 4.0 if port in up else 1.0),
            Signal(port, "port_rate_bytes_per_second", rate),
        ]
    history.add(Reading(source="infiniband", at=0, signals=signals))
    return CHECK(history.window(0, 600))


def test_eight_fast_ports_are_what_this_model_usually_has() -> None:
    verdict = ask(PORTS)
    assert verdict.health is Health.PASS
    assert "usual for" in verdict.evidence[0]


def test_a_port_that_is_down_fails() -> None:
    verdict = ask(PORTS[1:], down=PORTS[:1])
    assert verdict.health is Health.FAIL
    assert "mlx5_0/1: DOWN, should be ACTIVE" in verdict.summary()


def test_a_port_of_the_manifest_that_is_not_there_fails() -> None:
    verdict = ask(PORTS[1:], manifest=PORTS)
    assert [row.subject for row in verdict.rows if row.health is Health.FAIL] == PORTS[:1]


def test_fewer_ports_than_usual_degrade_and_never_fail_without_a_manifest() -> None:
    verdict = ask(PORTS[:4])
    assert verdict.health is Health.DEGRADED
    assert "write a manifest" in verdict.summary()


def test_a_manifest_with_fewer_ports_is_believed() -> None:
    assert ask(PORTS[:4], manifest=PORTS[:4]).health is Health.PASS


def test_nothing_seen_is_unknown() -> None:
    assert CHECK(History("n1").window(0, 600)).health is Health.UNKNOWN

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


def test_slower_ports_do_not_count_towards_the_usual() -> None:
    assert ask(PORTS, rate=5e10).health is Health.PASS
    slow = ask(PORTS, rate=4.9e10)
    assert (slow.health, slow.rows[-1].value, slow.rows[-1].limit) == (Health.DEGRADED, 0.0, 8.0)
    seven = ask(PORTS[:7])
    assert (seven.health, seven.rows[-1].value) == (Health.DEGRADED, 7.0)


def node(signals: list[Signal], *subjects: Subject, expect: tuple[Subject, ...] = ()) -> Verdict:
    history = History("n1")
    wanted = {subject: {"port_rate_bytes_per_second": 5e10} for subject in expect}
    history.inventory = Inventory(node="n1", subjects=frozenset(subjects), expect=wanted)
    history.add(Reading(source="infiniband", at=0, signals=signals))
    return CHECK(history.window(0, 600))


def test_ports_that_were_never_up_and_no_one_lists_leave_the_node_unknown() -> None:
    never = [Signal(PORTS[0], "port_expected", 0.0), Signal(PORTS[0], "port_up", 0.0)]
    verdict = node(never)
    assert [(row.subject, row.health) for row in verdict.rows] == [("node/n1", Health.UNKNOWN)]
    assert "no port was ever up" in verdict.summary()


def test_what_is_usual_for_two_models_on_one_node_no_one_knows() -> None:
    up = [Signal(PORTS[0], name, 1.0) for name in ("port_expected", "port_up")]
    mixed = [Signal(GPU, "gpu_model", "NVIDIA H100 80GB HBM3"), Signal("node/n1/gpu/1", "gpu_model", "NVIDIA L40S")]
    verdict = node(up + mixed, PORTS[0], GPU, "node/n1/gpu/1")
    assert (verdict.health, verdict.evidence) == (Health.PASS, ())
    assert node(up + mixed[:1], PORTS[0], GPU).health is Health.DEGRADED


def test_a_port_whose_state_is_not_reported_is_unknown_and_one_without_a_name_is_down() -> None:
    verdict = node([Signal(PORTS[0], "port_expected", 1.0)], PORTS[0])
    assert verdict.health is Health.UNKNOWN
    stateless = [Signal(PORTS[0], "port_expected", 1.0), Signal(PORTS[0], "port_up", 0.0)]
    row = node(stateless, PORTS[0]).rows[0]
    assert (row.health, row.reason) == (Health.FAIL, "down, should be ACTIVE")


def test_a_port_that_is_down_does_not_count_towards_the_usual() -> None:
    verdict = ask(PORTS[1:], down=PORTS[:1])
    assert verdict.rows[-1].value == 7.0
    assert ask(PORTS[:4]).rows[-1].reason.startswith("4 ports as fast are up, not 8 ports of 400 Gb/s")

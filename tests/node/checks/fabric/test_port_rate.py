"""fabric.port_rate: measured against the manifest, else against peers of the same make."""

from holdfast.model.health import FailureClass, Health
from holdfast.model.history import History
from holdfast.model.inventory import Inventory
from holdfast.model.signal import Reading, Signal, Value
from holdfast.model.verdict import Row, Verdict
from holdfast.node.checks.fabric.port_rate import CHECK

PORTS = [f"node/n1/nic/mlx5_{i}/1" for i in range(3)]
RATE = "port_rate_bytes_per_second"


def ask(*ports: dict[str, Value], expect: dict[str, dict[str, Value]] | None = None) -> Verdict:
    history = History("n1")
    history.inventory = Inventory(node="n1", subjects=frozenset(PORTS[: len(ports)]), expect=expect or {})
    usual: dict[str, Value] = {"port_up": 1.0, "port_expected": 1.0, "port_hca_type": "MT4129", RATE: 5e10}
    signals = [
        Signal(PORTS[i], name, value) for i, port in enumerate(ports) for name, value in {**usual, **port}.items()
    ]
    history.add(Reading(source="infiniband", at=0, signals=signals))
    return CHECK(history.window(0, 600))


def row(verdict: Verdict, number: int) -> Row:
    return next(row for row in verdict.rows if row.subject == PORTS[number])


def test_equal_rates_pass() -> None:
    assert ask({}, {}).health is Health.PASS


def test_half_the_rate_of_its_peers_fails_that_port_alone() -> None:
    verdict = ask({}, {RATE: 2.5e10}, {})
    assert (row(verdict, 1).health, row(verdict, 0).health) == (Health.FAIL, Health.PASS)
    assert row(verdict, 1).reason == "runs at 200 Gb/s, its peers run at 400 Gb/s"
    assert verdict.failure_class is FailureClass.SLOWDOWN


def test_a_little_slower_degrades() -> None:
    assert row(ask({}, {RATE: 4e10}), 1).health is Health.DEGRADED


def test_another_make_is_no_peer() -> None:
    assert ask({}, {RATE: 2.5e10, "port_hca_type": "MT4123"}).health is Health.PASS


def test_the_manifest_wins_over_peers() -> None:
    verdict = ask({RATE: 2.5e10}, {RATE: 2.5e10}, expect={PORTS[0]: {RATE: 5e10}, PORTS[1]: {RATE: 2.5e10}})
    assert (row(verdict, 0).health, row(verdict, 1).health) == (Health.FAIL, Health.PASS)
    assert "the manifest says 400 Gb/s" in row(verdict, 0).reason


def test_all_ports_on_a_slower_switch_pass_and_it_is_reported() -> None:
    verdict = ask({RATE: 2.5e10}, {RATE: 2.5e10})
    assert verdict.health is Health.PASS
    assert "ConnectX-7 that can do 400 Gb/s" in verdict.evidence[0]


def test_a_port_that_is_down_is_judged_elsewhere_and_its_rate_ignored() -> None:
    assert ask({}, {"port_up": 0.0, RATE: 1.25e9}).health is Health.PASS


def test_a_port_that_is_up_without_a_readable_rate_is_unknown() -> None:
    history = History("n1")
    history.inventory = Inventory(node="n1", subjects=frozenset(PORTS[:1]))
    signals = [Signal(PORTS[0], "port_up", 1.0), Signal(PORTS[0], "port_expected", 1.0)]
    history.add(Reading(source="infiniband", at=0, signals=signals, absent={(PORTS[0], RATE): "reads 'fast'"}))
    assert row(CHECK(history.window(0, 600)), 0).reason == "reads 'fast'"


def test_just_above_half_the_rate_degrades_and_at_half_it_fails() -> None:
    assert row(ask({}, {RATE: 2.5e10}), 1).health is Health.FAIL
    assert row(ask({}, {RATE: 2.51e10}), 1).health is Health.DEGRADED
    assert row(ask({}, {RATE: 4.99e10}), 1).health is Health.DEGRADED


def test_another_board_function_or_link_layer_is_no_peer_either() -> None:
    for name, mine, other in (
        ("port_board_id", "A", "B"),
        ("port_link_layer", "InfiniBand", "Ethernet"),
        ("port_pci_address", "0000:5c:00.0", "0000:5c:00.1"),
    ):
        assert ask({name: mine}, {RATE: 2.5e10, name: other}).health is Health.PASS
        assert ask({name: mine}, {RATE: 2.5e10, name: mine}).health is Health.FAIL
    same_function = ask({"port_pci_address": "0000:5c:00.0"}, {RATE: 2.5e10, "port_pci_address": "0000:9c:00.0"})
    assert same_function.health is Health.FAIL


def test_a_port_at_the_catalogs_rate_is_not_reported_of() -> None:
    assert ask({}, {}).evidence == ()
    assert ask({"port_hca_type": "MT0000", RATE: 1.25e9}).evidence == ()


def test_a_port_that_is_down_gets_a_row_that_says_who_judges_it() -> None:
    verdict = ask({}, {"port_up": 0.0})
    assert row(verdict, 1).reason == "down: fabric.port_down tells"
    assert row(verdict, 0).reason == ""

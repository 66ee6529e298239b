"""Remedies for the node at hand: the tools of the GPU's make, and what a tenant of a cloud can do."""

import pytest

from holdfast.catalog import nics
from holdfast.model.health import Health
from holdfast.model.history import History
from holdfast.model.signal import Reading, Signal
from holdfast.model.verdict import Row, Verdict
from holdfast.node.checks import remedies
from holdfast.node.checks.remedies import EFA_PORT, MOVE, for_this_node, on_an_instance


@pytest.mark.parametrize(
    ("remedy", "rented"),
    [
        (
            "drain and reboot the node; if the GPU is lost again, reseat or replace it",
            f"drain and reboot the node; if the GPU is lost again, {MOVE}",
        ),
        ("drain the node and replace the GPU: its memory is worn", f"drain the node and {MOVE}"),
        ("reseat the GPU, its riser or cable; replace it if the rate stays", MOVE),
        ("drain the node; check airflow or coolant flow, and the heat sink of this GPU", f"drain the node; {MOVE}"),
        ("check cable, transceiver and switch port; compare with the other ports of the same switch", MOVE),
        ("look at the bus; reboot, and if it stays, reseat it", f"look at the bus; reboot, and if it stays, {MOVE}"),
        ("free space or inodes", "free space or inodes"),
        ("drain the node, reset the GPU and run the full test", "drain the node, reset the GPU and run the full test"),
    ],
)  # fmt: skip
def test_what_only_the_provider_can_do_becomes_a_move_to_other_hardware(remedy: str, rented: str) -> None:
    assert on_an_instance(remedy) == rented


def test_a_remedy_for_an_amd_gpu_names_its_tools() -> None:
    for nvidia, amd in remedies.AMD_TOOLS.items():
        assert remedies.with_amd_tools(f"run {nvidia}now") == f"run {amd}now"


@pytest.mark.parametrize(("there", "remedy"), [(True, EFA_PORT), (False, MOVE)])
def test_an_efa_port_that_is_there_is_looked_at_and_one_that_is_gone_is_the_providers(there: bool, remedy: str) -> None:
    port = "node/n1/nic/rdmap0/1"
    signals = [Signal(port, "port_expected", 1.0), Signal(port, "port_hca_type", nics.EFA)]
    signals += [Signal(port, "port_state", 4.0)] if there else []
    history = History("n1")
    history.add(Reading(source="infiniband", at=0.0, signals=signals))
    verdict = Verdict(rows=(Row(port, Health.FAIL),), remedy="reseat the cable; replace it")
    assert for_this_node(history.window(0.0, 60.0), verdict) == remedy

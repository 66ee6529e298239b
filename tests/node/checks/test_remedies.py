"""Remedies for the node at hand: the tools of the GPU's make, and what a tenant of a cloud can do."""

import pytest

from holdfast.node.checks import remedies
from holdfast.node.checks.remedies import MOVE, on_an_instance


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

"""A preview replays what was seen through another policy, and touches nothing."""

from holdfast.controller.preview import preview
from holdfast.lifecycle.policy import Policy
from holdfast.model.life import NodeLife
from holdfast.model.report import VerdictChange

NODES = [NodeLife(name=f"n{number}", place={"rack": f"r{number}"}) for number in range(20)]


def failing(node: str, at: float, after: str = "fail") -> tuple[str, VerdictChange]:
    return node, VerdictChange(at=at, check="gpu.ecc", before="", after=after, reason="2 errors")


def test_a_failure_that_lasts_climbs_the_ladder_to_a_person() -> None:
    found = preview(Policy(), NODES, [failing("n1", 100.0)], 0.0)
    assert found.nodes == {"n1": 1}
    assert found.actions["drain"] == 1
    assert found.actions["reset_gpu"] == found.actions["reboot"] == found.actions["ticket"] == 1


def test_a_check_in_shadow_mode_would_have_done_nothing() -> None:
    found = preview(Policy(shadow_checks=frozenset({"gpu.ecc"})), NODES, [failing("n1", 100.0)], 0.0)
    assert not found.nodes
    assert not found.actions


def test_a_tighter_breaker_would_have_kept_nodes_in_service() -> None:
    many = [failing(f"n{number}", 100.0 + number) for number in range(6)]
    wide = preview(Policy(breaker_share=1.0, breaker_nodes=20), NODES, many, 0.0)
    tight = preview(Policy(breaker_share=0.1, breaker_nodes=2), NODES, many, 0.0)
    assert len(wide.nodes) == 6
    assert len(tight.nodes) == 2
    assert [one.subject for one in tight.incidents][-1] == "pool/default"

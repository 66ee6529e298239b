"""What the page says of a pool: who is out counts against the cap, who is in a test does not but is named."""

from holdfast.fleet.api.board import Board
from holdfast.fleet.decisions.lifecycle.policy import Policy
from holdfast.model.lifecycle import NodeState, Stage


def test_a_node_in_a_test_is_out_of_service_only_if_it_failed() -> None:
    board = Board(Policy())
    lives = [
        NodeState(name="n1", pool="p", stage=Stage.READY),
        NodeState(name="n2", pool="p", stage=Stage.TESTING),
        NodeState(name="n3", pool="p", stage=Stage.TESTING),
        NodeState(name="n4", pool="p", stage=Stage.TESTING, failed=True),
        NodeState(name="n5", pool="p", stage=Stage.QUARANTINED),
        NodeState(name="n6", pool="other", stage=Stage.TESTING),
    ]
    board.replace_all(lives, {}, {})
    other, pool = board.fleet().pools
    assert (pool.nodes, pool.out, pool.testing) == (5, 2, 2)
    assert (other.nodes, other.out, other.testing) == (1, 0, 1)

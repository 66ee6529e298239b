"""A large fleet is read page by page, and every node is on exactly one page."""

from holdfast.fleet.api.board import Board
from holdfast.fleet.decisions.lifecycle.policy import Policy
from holdfast.model.lifecycle import NodeState, Stage


def test_a_page_starts_after_the_last_node_of_the_one_before() -> None:
    board = Board(Policy())
    names = [f"n{number:03d}" for number in range(25)]
    board.replace_all([NodeState(name=name, stage=Stage.READY) for name in names], {}, {})
    assert [one.name for one in board.nodes(after="n009")] == names[10:]
    assert [one.name for one in board.nodes(after="n024")] == []
    board.forget("n010")
    assert board.nodes(after="n009")[0].name == "n011"

"""A controller that has not read its store yet does not say that a node is not there."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("litestar", reason="needs the extra [controller]")

from holdfast.api import nodes
from holdfast.api.board import Board
from holdfast.api.problem import Problem
from holdfast.lifecycle.policy import Policy
from holdfast.model.life import NodeLife


def refusal(asked: Any) -> int:
    with pytest.raises(Problem) as problem:
        asyncio.run(asked)
    return problem.value.status


def test_before_the_store_is_read_nobody_is_said_not_to_be_there() -> None:
    board = Board(Policy())
    desk: Any = SimpleNamespace(board=board)
    assert refusal(nodes.tell_story.fn(desk, "n1")) == 503
    board.replace_all([NodeLife(name="n1")], {}, {})
    assert refusal(nodes.tell_story.fn(desk, "n2")) == 404

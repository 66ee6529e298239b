"""A controller that has not read its store yet does not say that a node is not there."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("litestar", reason="needs the extra [controller]")

from holdfast.fleet.api.access import Caller
from holdfast.fleet.api.board import Board
from holdfast.fleet.api.problem import Problem
from holdfast.fleet.api.routes import nodes
from holdfast.fleet.decisions.lifecycle.policy import Policy
from holdfast.model.lifecycle import NodeState
from holdfast.model.records import Role

REQUEST: Any = SimpleNamespace(state=SimpleNamespace(caller=Caller("ann", Role.VIEWER)))


def refusal(asked: Any) -> int:
    with pytest.raises(Problem) as problem:
        asyncio.run(asked)
    return problem.value.status


def test_before_the_store_is_read_nobody_is_said_not_to_be_there() -> None:
    board = Board(Policy())
    service: Any = SimpleNamespace(board=board)
    assert refusal(nodes.tell_story.fn(service, REQUEST, "n1")) == 503
    board.replace_all([NodeState(name="n1")], {}, {})
    assert refusal(nodes.tell_story.fn(service, REQUEST, "n2")) == 404

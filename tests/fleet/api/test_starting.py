"""The start of the API: routes declared as Litestar recommends, and no node is missing before the store is read."""

import asyncio
import warnings
from types import SimpleNamespace
from typing import Any, cast

import pytest

pytest.importorskip("litestar", reason="needs the extra [controller]")

from holdfast.fleet.api.access import Caller
from holdfast.fleet.api.app import Front
from holdfast.fleet.api.board import Board
from holdfast.fleet.api.problem import Problem
from holdfast.fleet.api.routes import nodes
from holdfast.fleet.api.service import Service
from holdfast.fleet.decisions.lifecycle.policy import Policy
from holdfast.model.lifecycle import NodeState
from holdfast.model.records import Role

REQUEST: Any = SimpleNamespace(state=SimpleNamespace(caller=Caller("ann", Role.VIEWER)))


def refusal(asked: Any) -> int:
    with pytest.raises(Problem) as problem:
        asyncio.run(asked)
    return problem.value.status


def test_before_the_store_is_read_an_unknown_node_is_a_503() -> None:
    board = Board(Policy())
    service: Any = SimpleNamespace(board=board)
    assert refusal(nodes.node_history.fn(service, REQUEST, "n1")) == 503
    board.replace_all([NodeState(name="n1")], {}, {})
    assert refusal(nodes.node_history.fn(service, REQUEST, "n2")) == 404


def test_the_routes_use_no_deprecated_declaration() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Front(cast(Service, SimpleNamespace(console=""))).litestar.openapi_schema.to_schema()

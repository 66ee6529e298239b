"""What a killed API server does to us: nothing that the next try would not mend."""

import time

import pytest

from holdfast.actions.backend import NoAnswer, Result
from holdfast.model.life import Action, Verb

from .conftest import Cluster

pytestmark = pytest.mark.slow


def test_a_killed_server_is_a_failure_worth_another_try_and_never_an_empty_fleet(cluster: Cluster, node: str) -> None:
    backend = cluster.backend(timeout=5.0)
    cordon = Action(node=node, verb=Verb.CORDON, reason="untested", at=time.time())
    assert backend.observe()
    cluster.kill_server()
    try:
        said = backend.perform(cordon, False)
        assert (said.result, said.retryable) == (Result.FAILED, True)
        assert "cannot be reached" in said.said
        with pytest.raises(NoAnswer):
            backend.observe()
    finally:
        cluster.start_server()
    assert backend.perform(cordon, False).result is Result.DONE
    assert cluster.taints(node) == {"holdfast/untested:NoSchedule"}

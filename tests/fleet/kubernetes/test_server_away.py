"""What a killed API server does to us: nothing that the next try would not mend."""

import time
from pathlib import Path

import pytest

from holdfast.fleet.actions.backend import ActionResult
from holdfast.model.lifecycle import Action, Verb
from holdfast.runtime.errors import NoAnswer

from ..controller.running import running, until  # noqa: TID252  tests are no package to name
from .conftest import Cluster

pytestmark = pytest.mark.slow


def test_a_killed_server_is_a_failure_worth_another_try_and_never_an_empty_fleet(
    cluster: Cluster, node: str, tmp_path: Path
) -> None:
    """And what the controller could not do meanwhile is done when the server is back."""
    backend = cluster.backend(timeout=5.0)
    last = Action(node=node, verb=Verb.CHOOSE_LAST, reason="degraded", at=time.time())
    assert backend.observe()
    more = f'observe_seconds = 1\n[kubernetes]\nkubeconfig = "{cluster.kubeconfig("controller")}"\n'
    with running(tmp_path, more=more) as controller:
        cluster.kill_server()
        try:
            answer = backend.perform(last, False)
            assert (answer.result, answer.retryable) == (ActionResult.FAILED, True)
            assert "cannot be reached" in answer.message
            with pytest.raises(NoAnswer):
                backend.observe()
            agent = controller.enrol(node)

            def failed() -> bool:
                actions = controller.get("/v1/actions", node=node)["actions"]
                return any(one["verb"] == "cordon" and "cannot be reached" in one["detail"] for one in actions)

            until(failed, "the cordon fails and is kept")
        finally:
            cluster.start_server()
        until(lambda: "holdfast/untested:NoSchedule" in cluster.taints(node), "tainted when the server is back")
        assert backend.perform(last, False).result is ActionResult.DONE
        agent.pass_test()
        until(lambda: cluster.taints(node) == {"holdfast/degraded:PreferNoSchedule"}, "and opened by the test")

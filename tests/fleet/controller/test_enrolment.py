"""Attacks with a join token: names that are another's, floods of names, takeovers; and who is let in."""

import subprocess
import time
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.fleet.api.access import Caller
from holdfast.fleet.api.problem import Problem
from holdfast.fleet.controller.enrolment import NewNodes, address_fits, addresses_of, names_fit
from holdfast.model.records import Role
from tests.waiting import until

from .running import Agent, Controller, running


def enrol(controller: Controller, token: str, name: str, **more: Any) -> httpx.Response:
    return controller.post("/v1/enrol", {"node": name, "join_token": token, **more}, token="")


def pending(controller: Controller) -> list[str]:
    return [one["name"] for one in controller.get("/v1/pending")["pending"]]


def test_a_token_for_several_nodes_says_which(controller: Controller) -> None:
    reply = controller.post("/v1/tokens", {"uses": 2})
    assert reply.status_code == 400
    assert "must list the nodes" in reply.json()["error"]
    for bound in ({"nodes": "gpu[001-100]"}, {"network": "10.0.0.0/8"}, {"node": "gpu001"}):
        assert controller.post("/v1/tokens", {"uses": 2, **bound}).status_code == 200
    for wrong in ({"nodes": "gpu["}, {"network": "10.0.0.0/33"}, {"network": "x"}):
        assert controller.post("/v1/tokens", {"uses": 2, **wrong}).status_code == 400


def test_a_token_is_for_its_names_and_its_network_alone(controller: Controller) -> None:
    token = controller.token(uses=5, nodes="bound-[1-3],spare-*", network="127.0.0.0/8")
    assert enrol(controller, token, "bound-4").status_code == 403
    assert enrol(controller, token, "bound-3").status_code == 200
    assert enrol(controller, token, "spare-77").status_code == 200
    assert enrol(controller, controller.token(uses=5, network="10.0.0.0/8"), "bound-2").status_code == 403


def test_a_shared_token_takes_no_node_out_of_service_and_has_no_vote(controller: Controller) -> None:
    """The attack: names of machines without an agent, all of them failing. Nothing must move, and no breaker fill."""
    token = controller.token(uses=50, nodes="victim-[00-49]")
    before = controller.get("/v1/fleet")
    for number in range(50):
        reply = enrol(controller, token, f"victim-{number:02}", pool="victims")
        assert reply.json()["pending"] is True
        agent = Agent(controller, f"victim-{number:02}", reply.json()["credential"])
        change = {"at": time.time(), "check": "gpu.lost", "before": "", "after": "fail", "reason": "forged"}
        refused = controller.report([agent.next(changes=[change])], agent.credential)
        assert refused.status_code == 503, "the agent stores its reports until somebody vouches for it"
        assert "vouch" in refused.json()["error"]
    after = controller.get("/v1/fleet")
    assert after["nodes"] == before["nodes"]
    assert [one["pool"] for one in after["pools"]] == [one["pool"] for one in before["pools"]]
    assert not [
        one for one in controller.get("/v1/actions", limit=1000)["actions"] if one["node"].startswith("victim-")
    ]
    assert controller.ask("GET", "/v1/nodes/victim-00").status_code == 404
    signal = {"subject": "job/a", "name": "gpu_power_watts", "value": 1.0}
    assert controller.post("/v1/signals", {"signals": [signal]}, token=agent.credential).status_code == 503
    assert controller.post("/v1/credential", {}, token=agent.credential).status_code == 503, "it mints no other"


def test_an_operator_vouches_and_the_node_joins(controller: Controller) -> None:
    token = controller.token(uses=2, nodes="waits-*")
    agent = Agent(controller, "waits-1", enrol(controller, token, "waits-1").json()["credential"])
    assert "waits-1" in pending(controller)
    viewer = controller.token(role="viewer", name="v")
    assert controller.post("/v1/pending/vouch", {"name": "waits-1"}, token=viewer).status_code == 403
    assert controller.post("/v1/pending/vouch", {"name": "waits-9"}).status_code == 404
    assert controller.post("/v1/pending/vouch", {"name": "waits-1"}).status_code == 200
    assert "waits-1" not in pending(controller)
    agent.pass_test()
    assert controller.stage("waits-1") == "ready"
    assert controller.audited(verb="vouch", target="waits-1")


def test_a_second_machine_cannot_wait_under_the_same_name(tmp_path: Path) -> None:
    """From another address it is refused; from its own, an agent that lost its credential gets another."""
    with running(tmp_path) as controller:
        token = controller.token(uses=9, nodes="twice-*")
        first = enrol(controller, token, "twice-1").json()["credential"]
        second = enrol(controller, token, "twice-1").json()["credential"]
        assert controller.ask("POST", "/v1/reports", first, content="[]").status_code == 401, "the first is revoked"
        assert controller.ask("POST", "/v1/reports", second, content="[]").status_code != 401
        with httpx.Client(transport=httpx.HTTPTransport(local_address="127.0.0.2"), trust_env=False) as another:
            refused = another.post(f"{controller.url}/v1/enrol", json={"node": "twice-1", "join_token": token})
        assert refused.status_code == 403
        assert pending(controller) == ["twice-1"]


def test_a_known_node_without_a_credential_is_not_taken_over_by_a_shared_token(controller: Controller) -> None:
    agent = controller.ready_node("taken")
    controller.post("/v1/tokens/revoke", {"target": "taken"})
    reply = enrol(controller, controller.token(uses=2, nodes="taken"), "taken")
    thief = Agent(controller, "taken", reply.json()["credential"], session="thief")
    change = {"at": time.time(), "check": "gpu.lost", "before": "", "after": "fail", "reason": "forged"}
    assert controller.report([thief.next(changes=[change])], thief.credential).status_code == 503
    assert controller.stage("taken") == "ready"
    assert not controller.get("/v1/admission", thief.credential)["allowed"], "the node is open, its impostor is not"
    assert agent.credential != thief.credential


def test_names_never_seen_are_limited_by_the_hour(tmp_path: Path) -> None:
    with running(tmp_path, more="new_nodes_per_hour = 3\n") as controller:
        token = controller.token(uses=50, network="127.0.0.0/8", vouch=True)
        assert [enrol(controller, token, f"n{one}").status_code for one in range(5)] == [200, 200, 200, 429, 429]
        left = [one["uses_left"] for one in controller.get("/v1/tokens", role="join")["tokens"]]
        assert left == [47], "what is refused uses nothing up"
        controller.post("/v1/tokens/revoke", {"target": "n0"})
        assert enrol(controller, token, "n0").status_code == 200, "a known node is not new"


def test_the_limit_moves_with_the_hour() -> None:
    limit = NewNodes(2)
    limit.add(0.0)
    limit.add(10.0)
    with pytest.raises(Problem):
        limit.add(3_599.0)
    limit.add(3_600.0)
    with pytest.raises(Problem):
        limit.add(3_601.0)
    unlimited = NewNodes(0)
    for _ in range(10_000):
        unlimited.add(0.0)


def test_a_credential_is_renewed_when_it_is_due_and_old_ones_end(controller: Controller) -> None:
    agent = controller.enrol("fresh")
    assert controller.post("/v1/credential", {}, token=agent.credential).status_code == 409


def test_the_scheduler_vouches_for_a_name_at_its_address(tmp_path: Path) -> None:
    """Slurm names n1 at this address and n2 at another; n3 it does not know."""
    scontrol = tmp_path / "scontrol"
    scontrol.write_text(
        "#!/bin/sh\ncase \"$*\" in *'show node'*|*'show nodes'*)\n"
        "echo 'NodeName=n1 NodeAddr=127.0.0.1 State=IDLE'\necho 'NodeName=n2 NodeAddr=10.9.9.9 State=IDLE'\n;; esac\n"
    )
    scontrol.chmod(0o755)
    for other in ("squeue", "sinfo", "sacct"):
        (tmp_path / other).write_text("#!/bin/sh\nexit 0\n")
        (tmp_path / other).chmod(0o755)
    assert subprocess.run([str(scontrol), "show", "node"], capture_output=True, check=True).stdout
    import os

    environ = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    more = "observe_seconds = 0.1\n[slurm]\n"
    with running(tmp_path / "c", more=more, environ=environ) as controller:
        token = controller.token(uses=9, nodes="n*")
        for name in ("n1", "n2", "n3"):
            assert enrol(controller, token, name).json()["pending"] is True
        until(lambda: pending(controller) == ["n2", "n3"], "Slurm vouches for n1 alone")
        assert controller.audited(verb="vouch", target="n1", who="slurm")


def test_addresses_and_names() -> None:
    assert names_fit("", "x") and names_fit("a[1-3],b*", "a2") and names_fit("a[1-3],b*", "bus")
    assert not names_fit("a[1-3],b*", "a4") and not names_fit("a", "ab")
    assert address_fits("", "anything") and address_fits("10.0.0.0/8", "10.1.2.3")
    assert not address_fits("10.0.0.0/8", "11.1.2.3") and not address_fits("10.0.0.0/8", "::1")
    assert not address_fits("10.0.0.0/8", "unknown")
    assert addresses_of("10.0.0.1") == {"10.0.0.1"}
    assert "127.0.0.1" in addresses_of("localhost")
    assert addresses_of("no such host.invalid") == frozenset()


# ------------------------------------------------------------ a job's token


@given(st.sampled_from(list(Role)), st.booleans(), st.booleans())
def test_only_a_job_is_held_to_its_nodes(role: Role, named: bool, holds: bool) -> None:
    caller = Caller("c", role, nodes=frozenset({"n1"}) if named else frozenset(), job="7")
    assert caller.may_see("n1", {"7"} if holds else {"8"}) == (role is not Role.JOB or named or holds)


def test_a_job_reads_and_retests_its_own_nodes_and_nothing_else(controller: Controller) -> None:
    agent = controller.ready_node("own-1")
    controller.ready_node("other-1")
    token = controller.token(role="job", name="llama", nodes="own-[1-2]")
    assert [one["name"] for one in controller.get("/v1/nodes", token)["nodes"]] == ["own-1"]
    assert controller.ask("GET", "/v1/nodes/own-1", token).status_code == 200
    assert controller.ask("GET", "/v1/nodes/own-1/history", token).status_code == 200
    reason = {"reason": "my job died there"}
    assert controller.post("/v1/nodes/own-1/quarantine", reason, token).json()["code"] == "job_role"
    assert controller.post("/v1/nodes/own-1/retest", reason, token).json()["code"] == "job_limit", (
        "it ran nothing there"
    )
    work_there(agent, "7")
    assert controller.post("/v1/nodes/own-1/retest", reason, token).status_code == 200
    for path in ("/v1/nodes/other-1", "/v1/nodes/other-1/history", "/v1/fleet", "/v1/jobs", "/v1/audit", "/v1/tokens",
                 "/v1/incidents", "/metrics", "/v1/pending", "/v1/trainings", "/v1/components"):  # fmt: skip
        assert controller.ask("GET", path, token).status_code == 403, path
    for verb in ("retest", "quarantine", "release", "remove"):
        assert controller.post(f"/v1/nodes/other-1/{verb}", reason, token).status_code == 403
    for verb in ("release", "remove"):
        assert controller.post(f"/v1/nodes/own-1/{verb}", reason, token).status_code == 403
    assert controller.post("/v1/tokens", {"role": "viewer", "name": "x"}, token).status_code == 403
    assert controller.stage("other-1") == "ready"


def work_there(agent: Agent, job: str) -> None:
    """A workload begins and ends, and the node is tested after it."""
    agent.send(agent.next(jobs=[{"id": job, "start": time.time(), "gpus": 1}]))
    agent.controller.reaches(agent.name, "allocated")
    agent.send(agent.next(jobs=[]))
    agent.pass_test()
    agent.controller.reaches(agent.name, "ready")


def test_a_job_cannot_keep_its_nodes_from_others(controller: Controller) -> None:
    """The attack: a token of six nodes has all of them tested, again and again, also when its job is long over."""
    agent = controller.ready_node("again-1")
    token = controller.token(role="job", name="llama2", nodes="again-1")
    ask = {"reason": "again", "force": True}
    work_there(agent, "8")
    assert controller.post("/v1/nodes/again-1/retest", ask, token).status_code == 200
    assert controller.post("/v1/nodes/again-1/retest", ask, token).status_code == 409, "one at a time"
    agent.pass_test()
    controller.reaches("again-1", "ready")
    again = controller.post("/v1/nodes/again-1/retest", ask, token)
    assert (again.status_code, again.json()["code"]) == (409, "job_limit"), "once for each workload"
    controller.post("/v1/nodes/again-1/quarantine", {"reason": "an operator's"})
    controller.reaches("again-1", "quarantined")
    assert controller.post("/v1/nodes/again-1/retest", ask, token).json()["code"] == "job_limit"
    assert controller.post("/v1/nodes/again-1/release", {"reason": "over"}).status_code == 200


def test_a_jobs_token_names_nodes_or_a_job(controller: Controller) -> None:
    for ask in ({"role": "job", "name": "x"}, {"role": "viewer", "name": "x", "nodes": "n1"},
                {"role": "operator", "name": "x", "job": "7"}):  # fmt: skip
        assert controller.post("/v1/tokens", ask).status_code == 400, ask

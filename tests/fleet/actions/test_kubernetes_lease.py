"""The Lease: one holder at a time, whoever stops, is slow or loses the server."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.fleet.actions.kubernetes.access import KubernetesSettings
from holdfast.fleet.actions.kubernetes.api import ApiRefused, KubernetesApi
from holdfast.fleet.actions.kubernetes.lease import DURATION_SECONDS, KubernetesLease
from holdfast.runtime.errors import NoAnswer
from tests.counts import draws

from .conftest import Peer
from .kubernetes_objects import Objects

PATH = "/apis/coordination.k8s.io/v1/namespaces/holdfast/leases/c"


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def api(peer: Peer, tmp_path: Path) -> KubernetesApi:
    document = {
        "current-context": "x",
        "contexts": [{"name": "x", "context": {"cluster": "x", "user": "x"}}],
        "clusters": [{"name": "x", "cluster": {"server": peer.url}}],
        "users": [{"name": "x", "user": {}}],
    }
    (tmp_path / "kubeconfig").write_text(yaml.safe_dump(document))
    return KubernetesApi(KubernetesSettings(kubeconfig=str(tmp_path / "kubeconfig"), timeout=60.0))


def test_one_holds_it_and_the_other_takes_it_when_it_is_not_renewed(peer: Peer, api: KubernetesApi) -> None:
    objects, clock = Objects({}), Clock()
    peer.answer = objects.answer
    first = KubernetesLease(api, "holdfast/c", "first", clock)
    second = KubernetesLease(api, "holdfast/c", "second", clock)
    first.keep()
    second.keep()
    assert (first.held, second.held, second.taken) == (True, False, True)
    clock.now += DURATION_SECONDS  # exactly its duration: it may still be held
    second.keep()
    assert not second.held
    clock.now += 0.1
    second.keep()
    assert (first.held, second.held) == (False, True)
    spec = objects.held[PATH]["spec"]
    assert (spec["holderIdentity"], spec["leaseTransitions"]) == ("second", 1)
    first.keep()
    assert (first.held, first.taken) == (False, True)


def test_renewals_that_are_seen_keep_it(peer: Peer, api: KubernetesApi) -> None:
    objects, clock = Objects({}), Clock()
    peer.answer = objects.answer
    first = KubernetesLease(api, "holdfast/c", "first", clock)
    second = KubernetesLease(api, "holdfast/c", "second", clock)
    for _ in range(4):
        first.keep()
        second.keep()
        clock.now += DURATION_SECONDS - 1
    assert not second.held
    assert objects.held[PATH]["spec"]["leaseTransitions"] == 0


def test_a_server_that_does_not_answer_takes_nothing_and_gives_nothing(peer: Peer, api: KubernetesApi) -> None:
    clock = Clock()
    peer.answer = Objects({}).answer
    lease = KubernetesLease(api, "holdfast/c", "first", clock)
    lease.keep()
    peer.answer = lambda request: (503, {}, b"")
    clock.now += DURATION_SECONDS - 1
    lease.keep()
    assert lease.held
    clock.now += 1
    lease.keep()
    assert (lease.held, lease.taken) == (False, False)


def test_it_is_given_back_at_the_end(peer: Peer, api: KubernetesApi) -> None:
    clock = Clock()
    peer.answer = Objects({}).answer
    first = KubernetesLease(api, "holdfast/c", "first", clock)
    first.keep()
    first._release()
    second = KubernetesLease(api, "holdfast/c", "second", clock)
    second.keep()
    assert (first.held, second.held) == (False, True)


class Server:
    """The same without HTTP, for many steps."""

    def __init__(self) -> None:
        self.spec: dict[str, Any] | None = None
        self.version, self.away = 0, False

    def get(self, path: str) -> Any:
        self._ask()
        if self.spec is None:
            raise ApiRefused(404, "not found")
        return {"metadata": {"name": "c", "resourceVersion": str(self.version)}, "spec": self.spec}

    def post(self, path: str, body: Any) -> Any:
        return self.put(path, body)

    def put(self, path: str, body: Any) -> Any:
        self._ask()
        expected = body["metadata"].get("resourceVersion")
        if (self.spec is not None or expected) and expected != str(self.version):
            raise ApiRefused(409, "modified")
        self.version += 1
        self.spec = {**body["spec"], "renewTime": str(self.version)}

    def _ask(self) -> None:
        if self.away:
            raise NoAnswer("no answer", retryable=True)


@settings(max_examples=draws(40, 200))
@given(st.lists(st.tuples(st.sampled_from("abc") | st.just("away"), st.floats(0, 20)), max_size=40))
def test_two_never_hold_it_at_the_same_moment(steps: list[tuple[str, float]]) -> None:
    server, clock = Server(), Clock()
    leases = {name: KubernetesLease(server, "holdfast/c", name, clock) for name in "abc"}  # type: ignore[arg-type]
    for who, seconds in steps:
        if who == "away":
            server.away = not server.away
        else:
            leases[who].keep()
        assert sum(lease.held for lease in leases.values()) <= 1
        clock.now += seconds
        assert sum(lease.held for lease in leases.values()) <= 1

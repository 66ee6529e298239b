"""A Lease of Kubernetes (coordination.k8s.io): only one of a cluster's controllers acts, even with separate stores.

As in client-go, another holder's times are never compared with our clock: its Lease has expired if we saw no renewal
for its duration. Every write names the version that it changes, so two controllers never hold the Lease at once.
"""

import logging
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from holdfast.fleet.actions.kubernetes.api import CONFLICT, NOT_FOUND, ApiRefused, KubernetesApi
from holdfast.formats.kubernetes import objects as k8s
from holdfast.runtime import clock
from holdfast.runtime.components import described
from holdfast.runtime.errors import NoAnswer

log = logging.getLogger("holdfast.fleet.actions")
DURATION_SECONDS = 15
RENEW_SECONDS = 2.0
LEASES = "/apis/coordination.k8s.io/v1/namespaces/{}/leases"


class KubernetesLease:
    """Renewed on a separate thread, so that an API server that hangs does not block callers."""

    def __init__(
        self, api: KubernetesApi, name: str, holder: str, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        namespace, _, self._name = name.strip("/").partition("/")
        self._path = LEASES.format(namespace)
        self._api, self._holder, self._clock = api, holder, monotonic
        self._until = 0.0
        self._seen: tuple[str, str] = ("", "")  # another holder, and its last renewal
        self._seen_at = 0.0
        self._complaint = ""
        self.taken = False
        """Another holds it. A server that does not answer takes nothing from us."""
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="lease", daemon=True)

    @property
    def held(self) -> bool:
        """Whether this controller surely holds the Lease at this moment."""
        return self._clock() < self._until

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join(5)

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                self.keep()
            except Exception as error:  # noqa: BLE001  a thread that ends would never renew it again
                log.warning("the Lease %s could not be renewed: %s", self._name, described(error))
            self._stopping.wait(RENEW_SECONDS)
        self._release()

    def keep(self) -> None:
        """Renew the Lease, or take it if it is free."""
        asked = self._clock()
        try:
            if self._keep():
                self._until, self.taken = asked + DURATION_SECONDS, False
            self._complaint = ""
        except NoAnswer as error:
            if str(error) != self._complaint:
                log.warning("the Lease %s could not be renewed: %s", self._name, error)
            self._complaint = str(error)

    def _keep(self) -> bool:
        try:
            found = self._api.get(f"{self._path}/{self._name}")
        except ApiRefused as error:
            if error.status != NOT_FOUND:
                raise
            return self._written(lambda: self._api.post(self._path, self._body({}, {})))
        meta, spec = k8s.table(found, "metadata"), k8s.table(found, "spec")
        holder = k8s.text(spec, "holderIdentity")
        if holder not in ("", self._holder) and not self._over(holder, spec):
            self._until, self.taken = 0.0, True
            return False
        return self._written(lambda: self._api.put(f"{self._path}/{self._name}", self._body(meta, spec)))

    def _over(self, holder: str, spec: k8s.Object) -> bool:
        seen, now = (holder, k8s.text(spec, "renewTime")), self._clock()
        if seen != self._seen:
            self._seen, self._seen_at = seen, now
        duration = spec.get("leaseDurationSeconds")
        return now - self._seen_at > (duration if isinstance(duration, int) else DURATION_SECONDS)

    def _written(self, write: Callable[[], object]) -> bool:
        try:
            write()
        except ApiRefused as error:
            if error.status != CONFLICT:
                raise
            return False  # another controller was faster; the next renewal reads its Lease
        return True

    def _body(self, meta: k8s.Object, spec: k8s.Object) -> dict[str, Any]:
        now = datetime.fromtimestamp(clock.now(), UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        ours = k8s.text(spec, "holderIdentity") == self._holder
        count = spec.get("leaseTransitions")
        before = count if isinstance(count, int) else -1
        return {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": self._name, **({"resourceVersion": meta["resourceVersion"]} if meta else {})},
            "spec": {
                "holderIdentity": self._holder,
                "leaseDurationSeconds": DURATION_SECONDS,
                "acquireTime": k8s.text(spec, "acquireTime") if ours else now,
                "renewTime": now,
                "leaseTransitions": before if ours else before + 1,
            },
        }

    def _release(self) -> None:
        """Release it, so that the next controller does not wait until it expires."""
        if not self.held:
            return
        self._until = 0.0
        try:
            found = self._api.get(f"{self._path}/{self._name}")
            spec = k8s.table(found, "spec")
            if k8s.text(spec, "holderIdentity") == self._holder:
                self._api.put(f"{self._path}/{self._name}", {**found, "spec": {**spec, "holderIdentity": ""}})
        except NoAnswer as error:
            log.info("the Lease %s was not released and will expire: %s", self._name, error)

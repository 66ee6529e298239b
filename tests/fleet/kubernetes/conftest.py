"""A real kube-apiserver with its etcd on loopback, for the whole session. There is no kubelet: tests say themselves
what a node or a pod is, through the API's status."""

import os
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from holdfast.fleet.actions.kubernetes.access import KubernetesSettings
from holdfast.fleet.actions.kubernetes.backend import Kubernetes
from tests.ports import free_ports

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "holdfast" / "kubernetes"
BINARIES = Path(os.environ.get("HOLDFAST_KUBERNETES") or CACHE)
TIMEOUT_SECONDS = 300  # on a busy machine it starts slowly
DEPLOY = Path(__file__).resolve().parents[3] / "deploy" / "kubernetes"
# token, user, uid, groups: the controller is the service account of deploy/kubernetes/controller.yaml
CONTROLLER = "system:serviceaccount:holdfast:holdfast-controller"
TOKENS = f"""admin-token,admin,1,system:masters
viewer-token,viewer,2
controller-token,{CONTROLLER},3
limited-token,limited,4
"""
PATHS = {
    "Namespace": "/api/v1/namespaces",
    "ServiceAccount": "/api/v1/namespaces/{namespace}/serviceaccounts",
    "ConfigMap": "/api/v1/namespaces/{namespace}/configmaps",
    "Service": "/api/v1/namespaces/{namespace}/services",
    "PersistentVolumeClaim": "/api/v1/namespaces/{namespace}/persistentvolumeclaims",
    "Pod": "/api/v1/namespaces/{namespace}/pods",
    "Node": "/api/v1/nodes",
    "ClusterRole": "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "ClusterRoleBinding": "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    "Role": "/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/roles",
    "RoleBinding": "/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/rolebindings",
    "Deployment": "/apis/apps/v1/namespaces/{namespace}/deployments",
    "DaemonSet": "/apis/apps/v1/namespaces/{namespace}/daemonsets",
    "Job": "/apis/batch/v1/namespaces/{namespace}/jobs",
    "NetworkPolicy": "/apis/networking.k8s.io/v1/namespaces/{namespace}/networkpolicies",
    "PodDisruptionBudget": "/apis/policy/v1beta1/namespaces/{namespace}/poddisruptionbudgets",
}


@dataclass
class Cluster:
    root: Path
    url: str = ""
    etcd: str = ""
    processes: dict[str, "subprocess.Popen[bytes]"] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.http = httpx.Client(verify=False, timeout=20, trust_env=False)

    # ------------------------------------------------------------ asking

    def ask(self, method: str, path: str, body: Any = None, kind: str = "application/json", **query: str) -> Any:
        headers = {"Authorization": "Bearer admin-token", "Content-Type": kind}
        reply = self.http.request(method, self.url + path, json=body, headers=headers, params=query)
        assert reply.is_success, f"{method} {path}: {reply.text}"
        return reply.json()

    def patch(self, path: str, body: Any) -> Any:
        return self.ask("PATCH", path, body, "application/merge-patch+json")

    def create(self, document: Mapping[str, Any], **query: str) -> Any:
        namespace = document["metadata"].get("namespace", "default")
        return self.ask("POST", PATHS[document["kind"]].format(namespace=namespace), document, **query)

    def get_node(self, name: str) -> Any:
        return self.ask("GET", f"/api/v1/nodes/{name}")

    def taints(self, name: str) -> set[str]:
        return {f"{one['key']}:{one['effect']}" for one in self.get_node(name)["spec"].get("taints", [])}

    def cordoned(self, name: str) -> bool:
        return bool(self.get_node(name)["spec"].get("unschedulable"))

    def condition(self, name: str) -> dict[str, str]:
        conditions = self.get_node(name)["status"].get("conditions", [])
        found: dict[str, str] = next((one for one in conditions if one["type"] == "HoldfastHealthy"), {})
        return found

    def events(self, name: str) -> list[Any]:
        found = self.ask("GET", "/api/v1/events", fieldSelector=f"involvedObject.name={name}")
        return list(found["items"])

    def pods(self, node: str) -> set[str]:
        found = self.ask("GET", "/api/v1/pods", fieldSelector=f"spec.nodeName={node}")
        return {one["metadata"]["name"] for one in found["items"]}

    # ------------------------------------------------------------ making

    def add_node(self, name: str, gpus: int = 8, **spec: Any) -> str:
        """As a kubelet would register it, and ready."""
        self.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "spec": spec})
        self.patch(f"/api/v1/nodes/{name}", {"spec": {"taints": spec.get("taints")}})  # not the server's own not-ready
        resources = {"cpu": "64", "memory": "1Ti", "pods": "110", "nvidia.com/gpu": str(gpus)}
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        ready = {"type": "Ready", "status": "True", "lastHeartbeatTime": now, "lastTransitionTime": now}
        status = {"capacity": resources, "allocatable": resources, "conditions": [ready]}
        self.patch(f"/api/v1/nodes/{name}/status", {"status": status})
        return name

    def remove_node(self, name: str) -> None:
        for pod in self.ask("GET", "/api/v1/pods", fieldSelector=f"spec.nodeName={name}")["items"]:
            self.end(pod["metadata"]["name"])
        self.ask("DELETE", f"/api/v1/nodes/{name}")

    def add_pod(self, name: str, node: str, gpus: int = 0, phase: str = "Running", **meta: Any) -> str:
        """A running pod; its uid."""
        resources = {"limits": {"nvidia.com/gpu": str(gpus)}} if gpus else {}
        container = {"name": "main", "image": "train:1", "resources": resources}
        tolerations = [{"operator": "Exists"}]
        spec = {
            "nodeName": node,
            "containers": [container],
            "terminationGracePeriodSeconds": 0,
            "tolerations": tolerations,
        }
        made = self.create({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, **meta}, "spec": spec})
        self.set_phase(name, phase)
        return str(made["metadata"]["uid"])

    def set_phase(self, pod: str, phase: str) -> None:
        ready = [{"type": "Ready", "status": "True" if phase == "Running" else "False"}]
        self.patch(f"/api/v1/namespaces/default/pods/{pod}/status", {"status": {"phase": phase, "conditions": ready}})

    def end(self, pod: str) -> None:
        self.ask("DELETE", f"/api/v1/namespaces/default/pods/{pod}", gracePeriodSeconds="0")

    def add_budget(self, name: str, labels: Mapping[str, str], allowed: int) -> None:
        """With the status that the controller manager would compute."""
        spec = {"minAvailable": 1, "selector": {"matchLabels": dict(labels)}}
        self.create(
            {"apiVersion": "policy/v1beta1", "kind": "PodDisruptionBudget", "metadata": {"name": name}, "spec": spec}
        )
        self.allow(name, allowed)

    def allow(self, budget: str, disruptions: int) -> None:
        path = f"/apis/policy/v1beta1/namespaces/default/poddisruptionbudgets/{budget}"
        made = self.ask("GET", path)
        counts = {"currentHealthy": 1 + disruptions, "desiredHealthy": 1, "expectedPods": 1 + disruptions}
        status = {"observedGeneration": made["metadata"]["generation"], "disruptionsAllowed": disruptions, **counts}
        self.ask("PUT", f"{path}/status", {**made, "status": status})

    # ------------------------------------------------------------ reaching it

    def kubeconfig(self, user: str) -> str:
        path = self.root / f"{user}.kubeconfig"
        document = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "test",
            "contexts": [{"name": "test", "context": {"cluster": "here", "user": user}}],
            "clusters": [
                {"name": "here", "cluster": {"server": self.url, "certificate-authority": "certs/apiserver.crt"}}
            ],
            "users": [{"name": user, "user": {"token": f"{user}-token"}}],
        }
        path.write_text(yaml.safe_dump(document))
        return str(path)

    def backend(self, user: str = "controller", **settings: Any) -> Kubernetes:
        return Kubernetes(KubernetesSettings(kubeconfig=self.kubeconfig(user), **settings))

    # ------------------------------------------------------------ living

    def start(self, name: str, *command: str) -> None:
        log = (self.root / f"{name}.log").open("ab")
        self.processes[name] = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def start_server(self) -> None:
        port = self.url.rpartition(":")[2]
        self.start(
            "kube-apiserver",
            str(BINARIES / "kube-apiserver"),
            f"--etcd-servers={self.etcd}",
            "--bind-address=127.0.0.1",
            "--advertise-address=127.0.0.1",
            "--endpoint-reconciler-type=none",
            f"--secure-port={port}",
            f"--cert-dir={self.root}/certs",
            "--service-cluster-ip-range=10.0.0.0/24",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={self.root}/sa.pub",
            f"--service-account-signing-key-file={self.root}/sa.key",
            f"--token-auth-file={self.root}/tokens.csv",
            "--authorization-mode=RBAC",
            "--disable-admission-plugins=ServiceAccount",
            "--allow-privileged=true",
        )
        deadline = time.monotonic() + TIMEOUT_SECONDS
        while not self._is_ready():
            ended = self.processes["kube-apiserver"].poll()
            if ended is not None or time.monotonic() > deadline:
                last = (self.root / "kube-apiserver.log").read_text().splitlines()[-15:]
                raise AssertionError("kube-apiserver did not start:\n" + "\n".join(last))
            time.sleep(0.1)

    def _is_ready(self) -> bool:
        headers = {"Authorization": "Bearer admin-token"}
        try:
            ready = self.http.get(f"{self.url}/readyz", headers=headers).status_code == 200
            return ready and self.http.get(f"{self.url}/api/v1/namespaces/default", headers=headers).is_success
        except httpx.HTTPError:
            return False

    def kill_server(self) -> None:
        self.processes["kube-apiserver"].kill()
        self.processes.pop("kube-apiserver").wait()

    def stop(self) -> None:
        self.http.close()
        for process in reversed(self.processes.values()):
            process.kill()  # nothing of it is kept
        for process in self.processes.values():
            process.wait()


def boot(root: Path) -> Cluster:
    client, peer, secure = free_ports(3)
    subprocess.run(["openssl", "genrsa", "-out", root / "sa.key", "2048"], check=True, capture_output=True)
    public = ["openssl", "rsa", "-in", root / "sa.key", "-pubout", "-out", root / "sa.pub"]
    subprocess.run(public, check=True, capture_output=True)
    (root / "tokens.csv").write_text(TOKENS)
    cluster = Cluster(root, f"https://127.0.0.1:{secure}", f"http://127.0.0.1:{client}")
    try:
        cluster.start(
            "etcd",
            "etcd",
            f"--data-dir={root}/etcd",
            f"--listen-client-urls={cluster.etcd}",
            f"--advertise-client-urls={cluster.etcd}",
            f"--listen-peer-urls=http://127.0.0.1:{peer}",
            "--unsafe-no-fsync",
        )
        cluster.start_server()
        for document in yaml.safe_load_all((DEPLOY / "controller.yaml").read_text()):
            cluster.create(document)
    except BaseException:
        cluster.stop()
        raise
    return cluster


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    if not (BINARIES / "kube-apiserver").exists():
        pytest.skip(f"no kube-apiserver in {BINARIES}; `make test-kubernetes` builds it (about ten minutes, once)")
    if shutil.which("etcd") is None or shutil.which("openssl") is None:
        pytest.skip("no etcd or openssl here; `make test-kubernetes` installs them")
    made = boot(tmp_path_factory.mktemp("kubernetes"))
    yield made
    made.stop()


@pytest.fixture
def node(cluster: Cluster, request: pytest.FixtureRequest) -> Iterator[str]:
    """A node of the test's own, with eight GPUs."""
    name = "n-" + request.node.name.removeprefix("test_").replace("_", "-")[:50].split("[")[0].strip("-")
    yield cluster.add_node(name)
    cluster.remove_node(name)

"""Access to the API server: the current context of a kubeconfig, or the pod's service account.

Of a kubeconfig we read server, certificate authority, token and client certificate. Programs that fetch credentials
(exec, auth-provider) are not run: give the controller its own service account.
"""

import base64
import binascii
import os
import ssl
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from holdfast.fleet.actions.secret import Secret
from holdfast.runtime import http
from holdfast.runtime.errors import NoAnswer

REQUEUED = ("JobSet", "Workload")
SERVICE_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"


@dataclass(frozen=True, slots=True, kw_only=True)
class KubernetesSettings:
    kubeconfig: str = ""
    """'': the service account of the pod that the controller runs in."""
    context: str = ""
    """'': the kubeconfig's current one."""
    timeout: float = 10.0
    """Seconds for one request."""
    gpu_resources: tuple[str, ...] = ("nvidia.com/gpu*", "nvidia.com/mig-*", "amd.com/gpu*")
    """A pod that asks for any of these is a workload whose node is tested after it."""
    gpu_drivers: tuple[str, ...] = ("gpu.nvidia.com", "gpu.amd.com")
    """Drivers of dynamic resource allocation whose devices are GPUs."""
    lease: str = ""
    """namespace/name of a Lease that a controller must hold to act. '': the lead in the store alone decides."""
    requeue: tuple[str, ...] = ()
    """Kinds of jobs that are suspended and started again as a whole instead of evicting their pods: JobSet, Workload
    (Kueue). Needs the right to change them."""

    def __post_init__(self) -> None:
        if not self.gpu_resources:
            raise ValueError("kubernetes.gpu_resources: expected at least one name, such as nvidia.com/gpu")
        if self.lease and self.lease.strip("/").count("/") != 1:
            raise ValueError("kubernetes.lease: expected namespace/name, such as holdfast/holdfast-controller")
        if unknown := [kind for kind in self.requeue if kind not in REQUEUED]:
            raise ValueError(f"kubernetes.requeue: {unknown[0]!r}; expected {' or '.join(REQUEUED)}")


@dataclass(frozen=True, slots=True)
class KubernetesAccess:
    server: str
    tls: ssl.SSLContext
    token: str = ""
    token_file: str = ""
    """Read for each request: service account tokens are replaced about every hour."""

    def headers(self) -> dict[str, str]:
        token = Secret(file=self.token_file).read() if self.token_file else self.token
        return {"Authorization": f"Bearer {token}"} if token else {}


def open_access(settings: KubernetesSettings, environ: Mapping[str, str] = os.environ) -> KubernetesAccess:
    """Opens the connection. Raises NoAnswer that names the missing setting and its file."""
    if settings.kubeconfig:
        return _from_kubeconfig(Path(settings.kubeconfig), settings.context)
    host, port = environ.get("KUBERNETES_SERVICE_HOST", ""), environ.get("KUBERNETES_SERVICE_PORT", "443")
    if not host or not os.path.exists(f"{SERVICE_ACCOUNT}/token"):
        raise NoAnswer("kubernetes: not inside a pod with a service account; name a kubeconfig", retryable=False)
    host = f"[{host}]" if ":" in host else host
    tls = http.tls(f"{SERVICE_ACCOUNT}/ca.crt", verify=True)
    return KubernetesAccess(f"https://{host}:{port}", tls, token_file=f"{SERVICE_ACCOUNT}/token")


def _from_kubeconfig(path: Path, context: str) -> KubernetesAccess:
    document = _read(path)
    chosen = context or str(document.get("current-context") or "")
    place = _named(document, "contexts", chosen, "context", path)
    cluster = _named(document, "clusters", str(place.get("cluster", "")), "cluster", path)
    user = _named(document, "users", str(place.get("user", "")), "user", path)
    if "exec" in user or "auth-provider" in user:
        raise _wrong(
            path,
            f"the user of context {chosen!r} runs a program for its credentials; expected a token or a certificate",
        )
    server = str(cluster.get("server", "")).rstrip("/")
    try:
        http.check_url("server", server)
        tls = _tls(path, cluster, user)
    except (ValueError, OSError, binascii.Error) as error:
        raise _wrong(path, str(error)) from None
    token_file = _beside(path, str(user.get("tokenFile") or ""))
    return KubernetesAccess(server, tls, str(user.get("token") or ""), token_file)


def _read(path: Path) -> Mapping[str, Any]:
    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise _wrong(path, f"cannot be read: {error}") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise _wrong(path, f"is not YAML: {' '.join(str(error).split())}") from None
    if not isinstance(document, dict):
        raise _wrong(path, "expected a kubeconfig")
    return document


def _named(document: Mapping[str, Any], kind: str, name: str, inner: str, path: Path) -> Mapping[str, Any]:
    listed = document.get(kind)
    for one in listed if isinstance(listed, list) else ():
        if isinstance(one, dict) and one.get("name") == name and isinstance(one.get(inner), dict):
            found: Mapping[str, Any] = one[inner]
            return found
    raise _wrong(path, f"{kind}: no {inner} is called {name!r}")


def _tls(path: Path, cluster: Mapping[str, Any], user: Mapping[str, Any]) -> ssl.SSLContext:
    authority = _pem(path, cluster, "certificate-authority")
    context = http.tls("", verify=not cluster.get("insecure-skip-tls-verify"))
    if authority:
        context = ssl.create_default_context(cadata=authority.decode()) if context.check_hostname else context
    certificate, key = _pem(path, user, "client-certificate"), _pem(path, user, "client-key")
    if certificate and key:
        with tempfile.NamedTemporaryFile() as both:  # OpenSSL takes a client's certificate from a file only; 0600
            both.write(certificate + b"\n" + key)
            both.flush()
            context.load_cert_chain(both.name)
    return context


def _pem(path: Path, table: Mapping[str, Any], name: str) -> bytes:
    if data := table.get(f"{name}-data"):
        return base64.b64decode(str(data), validate=True)
    if file := table.get(name):
        return Path(_beside(path, str(file))).read_bytes()
    return b""


def _beside(path: Path, file: str) -> str:
    """Resolves a path relative to the kubeconfig."""
    return str(path.parent / file) if file else ""


def _wrong(path: Path, why: str) -> NoAnswer:
    return NoAnswer(f"{path}: {why}", retryable=False)

"""With a certificate it speaks TLS, and nothing else on that port."""

import shutil
import ssl
import subprocess
from pathlib import Path

import httpx
import pytest

from holdfast.client.client import Client
from holdfast.model.refusal import Refusal

from .running import start

pytestmark = pytest.mark.slow


def test_it_speaks_tls_with_the_certificate_it_was_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed, so no certificate can be made")
    certificate, key = tmp_path / "tls.pem", tmp_path / "tls.key"
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=127.0.0.1"]
    made += ["-addext", "subjectAltName=IP:127.0.0.1", "-out", str(certificate), "-keyout", str(key)]
    subprocess.run(made, check=True, capture_output=True)
    config = tmp_path / "controller.toml"
    config.write_text(
        f'store = "sqlite:///{tmp_path}/h.db"\nlisten = "127.0.0.1:0"\nadmin_token_file = "{tmp_path}/admin.token"\n'
        f'certificate = "{certificate}"\nkey = "{key}"\n'
    )
    trusting = ssl.create_default_context(cafile=str(certificate))
    controller = start(config, verify=trusting)
    try:
        assert controller.url.startswith("https://")
        assert controller.get("/v1/fleet")["nodes"] == 0
        with pytest.raises(httpx.HTTPError):
            httpx.get(controller.url.replace("https", "http") + "/healthz", trust_env=False)
        token = (tmp_path / "admin.token").read_text().strip()
        with pytest.raises(Refusal, match="certificate verify failed"):
            Client(controller.url, token).get("/v1/nodes")
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        assert Client(controller.url, token).get("/v1/nodes")["nodes"] == []
    finally:
        controller.kill()

"""Between a real agent and its controller: TLS by a CA of our own, credentials that expire, are renewed or revoked."""

import shutil
import ssl
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fleet.controller.running import Controller, running, until

from .world import LivingAgent, events_of_history

pytestmark = pytest.mark.slow
LIFE_SECONDS = 12.0


def certificate(home: Path) -> Path:
    """Self-signed, so it is its own CA; the key lies beside it."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed, so no certificate can be made")
    home.mkdir()
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=127.0.0.1"]
    made += ["-addext", "subjectAltName=IP:127.0.0.1", "-out", str(home / "tls.pem"), "-keyout", str(home / "tls.key")]
    subprocess.run(made, check=True, capture_output=True)
    return home / "tls.pem"


def arrives(controller: Controller, agent: LivingAgent) -> None:
    agent.say()
    until(lambda: agent.kernel_lines[-1] in events_of_history(controller, agent.name), "what it says arrives")


def says(agent: LivingAgent, words: str) -> None:
    until(lambda: words in agent.log.read_text(), f"the agent says {words!r}")


def test_tls_renewal_and_revocation(tmp_path: Path) -> None:
    ours, others = certificate(tmp_path / "ours"), certificate(tmp_path / "others")
    trusted = tmp_path / "ca.pem"
    shutil.copy(others, trusted)
    more = f'demo = true\ncertificate = "{ours}"\nkey = "{ours.with_suffix(".key")}"\n'
    verify = ssl.create_default_context(cafile=str(ours))
    with running(tmp_path / "c", more=more, verify=verify) as controller:
        assert controller.url.startswith("https://")
        settings = f'ca_file = "{trusted}"\ntimeout_seconds = 5\n'
        agent = LivingAgent(tmp_path / "n1", controller.url, controller.token(uses=5), settings)
        try:
            steps: list[Callable[[], None]] = [
                lambda: an_untrusted_controller_gets_nothing(controller, agent, ours, trusted),
                lambda: a_credential_is_renewed_before_it_expires(controller, agent),
                lambda: a_revoked_agent_says_so_and_keeps_spooling(controller, agent),
            ]
            for step in steps:
                step()
            assert sorted(events_of_history(controller, "n1")) == sorted(agent.kernel_lines)
        finally:
            agent.kill()


def an_untrusted_controller_gets_nothing(controller: Controller, agent: LivingAgent, ours: Path, trusted: Path) -> None:
    says(agent, "certificate verify failed")
    assert controller.ask("GET", "/v1/nodes/n1").status_code == 404
    shutil.copy(ours, trusted)  # read anew with each connection
    until(lambda: controller.ask("GET", "/v1/nodes/n1").status_code == 200, "it enrols")
    arrives(controller, agent)


def a_credential_is_renewed_before_it_expires(controller: Controller, agent: LivingAgent) -> None:
    """With the old one alone: there is no join token any more."""
    agent.kill()
    (agent.home / "token").unlink()
    file = agent.home / "state" / "credential"
    short = controller.token(role="agent", name="n1", hours=LIFE_SECONDS / 3600)
    made = time.monotonic()
    file.write_text(short)
    agent.restart()

    def renewed() -> bool:
        agent.say()  # orders, and this, come with an acknowledgement
        return file.read_text().strip() != short

    until(renewed, "it has another credential")
    assert file.stat().st_mode & 0o077 == 0
    time.sleep(max(0.0, made + LIFE_SECONDS + 1 - time.monotonic()))
    assert controller.ask("POST", "/v1/credential", short).status_code == 401, "the old one has expired"
    arrives(controller, agent)
    assert controller.audited(verb="credential renew", who="n1")


def a_revoked_agent_says_so_and_keeps_spooling(controller: Controller, agent: LivingAgent) -> None:
    assert controller.post("/v1/tokens/revoke", {"target": "n1"}).json()["revoked"] >= 2
    agent.say()
    says(agent, "the join token cannot be read")
    agent.say()
    until(lambda: agent.kernel_lines[-1] in agent.spooled(), "it waits on disk")
    assert agent.kernel_lines[-1] not in events_of_history(controller, "n1")
    (agent.home / "token").write_text(controller.token(uses=1))
    until(
        lambda: agent.kernel_lines[-1] in events_of_history(controller, "n1"), "let in again, it tells what it had kept"
    )

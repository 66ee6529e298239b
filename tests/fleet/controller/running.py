"""A real controller process on a free loopback port, and agents that speak to it over HTTP."""

import json
import os
import signal
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from holdfast.fleet.controller.__main__ import main
from tests.forked import HALF, Forked, can_fork
from tests.waiting import until


@dataclass
class Agent:
    """One node's agent: counts its own reports and remembers what it was ordered."""

    controller: "Controller"
    name: str
    credential: str
    session: str = "s1"
    seq: int = 0
    orders: list[dict[str, Any]] = field(default_factory=list)

    def next(self, **facts: Any) -> dict[str, Any]:
        self.seq += 1
        return {"node": self.name, "session": self.session, "seq": self.seq, "at": time.time(), **facts}

    def send(self, *reports: dict[str, Any]) -> dict[str, Any]:
        reply = self.controller.report(list(reports), self.credential)
        assert reply.status_code == 200, reply.text
        ack: dict[str, Any] = reply.json()
        self.orders += ack["orders"]
        return ack

    def beat(self) -> dict[str, Any]:
        return self.send(self.next(heartbeat=True))

    def verdict(self, check: str, after: str, reason: str = "") -> dict[str, Any]:
        change = {"at": time.time(), "check": check, "before": "", "after": after, "reason": reason}
        return self.send(self.next(changes=[change]))

    def ordered(self, verb: str) -> dict[str, Any]:
        """Beats until it is told to."""

        def result() -> Any:
            self.beat()
            return next((order for order in self.orders if order["verb"] == verb), None)

        order: dict[str, Any] = until(result, f"{self.name} is ordered to {verb}")
        self.orders.remove(order)
        return order

    def answer(self, order: dict[str, Any], *, ok: bool = True, health: str = "", cause: str = "") -> None:
        outcome = {"order": order["id"], "verb": order["verb"], "ok": ok, "health": health, "cause": cause}
        self.send(self.next(outcomes=[{**outcome, "reason": "as told", "began": time.time(), "suite": order["suite"]}]))

    def pass_test(self) -> None:
        self.answer(self.ordered("retest"), health="pass")


@dataclass
class Controller:
    config: Path
    process: Forked | subprocess.Popen[str]
    url: str
    admin: str
    http: httpx.Client

    def get(self, path: str, token: str | None = None, **query: Any) -> Any:
        """A controller that has just begun to lead answers 503 until it has read its store: every client asks again."""
        reply = until(lambda: self._answer(path, token, query), f"{path}: the controller has read its store")
        assert reply.status_code == 200, reply.text
        return reply.json()

    def _answer(self, path: str, token: str | None, query: Any) -> httpx.Response | None:
        reply = self.ask("GET", path, token, params=query)
        return None if reply.status_code == 503 and "has not read its store" in reply.text else reply

    def post(self, path: str, body: Any, token: str | None = None) -> httpx.Response:
        return self.ask("POST", path, token, json=body)

    def ask(self, method: str, path: str, token: str | None = None, **more: Any) -> httpx.Response:
        token = self.admin if token is None else token
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        return self.http.request(method, self.url + path, headers=headers, **more)

    def report(self, reports: Any, credential: str) -> httpx.Response:
        return self.ask("POST", "/v1/reports", credential, content=json.dumps(reports))

    def token(self, **ask: Any) -> str:
        made: str = self.post("/v1/tokens", ask).json()["token"]
        return made

    def enrol(self, name: str, **more: Any) -> Agent:
        reply = self.post("/v1/enrol", {"node": name, "join_token": self.token(), **more}, token="")
        assert reply.status_code == 200, reply.text
        return Agent(self, name, reply.json()["credential"])

    def ready_node(self, name: str, **more: Any) -> Agent:
        agent = self.enrol(name, **more)
        agent.pass_test()
        assert self.stage(name) == "ready"
        return agent

    def stage(self, name: str) -> str:
        stage: str = self.get(f"/v1/nodes/{name}")["stage"]
        return stage

    def reaches(self, name: str, stage: str) -> None:
        until(lambda: self.stage(name) == stage, f"{name} is {stage}")

    def node_history(self, name: str) -> list[dict[str, Any]]:
        entries: list[dict[str, Any]] = self.get(f"/v1/nodes/{name}/history", limit=500)["entries"]
        return entries

    def audited(self, **facts: Any) -> list[dict[str, Any]]:
        entries = self.get("/v1/audit")["entries"]
        return [one for one in entries if all(one[name] == value for name, value in facts.items())]

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self) -> int:
        self.process.terminate()
        return self.process.wait(timeout=30)

    def restarted(self) -> "Controller":
        made = start(self.config)
        until(lambda: made.ask("GET", "/v1/nodes/nobody").status_code == 404, "it has read its store")
        return made


NO_CERTIFICATES = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # to read this machine's takes longer than most tests


def start(
    config: Path, verify: ssl.SSLContext = NO_CERTIFICATES, environ: Mapping[str, str] = os.environ
) -> Controller:
    log = config.with_suffix(".log")
    process: Forked | subprocess.Popen[str]
    if HALF["quick"] and can_fork(environ):
        process = Forked(main, ["holdfast controller", "--config", str(config)], log, environ)
    else:
        command = [sys.executable, "-m", "holdfast.fleet.controller", "--config", str(config)]
        with log.open("a") as file:
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=file, text=True, env=dict(environ))
    assert process.stdout is not None
    url = process.stdout.readline().strip()
    assert url, log.read_text()
    http = httpx.Client(trust_env=False, timeout=30, verify=verify)
    admin = (config.parent / "admin.token").read_text().strip()
    made = Controller(config, process, url, admin, http)
    until(lambda: http.get(f"{url}/healthz").status_code == 200, "it answers")
    return made


@contextmanager
def running(
    directory: Path,
    *,
    more: str = "",
    policy: str = "dry_run = false\n",
    store: str = "",
    leads: bool = True,
    environ: Mapping[str, str] = os.environ,
    verify: ssl.SSLContext = NO_CERTIFICATES,
) -> Iterator[Controller]:
    """Ended by the time the block is left, however it is left."""
    directory.mkdir(exist_ok=True)
    (directory / "policy.toml").write_text(policy)
    config = directory / "controller.toml"
    config.write_text(
        f'store = "{store or f"sqlite:///{directory}/holdfast.db"}"\nlisten = "127.0.0.1:0"\n'
        f'policy = "{directory}/policy.toml"\nadmin_token_file = "{directory}/admin.token"\n{more}'
    )
    controller = start(config, verify, environ)
    try:
        if leads:
            until(lambda: controller.get("/healthz")["leading"], "it leads")
        yield controller
    finally:
        controller.http.close()
        if controller.process.poll() is None:
            controller.process.kill()
            controller.process.wait()

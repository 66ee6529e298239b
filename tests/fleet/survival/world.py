"""A small fleet of real processes that may be killed at any moment, and a back end that writes down what it did."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from holdfast.fleet.store import Store
from holdfast.lab.twin.node import TwinNode, make_node
from holdfast.model.records import Outcome, StoredAction
from tests.fleet.controller.running import Controller, start, until
from tests.ports import free_port

HOLDFAST = str(Path(sys.executable).with_name("holdfast"))
MOST_ACTIONS = 100_000
RECORDED = ("cordon", "uncordon", "drain", "ticket", "reset_gpu", "reboot", "choose_last", "choose_normally")
SETTLE_SECONDS = 300.0
# Writes down that it was asked, then does the action once per key, as an idempotent actuator does. It takes a moment,
# so that a controller is often killed while an action runs.
RECORDER = """#!/bin/sh
echo "$1" >> {journal}
sleep {seconds}
mkdir {actions}/"$1" 2>/dev/null || true
"""


class LivingAgent:
    """The real agent on a twin of its own. What its kernel says is numbered, so that each line can be looked for."""

    def __init__(self, home: Path, url: str, join_token: str, more: str = "", wrapper: Sequence[str] = ()) -> None:
        self.home, self.name, self.wrapper = home, home.name, tuple(wrapper)
        self.twin: TwinNode = make_node(home, name=home.name)
        self.kernel_lines: list[str] = []
        (home / "token").write_text(join_token)
        with (home / "holdfast.toml").open("a") as file:
            file.write(f'\n[controller]\nurl = "{url}"\njoin_token_file = "{home}/token"\n{more}')
            file.write("".join(f"\n[sources.{name}]\nevery_seconds = 1\n" for name in ("nvml", "nvml_slow", "host")))
        self.process = self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        command = [*self.wrapper, HOLDFAST, "agent", "--config", str(self.home / "holdfast.toml")]
        with self.log.open("ab") as log:
            return subprocess.Popen(command, stderr=log, stdin=subprocess.DEVNULL)

    @property
    def log(self) -> Path:
        return self.home / "agent.log"

    def say(self) -> None:
        """A line that speaks against nobody: short numbers tell one from the next, so that no two are folded."""
        number = len(self.kernel_lines)
        text = f"Graphics Exception on (GPC {number // 100}, TPC {number // 10 % 10}, SM {number % 10})"
        self.kernel_lines.append(text)
        address = self.twin.gpu_functions()[0].address
        self.twin.say([f"NVRM: Xid (PCI:{address}): 13, pid=7, name=x, {text}"], time.time())

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def restart(self) -> None:
        self.process = self._start()

    def spooled(self) -> str:
        try:
            return (self.home / "state" / "spool.jsonl").read_text()
        except FileNotFoundError:
            return ""


class World:
    """`controllers` are started from their configurations, however often they are killed."""

    def __init__(
        self,
        directory: Path,
        store: str,
        controllers: int,
        policy: str,
        host: str,
        environ: Callable[[str], Mapping[str, str]] = lambda name: os.environ,
        action_seconds: float = 0.0,
        checks: bool = False,
    ) -> None:
        """With `checks` the back end can be asked whether an action that may have run did."""
        self.directory, self.host = directory, host
        self._environ, self._action_seconds, self._checks = environ, action_seconds, checks
        self.store = store or f"sqlite:///{directory}/holdfast.db"
        self.journal, self.actions = directory / "journal", directory / "actions"
        self.actions.mkdir()
        (directory / "policy.toml").write_text(f"dry_run = false\nautomatic_repair_steps = 1\n{policy}")
        self.controllers = [
            start(self._config(number), environ=environ(f"controller{number}")) for number in range(controllers)
        ]
        self.agents: list[LivingAgent] = []
        self.leader()

    def _config(self, number: int) -> Path:
        home = self.directory / f"controller{number}"
        home.mkdir()
        recorder = home / "record"
        recorder.write_text(
            RECORDER.format(
                journal=shlex.quote(str(self.journal)),
                actions=shlex.quote(str(self.actions)),
                seconds=self._action_seconds,
            )
        )
        recorder.chmod(0o755)
        commands = "".join(f'{verb} = ["{recorder}", "{{key}}"]\n' for verb in RECORDED)
        actions = "".join(f'{verb} = "command"\n' for verb in RECORDED)
        if self._checks:
            self.journal.touch()
            lines = (f'{verb} = ["grep", "-qx", "{{key}}", "{self.journal}"]\n' for verb in RECORDED)
            commands += "[command.checks]\n" + "".join(lines)
        config = home / "controller.toml"
        config.write_text(
            f'store = "{self.store}"\nlisten = "{self.host}:{free_port()}"\npolicy = "{self.directory}/policy.toml"\n'
            f'admin_token_file = "{home}/admin.token"\ndemo = true\n[actions]\n{actions}[command.commands]\n{commands}'
        )
        return config

    def leader(self) -> Controller:
        """Who leads and has read its store: before that it answers no question about nodes."""

        def look() -> Controller | None:
            living = (one for one in self.controllers if one.process.poll() is None)
            leading = (one for one in living if one.get("/healthz", "")["leading"])
            return next((one for one in leading if one.ask("GET", "/v1/nodes/nobody").status_code == 404), None)

        found: Controller = until(look, "one of them leads and has read its store")
        return found

    def add_agent(self, more: str = "", wrapper: Sequence[str] = ()) -> LivingAgent:
        home, token = self.directory / f"n{len(self.agents) + 1}", self.leader().token(uses=100)
        self.agents.append(LivingAgent(home, self.controllers[0].url, token, more, wrapper))
        return self.agents[-1]

    def kill_controller(self, number: int) -> None:
        self.controllers[number].kill()
        self.controllers[number].http.close()

    def restart_controller(self, number: int) -> None:
        self.controllers[number] = start(self.controllers[number].config, environ=self._environ(f"controller{number}"))

    def ask(self, method: str, path: str, json: Any = None, **query: Any) -> dict[str, Any]:
        """The answer of the controller that leads; {} where none answers with 200 now."""
        for one in self.controllers:
            headers = {"Authorization": f"Bearer {one.admin}"}
            try:
                reply = one.http.request(method, one.url + path, json=json, params=query, headers=headers, timeout=4.0)
            except (httpx.HTTPError, RuntimeError):  # killed, or its client is closed
                continue
            if reply.status_code in (200, 201):
                found: dict[str, Any] = reply.json()
                return found
        return {}

    def stop(self) -> None:
        for agent in self.agents:
            if agent.process.poll() is None:
                agent.kill()
        for controller in self.controllers:
            controller.http.close()
            if controller.process.poll() is None:
                controller.process.kill()
                controller.process.wait()

    # What must hold afterwards

    def settled(self) -> None:
        """Everything the kernels said has arrived, and nothing is left to be done but what agents are asked."""
        store = Store.open(self.store)
        try:
            until(lambda: not self._lacking(store), lambda: str(self._lacking(store)[:3]), SETTLE_SECONDS)
        finally:
            store.close()

    def _lacking(self, store: Store) -> list[str]:
        lines = [line for agent in self.agents for line in set(agent.kernel_lines) - set(events_of(store, agent.name))]
        stored = [one for one in store.actions(None, MOST_ACTIONS) if one.action.verb.value in RECORDED]
        undone = [one.action.key for one in stored if one.state in (Outcome.PROPOSED, Outcome.CLAIMED)]
        return lines + undone

    def verify(self) -> dict[str, int]:
        """Nothing lost, nothing twice, in order; every action performed once at most."""
        self.verify_events()
        store = Store.open(self.store)
        try:
            actions = store.actions(None, MOST_ACTIONS)
        finally:
            store.close()
        return {"events": sum(len(agent.kernel_lines) for agent in self.agents), **self._verify_actions(actions)}

    def verify_events(self) -> None:
        store = Store.open(self.store)
        try:
            for agent in self.agents:
                assert events_of(store, agent.name) == agent.kernel_lines, agent.name
        finally:
            store.close()

    def _verify_actions(self, actions: Sequence[StoredAction]) -> dict[str, int]:
        recorded = {one.action.key: one for one in actions if one.action.verb.value in RECORDED}
        asked = Counter(self.journal.read_text().split()) if self.journal.exists() else Counter[str]()
        done = {one.name for one in self.actions.iterdir()}
        assert set(asked) == done
        assert done <= set(recorded), "an action that no decision asked for"
        assert {key for key, one in recorded.items() if one.state.value == "done"} <= done, (
            "recorded as done, but not done"
        )
        assert {key: times for key, times in asked.items() if times > 1} == {}, "performed twice"
        return {"actions": len(done), "asked": sum(asked.values())}


def events_of(store: Store, node: str) -> list[str]:
    """The numbered kernel lines of a node's story, oldest first, each as often as it is stored."""
    found: list[str] = []
    before = ""
    while True:
        page = store.node_history(node, 1000, before)
        numbered = (one for one in page.lines if one.kind == "event" and "Graphics Exception" in one.reason)
        found += [one.reason[one.reason.index("Graphics Exception") :] for one in numbered]
        if not (before := page.older):
            return found[::-1]


def events_of_history(controller: Controller, node: str) -> list[str]:
    """The same from the API, newest first."""
    texts = [one["detail"] for one in controller.node_history(node) if one["kind"] == "event"]
    return [text[text.index("Graphics Exception") :] for text in texts if "Graphics Exception" in text]


@contextmanager
def world(
    directory: Path,
    store: str = "",
    controllers: int = 1,
    agents: int = 2,
    policy: str = "",
    host: str = "127.0.0.1",
    action_seconds: float = 0.0,
    more: str = "",
) -> Iterator[World]:
    """`more` is added to the configuration of every agent."""
    made = World(directory, store, controllers, policy, host, action_seconds=action_seconds)
    try:
        for _ in range(agents):
            made.add_agent(more)
        yield made
    finally:
        made.stop()


def keep(path: Path, figures: Mapping[str, object]) -> None:
    path.write_text(json.dumps(figures) + "\n")

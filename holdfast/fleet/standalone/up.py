"""Runs controller, console and this machine's agent, or a simulated fleet, as one. Needs the extra [controller]."""

import asyncio
import json
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from holdfast.client.client import client_file, state_directory
from holdfast.fleet.controller import bootstrap
from holdfast.fleet.controller.seams.settings import SeamSettings
from holdfast.fleet.controller.server import serve
from holdfast.fleet.controller.settings import AGENT, SIMULATED, Controlling, Listening
from holdfast.fleet.standalone.processes import (
    TIMEOUT_SECONDS,
    Children,
    agent_config,
    lock,
    make_private,
    start,
    stopped_afterwards,
)
from holdfast.fleet.standalone.summary import Summary, summarize
from holdfast.fleet.store import Store, StoreError
from holdfast.model.lifecycle import Verb
from holdfast.model.records import Role
from holdfast.model.refusal import Refusal
from holdfast.node.agent import launch

ADMIN_FILE = "admin.token"
END_SECONDS = 0.05
POLL_SECONDS = 1.0
GATED = (Verb.CORDON, Verb.DRAIN, Verb.UNCORDON)
BY_AGENTS = (Verb.RETEST, Verb.RESET_GPU, Verb.REBOOT, Verb.INSPECT, *GATED)  # the simulated agents have a technician


@dataclass(frozen=True, slots=True, kw_only=True)
class StandaloneSimulation:
    """A simulated fleet that takes the place of this machine's agent."""

    nodes: int
    speed: float
    module: str
    """Runs the fleet as a process: `python -m MODULE --url ... --nodes ...`."""
    scenario: str
    write_files: Callable[[Path], SeamSettings]
    """Writes policy, topology and prices into the state directory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UpOptions:
    listen: str
    seconds: float = 0.0
    agent: bool = True
    verbose: bool = False
    simulation: StandaloneSimulation | None = None


class Output(Protocol):
    """Receives progress messages."""

    def step(self, text: str) -> None: ...

    def ready(self, address: str, viewer_token: str, admin_file: Path) -> None: ...


def run(options: UpOptions, output: Output) -> Summary | None:
    """Runs until it is stopped or its time is over, and ends every process that it started."""
    simulated = options.simulation
    state = state_directory() / "demo" if simulated else state_directory()
    make_private(state)
    with lock(state):
        if simulated:
            _delete_store(state)
        seams = simulated.write_files(state) if simulated else None
        began = time.time()
        settings = _settings(options, state, seams)
        try:
            _serve(settings, state, options, output)
            return summarize(settings.base.store, began) if options.seconds else None
        except StoreError as error:
            raise Refusal(str(error), 1) from None


def _serve(settings: Controlling, state: Path, options: UpOptions, output: Output) -> None:
    url = settings.base.store
    output.step(f"the store is {url.removeprefix('sqlite:///')}")
    tokens = _tokens(url, state, options.simulation)
    with stopped_afterwards() as children:
        watch = ProcessWatch(children)
        serve(settings, lambda address: _ready(address, tokens, state, options, watch, output), watch.end)
        if watch.failure:
            raise Refusal(f"{watch.failure}, so everything was stopped; its own messages are above", 1)


def _settings(options: UpOptions, state: Path, seams: SeamSettings | None) -> Controlling:
    base = Listening(
        store=f"sqlite:///{(state / 'holdfast.db').absolute()}",
        listen=options.listen,
        policy=_policy(state),
        admin_token_file=str(state / ADMIN_FILE),
        demo=options.simulation is not None,
        time_factor=options.simulation.speed if options.simulation else 1.0,
    )
    if seams is None:
        return Controlling(base=base)
    actions = {verb: AGENT if verb in BY_AGENTS else SIMULATED for verb in Verb}
    return Controlling(base=base, actions=actions, seams=seams)


@dataclass(frozen=True, slots=True)
class Tokens:
    admin: str
    viewer: str
    join: str
    site: str


def _tokens(url: str, state: Path, simulation: StandaloneSimulation | None) -> Tokens:
    store = Store.open(url)
    try:
        return Tokens(
            bootstrap.admin_token(store, state / ADMIN_FILE),
            bootstrap.kept_token(store, state / "viewer.token", Role.VIEWER),
            bootstrap.join_token(store, simulation.nodes if simulation else 1),
            bootstrap.kept_token(store, state / "site.token", Role.OPERATOR) if simulation else "",
        )
    finally:
        store.close()


def _ready(
    address: str, tokens: Tokens, state: Path, options: UpOptions, watch: "ProcessWatch", output: Output
) -> None:
    """Called in the controller's event loop when it listens."""
    make_private(client_file().parent)
    connection = {"url": address, "token": tokens.admin, "store": str(state / "holdfast.db")}
    bootstrap.write_private(client_file(), json.dumps(connection) + "\n")
    output.step(f"the controller listens on {address}")
    fleet = options.simulation
    if fleet:
        output.step(f"{fleet.nodes} simulated nodes of 8 GPUs enrol; their time runs {fleet.speed:g} times as fast")
        secrets = {"HOLDFAST_JOIN_TOKEN": tokens.join, "HOLDFAST_SITE_TOKEN": tokens.site}
        arguments = [
            "--url",
            address,
            "--nodes",
            str(fleet.nodes),
            "--speed",
            f"{fleet.speed:g}",
            "--scenario",
            fleet.scenario,
        ]
        arguments += ["--verbose"] if options.verbose else []
        watch.children.append(start("the simulated fleet", fleet.module, *arguments, secrets=secrets))
    elif options.agent:
        output.step("this machine's agent starts")
        config = agent_config(address, tokens.join, state)
        watch.children.append(start("this machine's agent", launch.MODULE, "--config", str(config)))
    output.ready(address, "" if fleet else tokens.viewer, state / ADMIN_FILE)  # reading a demo needs no token
    if options.seconds:
        asyncio.get_running_loop().call_later(options.seconds, signal.raise_signal, signal.SIGTERM)
    watch.poll()


class ProcessWatch:
    """Stops everything when one of the started processes ends."""

    def __init__(self, children: Children) -> None:
        self.children, self.failure = children, ""
        self._ending = False

    def poll(self) -> None:
        if self._ending:
            return
        self.failure = next((child.failure for child in self.children if child.failure), "")
        if self.failure:
            signal.raise_signal(signal.SIGTERM)
        else:
            asyncio.get_running_loop().call_later(POLL_SECONDS, self.poll)

    async def end(self) -> None:
        """Ends the fleet first, so that it does not report a missing controller."""
        self._ending = True
        for child in self.children:
            child.process.terminate()
        deadline = time.monotonic() + TIMEOUT_SECONDS
        while time.monotonic() < deadline and any(child.process.poll() is None for child in self.children):
            await asyncio.sleep(END_SECONDS)


def _policy(state: Path) -> str:
    path = state / "policy.toml"
    return str(path) if path.exists() else ""


def _delete_store(state: Path) -> None:
    """Deletes the store: every demo starts with an empty history."""
    for name in ("holdfast.db", "holdfast.db-wal", "holdfast.db-shm"):
        (state / name).unlink(missing_ok=True)

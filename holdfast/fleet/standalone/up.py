"""Controller, console and this machine's agent as one: what `holdfast up` does. Needs the extra [controller]."""

import asyncio
import json
import logging
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import typer

from holdfast.cli.up import words as up_words
from holdfast.client.client import client_file, state_directory
from holdfast.fleet.controller import bootstrap
from holdfast.fleet.controller.server import serve
from holdfast.fleet.controller.settings import AGENT, SIMULATED, Controlling, Listening
from holdfast.fleet.standalone.parts import Children, agent_config, make_private, only_one, start, stopped_afterwards
from holdfast.fleet.standalone.summary import summary
from holdfast.fleet.store import Store, StoreError
from holdfast.lab.demo import files as up_demo
from holdfast.model.lifecycle import Verb
from holdfast.model.records import Role
from holdfast.model.refusal import Refusal

ADMIN_FILE = "admin.token"
LOOK_SECONDS = 1.0
BY_AGENTS = (Verb.RETEST, Verb.RESET_GPU, Verb.REBOOT, Verb.CORDON, Verb.DRAIN, Verb.UNCORDON)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    demo: bool
    listen: str
    nodes: int
    speed: float
    seconds: float
    agent: bool
    verbose: bool


def run(wanted: Wanted) -> None:
    """Blocks until it is told to stop or its time is over; then everything it started has ended."""
    logging.basicConfig(level=logging.INFO if wanted.verbose else logging.WARNING, stream=sys.stderr)
    state = state_directory() / "demo" if wanted.demo else state_directory()
    make_private(state)
    with only_one(state):
        if wanted.demo:
            _start_anew(state)
            up_demo.write(state, wanted.nodes)
        began = time.time()
        settings = _settings(wanted, state)
        try:
            _serve(settings, state, wanted)
            if wanted.seconds:
                typer.echo("\n" + summary(settings.base.store, began))
        except StoreError as error:
            raise Refusal(str(error), 1) from None


def _serve(settings: Controlling, state: Path, wanted: Wanted) -> None:
    url = settings.base.store
    up_words.step(f"the store is {url.removeprefix('sqlite:///')}")
    tokens = _tokens(url, state, wanted.nodes if wanted.demo else 1, demo=wanted.demo)
    with stopped_afterwards() as children:
        watch = Watch(children)
        serve(settings, lambda address: _ready(address, tokens, state, wanted, watch))
        if watch.fall:
            raise Refusal(f"{watch.fall}, so everything was ended; what it said stands above", 1)


def _settings(wanted: Wanted, state: Path) -> Controlling:
    demo = wanted.demo
    base = Listening(
        store=f"sqlite:///{(state / 'holdfast.db').absolute()}",
        listen=wanted.listen,
        policy=_policy(state),
        admin_token_file=str(state / ADMIN_FILE),
        demo=demo,
        time_factor=wanted.speed if demo else 1.0,
    )
    if not demo:
        return Controlling(base=base)
    actions = {verb: AGENT if verb in BY_AGENTS else SIMULATED for verb in Verb}
    return Controlling(base=base, actions=actions, seams=up_demo.seams(state, wanted.nodes))


@dataclass(frozen=True, slots=True)
class Tokens:
    admin: str
    viewer: str
    join: str
    site: str


def _tokens(url: str, state: Path, uses: int, *, demo: bool) -> Tokens:
    store = Store.open(url)
    try:
        return Tokens(
            bootstrap.admin_token(store, state / ADMIN_FILE),
            bootstrap.kept_token(store, state / "viewer.token", Role.VIEWER),
            bootstrap.join_token(store, uses),
            bootstrap.kept_token(store, state / "site.token", Role.OPERATOR) if demo else "",
        )
    finally:
        store.close()


def _ready(address: str, tokens: Tokens, state: Path, wanted: Wanted, watch: "Watch") -> None:
    """Called in the controller's event loop when it listens."""
    make_private(client_file().parent)
    where = {"url": address, "token": tokens.admin, "store": str(state / "holdfast.db")}
    bootstrap.write_private(client_file(), json.dumps(where) + "\n")
    up_words.step(f"the controller listens on {address}")
    if wanted.demo:
        up_words.step(f"{wanted.nodes} simulated nodes of 8 GPUs enrol; their time runs {wanted.speed:g} times as fast")
        size = ("--nodes", str(wanted.nodes), "--speed", f"{wanted.speed:g}", "--scenario", up_demo.SCENARIO)
        loud = ("--verbose",) if wanted.verbose else ()
        told = ("--url", address, "--join-token", tokens.join, "--site-token", tokens.site, *size, *loud)
        watch.children.append(start("the simulated fleet", "holdfast.lab.twin.fleet", *told))
    elif wanted.agent:
        up_words.step("this machine's agent starts")
        config = agent_config(address, tokens.join, state)
        watch.children.append(start("this machine's agent", "holdfast.node.agent", "--config", str(config)))
    viewer = "" if wanted.demo else tokens.viewer  # in a demo reading needs no token
    up_words.where_to_look(address, viewer, state / ADMIN_FILE, demo=wanted.demo)
    if wanted.demo:
        up_words.tell_live(address)
    if wanted.seconds:
        asyncio.get_running_loop().call_later(wanted.seconds, watch.end)
    watch.look()


class Watch:
    """Whoever was started is still there; without one of them the rest would be half of what was asked for."""

    def __init__(self, children: Children) -> None:
        self.children, self.fall = children, ""
        self._ending = False

    def look(self) -> None:
        if self._ending:
            return
        self.fall = next((child.fall for child in self.children if child.fall), "")
        if self.fall:
            signal.raise_signal(signal.SIGTERM)
        else:
            asyncio.get_running_loop().call_later(LOOK_SECONDS, self.look)

    def end(self) -> None:
        """The fleet first, so that it does not complain about a controller that is gone."""
        self._ending = True
        for child in self.children:
            child.process.terminate()
        signal.raise_signal(signal.SIGTERM)


def _policy(state: Path) -> str:
    path = state / "policy.toml"
    return str(path) if path.exists() else ""


def _start_anew(state: Path) -> None:
    """A demo tells its own story from the beginning."""
    for name in ("holdfast.db", "holdfast.db-wal", "holdfast.db-shm"):
        (state / name).unlink(missing_ok=True)

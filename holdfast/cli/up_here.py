"""Controller, console and this machine's agent as one: what `holdfast up` does. Needs the extra [controller]."""

import json
import logging
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import typer

from holdfast.cli.agent import SMALL
from holdfast.cli.client import client_file, state_directory
from holdfast.cli.refusal import Refusal
from holdfast.controller import bootstrap
from holdfast.controller.server import serve
from holdfast.controller.settings import AGENT, SIMULATED, Controlling, Listening
from holdfast.model.life import Verb
from holdfast.store import Store, StoreError

DEMO_POLICY = """# The demo's policy: actions are carried out, on simulated nodes.
dry_run = false
breaker_share = 0.15
"""
PATIENCE_SECONDS = 5.0
BY_AGENTS = (Verb.RETEST, Verb.RESET_GPU, Verb.REBOOT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    demo: bool
    listen: str
    nodes: int
    speed: float
    agent: bool
    verbose: bool


def run(wanted: Wanted) -> None:
    """Blocks until it is told to stop; then everything it started has ended."""
    demo = wanted.demo
    logging.basicConfig(level=logging.INFO if wanted.verbose else logging.WARNING, stream=sys.stderr)
    state = state_directory() / "demo" if demo else state_directory()
    _make_private(state)
    if demo:
        _start_anew(state)
    base = Listening(
        store=f"sqlite:///{(state / 'holdfast.db').absolute()}",
        listen=wanted.listen,
        policy=_policy(state, demo),
        admin_token_file=str(state / "admin.token"),
        demo=demo,
        time_factor=wanted.speed if demo else 1.0,
    )
    children: list[subprocess.Popen[bytes]] = []
    try:
        tokens = _tokens(base.store, state, wanted.nodes if demo else 1)
        serve(_settings(base), lambda address: children.extend(_ready(address, tokens, state, wanted)))
    except StoreError as error:
        raise Refusal(str(error), 1) from None
    finally:
        _stop(children)


def _settings(base: Listening) -> Controlling:
    if not base.demo:
        return Controlling(base=base)
    return Controlling(base=base, actions={verb: AGENT if verb in BY_AGENTS else SIMULATED for verb in Verb})


def _tokens(url: str, state: Path, uses: int) -> tuple[str, str]:
    store = Store.open(url)
    try:
        return bootstrap.admin_token(store, state / "admin.token"), bootstrap.join_token(store, uses)
    finally:
        store.close()


def _ready(address: str, tokens: tuple[str, str], state: Path, wanted: Wanted) -> list[subprocess.Popen[bytes]]:
    admin, join = tokens
    _make_private(client_file().parent)
    bootstrap.write_private(client_file(), json.dumps({"url": address, "token": admin}) + "\n")
    typer.echo(f"console: {address}/" + ("" if wanted.demo else f"#token={admin}"))
    typer.echo("holdfast node list    holdfast node story NAME    Ctrl-C stops")
    if wanted.demo:
        size = ("--nodes", str(wanted.nodes), "--speed", f"{wanted.speed:g}")
        return [_child("holdfast.twin.fleet", "--url", address, "--join-token", join, *size)]
    if wanted.agent:
        return [_child("holdfast.agent", "--config", str(_agent_config(address, join, state)))]
    return []


def _child(module: str, *arguments: str) -> subprocess.Popen[bytes]:
    environ = {**os.environ, **SMALL}
    return subprocess.Popen([sys.executable, "-P", "-m", module, *arguments], env=environ, stdin=subprocess.DEVNULL)


def _agent_config(address: str, join: str, state: Path) -> Path:
    """This machine's own agent; a configuration of the machine, if there is one, is left to `holdfast agent`."""
    home = state / "agent"
    _make_private(home)
    bootstrap.write_private(home / "join.token", join + "\n")
    quoted = {name: json.dumps(str(home / name)) for name in ("verdict.json", "join.token")}
    text = (
        f'[agent]\nstate_dir = {json.dumps(str(home))}\nverdict_file = {quoted["verdict.json"]}\nlisten = ""\n'
        f"[controller]\nurl = {json.dumps(address)}\njoin_token_file = {quoted['join.token']}\n"
    )
    bootstrap.write_private(home / "holdfast.toml", text)
    return home / "holdfast.toml"


def _policy(state: Path, demo: bool) -> str:
    path = state / "policy.toml"
    if demo and not path.exists():
        bootstrap.write_private(path, DEMO_POLICY)
    return str(path) if path.exists() else ""


def _start_anew(state: Path) -> None:
    """A demo tells its own story from the beginning."""
    for name in ("holdfast.db", "holdfast.db-wal", "holdfast.db-shm"):
        (state / name).unlink(missing_ok=True)


def _make_private(directory: Path) -> None:
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise Refusal(f"{directory}: cannot be made: {error.strerror}") from None


def _stop(children: Sequence[subprocess.Popen[bytes]]) -> None:
    for child in children:
        child.terminate()
    for child in children:
        try:
            child.wait(PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()

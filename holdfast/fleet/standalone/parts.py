"""What `holdfast up` starts beside the controller, and the lock that lets only one of it use a directory."""

import fcntl
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from holdfast.cli.agent.command import SMALL
from holdfast.fleet.controller import bootstrap
from holdfast.model.refusal import Refusal

PATIENCE_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Child:
    name: str
    process: subprocess.Popen[bytes]

    @property
    def fall(self) -> str:
        """How it ended, '' while it runs."""
        code = self.process.poll()
        if code is None:
            return ""
        return f"{self.name} ended by itself, {f'killed by signal {-code}' if code < 0 else f'with exit code {code}'}"


Children = list[Child]


@contextmanager
def only_one(state: Path) -> Iterator[None]:
    """Raises Refusal with the number of the process that has the directory already."""
    path = state / "up.lock"
    try:
        lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise Refusal(f"{path}: cannot be written: {error.strerror}", 1) from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        holder = os.read(lock, 32).decode("ascii", "replace").strip()
        os.close(lock)
        words = f"`holdfast up` runs already on {state} (process {holder}); stop it, or set HOLDFAST_STATE to another"
        raise Refusal(words, 1) from None
    try:
        os.ftruncate(lock, 0)
        os.write(lock, f"{os.getpid()}\n".encode())
        yield
    finally:
        os.close(lock)


@contextmanager
def stopped_afterwards() -> Iterator[Children]:
    children: Children = []
    try:
        yield children
    finally:
        _stop(children)


def start(name: str, module: str, *arguments: str) -> Child:
    python = [sys.executable, "-P", "-m"]
    command = [*python, "holdfast.fleet.standalone.child", str(os.getpid()), *python, module, *arguments]
    # A session of its own: Ctrl-C is for us alone, and who dies then has not died by itself.
    environ = {**os.environ, **SMALL}
    return Child(name, subprocess.Popen(command, env=environ, stdin=subprocess.DEVNULL, start_new_session=True))


def agent_config(address: str, join: str, state: Path) -> Path:
    """This machine's own agent; a configuration of the machine, if there is one, is left to `holdfast agent`."""
    home = state / "agent"
    make_private(home)
    bootstrap.write_private(home / "join.token", join + "\n")
    quoted = {name: json.dumps(str(home / name)) for name in ("verdict.json", "join.token")}
    text = (
        f'[agent]\nstate_dir = {json.dumps(str(home))}\nverdict_file = {quoted["verdict.json"]}\nlisten = ""\n'
        f"[controller]\nurl = {json.dumps(address)}\njoin_token_file = {quoted['join.token']}\n"
    )
    bootstrap.write_private(home / "holdfast.toml", text)
    return home / "holdfast.toml"


def make_private(directory: Path) -> None:
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise Refusal(f"{directory}: cannot be made: {error.strerror}") from None


def _stop(children: Sequence[Child]) -> None:
    for child in children:
        child.process.terminate()
    for child in children:
        try:
            child.process.wait(PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            child.process.kill()
            child.process.wait()

"""Child processes of `holdfast up`, and the lock of its state directory."""

import fcntl
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from holdfast.fleet.controller import bootstrap
from holdfast.model.refusal import Refusal
from holdfast.node.agent.launch import ENVIRONMENT
from holdfast.runtime import child

TIMEOUT_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class StandaloneProcess:
    name: str
    process: subprocess.Popen[bytes]

    @property
    def failure(self) -> str:
        """How the process ended; '' while it runs."""
        code = self.process.poll()
        if code is None:
            return ""
        return f"{self.name} ended by itself, {f'killed by signal {-code}' if code < 0 else f'with exit code {code}'}"


Children = list[StandaloneProcess]


@contextmanager
def lock(state: Path) -> Iterator[None]:
    """Locks the directory. Raises Refusal with the id of a process that uses it already."""
    path = state / "up.lock"
    try:
        held = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise Refusal(f"{path}: cannot be written: {error.strerror}", 1) from None
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        holder = os.read(held, 32).decode("ascii", "replace").strip()
        os.close(held)
        raise Refusal(
            f"`holdfast up` runs already on {state} (process {holder}); stop it, or set HOLDFAST_STATE to another", 1
        ) from None
    try:
        os.ftruncate(held, 0)
        os.write(held, f"{os.getpid()}\n".encode())
        yield
    finally:
        os.close(held)


@contextmanager
def stopped_afterwards() -> Iterator[Children]:
    children: Children = []
    try:
        yield children
    finally:
        _stop(children)


def start(name: str, module: str, *arguments: str, secrets: Mapping[str, str] | None = None) -> StandaloneProcess:
    """Starts a process. `secrets` go into its environment, because every user can read a command line."""
    python = [sys.executable, "-P", "-m"]
    command = [*python, child.__name__, str(os.getpid()), *python, module, *arguments]
    # In a new session, so that Ctrl-C reaches only us, and we stop the children.
    environ = {**os.environ, **ENVIRONMENT, **(secrets or {})}
    return StandaloneProcess(
        name, subprocess.Popen(command, env=environ, stdin=subprocess.DEVNULL, start_new_session=True)
    )


def agent_config(address: str, join: str, state: Path) -> Path:
    """The configuration of this machine's agent. It does not use /etc/holdfast/holdfast.toml of `holdfast agent`."""
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


def _stop(children: Sequence[StandaloneProcess]) -> None:
    for one in children:
        one.process.terminate()
    for one in children:
        try:
            one.process.wait(TIMEOUT_SECONDS)
        except subprocess.TimeoutExpired:
            one.process.kill()
            one.process.wait()

"""A private PostgreSQL server for a test or a bench: on a free loopback port, in a temporary directory.

Arguments are settings, as in `fsync=off`. Prints its URL and serves until its standard input closes; then nothing of
it is left. A line `crash` on standard input kills the server with SIGKILL and starts it again on the same data; the
URL is printed again when it answers.
"""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

USER = "postgres"
SETTINGS = ("listen_addresses=127.0.0.1", "max_connections=40")


def find_binaries() -> Path:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=lambda path: int(path.parts[-3]))
    if not found:
        raise SystemExit("PostgreSQL is not installed below /usr/lib/postgresql")
    return found[-1].parent


def not_root() -> dict[str, Any]:
    """The server refuses to run as root, so root hands it to its own user."""
    if os.geteuid() != 0:
        return {}
    try:
        account = pwd.getpwnam(USER)
    except KeyError:
        raise SystemExit(f"PostgreSQL does not run as root and there is no user {USER}") from None
    return {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Server:
    def __init__(self, root: Path, settings: list[str]) -> None:
        self.settings = (*SETTINGS, f"unix_socket_directories={root}", *settings)
        self.binaries, self.identity, self.root = find_binaries(), not_root(), root
        self.port = free_port()
        if self.identity:
            os.chown(root, self.identity["user"], self.identity["group"])
        self.run("initdb", "-D", f"{root}/data", "-A", "trust", "-U", USER, "--no-sync", "-E", "UTF8", "--locale=C")
        self.process = self.start()

    def run(self, tool: str, *arguments: str) -> None:
        done = subprocess.run(
            [str(self.binaries / tool), *arguments], cwd=self.root, capture_output=True, text=True, **self.identity
        )
        if done.returncode:
            raise SystemExit(f"{tool}: {done.stderr.strip()}")

    def start(self) -> subprocess.Popen[bytes]:
        """Started again until it stays: after a crash the old server's children need a moment to go."""
        options = [word for setting in self.settings for word in ("-c", setting)]
        command = [str(self.binaries / "postgres"), "-D", f"{self.root}/data", "-p", str(self.port), *options]
        with open(self.root / "log", "ab") as log:
            for _ in range(50):
                process = subprocess.Popen(
                    command, cwd=self.root, stdin=subprocess.DEVNULL, stdout=log, stderr=log, **self.identity
                )
                if self.answers(process):
                    return process
        raise SystemExit(f"the server did not start: {(self.root / 'log').read_text()[-500:]}")

    def answers(self, process: subprocess.Popen[bytes]) -> bool:
        ask = [str(self.binaries / "pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(self.port)]
        while process.poll() is None:
            if subprocess.run(ask).returncode == 0:
                return True
            time.sleep(0.05)
        time.sleep(0.1)
        return False

    def crash(self) -> None:
        self.process.kill()
        self.process.wait()
        self.process = self.start()

    def stop(self) -> None:
        self.process.send_signal(signal.SIGQUIT)  # its data is not needed any more
        self.process.wait(30)

    def say(self) -> None:
        print(f"postgresql+psycopg://{USER}@127.0.0.1:{self.port}/postgres", flush=True)


def main() -> None:
    root = Path(tempfile.mkdtemp(prefix="holdfast-postgres-"))
    try:
        server = Server(root, sys.argv[1:])
        try:
            server.say()
            for line in sys.stdin:
                if line.strip() == "crash":
                    server.crash()
                    server.say()
        finally:
            server.stop()
    finally:
        shutil.rmtree(root, ignore_errors=True)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    main()

"""A real controller that serves the built page, for tests that need what only it can say."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

CONFIG = """\
listen = "127.0.0.1:0"
store = "sqlite:///{root}/holdfast.db"
admin_token_file = "{root}/token"
console = "{static}"
"""


@dataclass
class Controller:
    address: str
    token: str

    def post(self, path: str, body: object, token: str = "") -> Any:
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {token or self.token}"}
        with closing(urlopen(Request(self.address + path, json.dumps(body).encode(), headers), timeout=10)) as answer:
            return json.load(answer)

    def enrol(self, node: str, rack: str) -> str:
        join = self.post("/v1/tokens", {})["token"]
        ask = {"node": node, "join_token": join, "pool": "train", "place": {"rack": rack}}
        return str(self.post("/v1/enrol", ask)["credential"])

    def report(self, node: str, credential: str, sequence: int, after: str, reason: str) -> None:
        now = time.time()
        change = {"at": now, "check": "gpu_xid", "before": "", "after": after, "reason": reason, "evidence": ["Xid 79"]}
        report = {"node": node, "session": "s", "seq": sequence, "at": now, "changes": [change], "heartbeat": True}
        self.post("/v1/reports", [report], credential)


@contextmanager
def controlling(static: Path, directory: Path, more: str = "") -> Iterator[Controller]:
    config = directory / "controller.toml"
    config.write_text(CONFIG.format(root=directory, static=static) + more)
    command = [sys.executable, "-m", "holdfast.fleet.controller", "--config", str(config)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        try:
            yield Controller(process.stdout.readline().strip(), (directory / "token").read_text().strip())
        finally:
            process.terminate()  # also after a failure: the block would wait for it for ever

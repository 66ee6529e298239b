"""A running `holdfast up --demo` in a directory of its own."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

HOLDFAST = str(Path(sys.executable).with_name("holdfast"))
ADDRESS = re.compile(r"the controller listens on (http://\S+)")


@dataclass(frozen=True)
class Demo:
    address: str
    token: str

    def get(self, path: str) -> Any:
        asked = Request(self.address + path, headers={"Authorization": f"Bearer {self.token}"})
        with closing(urlopen(asked, timeout=30)) as answer:
            return json.load(answer)


@contextmanager
def demo(directory: Path, *more: str) -> Iterator[Demo]:
    command = [HOLDFAST, "up", "--demo", "--listen", "127.0.0.1:0", *more]
    environment = {**os.environ, "HOLDFAST_STATE": str(directory), "PYTHONUNBUFFERED": "1"}
    log = directory / "demo.log"
    with log.open("w") as output, subprocess.Popen(command, env=environment, stdout=output, stderr=output) as process:
        try:
            yield Demo(_address(process, log), (directory / "demo" / "admin.token").read_text().strip())
        finally:
            process.terminate()
            process.wait(180)


def _address(process: "subprocess.Popen[bytes]", log: Path) -> str:
    """What it says of itself when it listens."""
    while process.poll() is None:
        if found := ADDRESS.search(log.read_text()):
            return found[1]
        try:
            process.wait(0.2)
        except subprocess.TimeoutExpired:
            continue
    raise RuntimeError(f"the demo ended: {log.read_text()[-500:]}")

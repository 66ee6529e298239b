"""`holdfast up`: ends by itself with a summary, leaves nobody behind when it is killed, and does not start twice."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.waiting import alive, until

pytest.importorskip("litestar", reason="needs the extra [controller]")

pytestmark = pytest.mark.slow
HOLDFAST = str(Path(sys.executable).with_name("holdfast"))
TIMEOUT_SECONDS = 60.0


class Up:
    def __init__(self, home: Path, *options: str, demo: bool = True) -> None:
        self.environ = {**os.environ, "HOLDFAST_STATE": str(home / "state"), "HOME": str(home)}
        self.log = home / "log"
        kind = ("--demo", "--nodes", "8") if demo else ()
        command = [HOLDFAST, "up", *kind, "--listen", "127.0.0.1:0", *options]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=self.environ)

    def holdfast(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [HOLDFAST, *arguments], env=self.environ, capture_output=True, text=True, timeout=60, check=False
        )

    def children(self) -> list[int]:
        return [
            int(pid) for pid in Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        ]

    def until_it_listens(self) -> None:
        until(
            lambda: "Ctrl-C stops" in self.log.read_text(),
            self.log.read_text,
            lives=lambda: self.process.poll() is None,
        )


@pytest.fixture
def up(tmp_path: Path) -> Iterator[Up]:
    it = Up(tmp_path)
    try:
        it.until_it_listens()
        yield it
    finally:
        it.process.kill()
        it.process.wait()


def test_killed_it_leaves_no_one_behind(up: Up) -> None:
    children = up.children()
    assert children
    up.process.send_signal(signal.SIGKILL)
    up.process.wait()
    until(lambda: not any(alive(pid) for pid in children), "its children end")


def test_an_end_by_ctrl_c_is_no_trouble_of_its_parts(up: Up) -> None:
    """The fleet ends before the controller that it talks to."""
    children = up.children()
    up.process.send_signal(signal.SIGINT)
    assert up.process.wait(TIMEOUT_SECONDS) == 0
    assert not any(alive(pid) for pid in children)
    output = up.log.read_text()
    assert "Connect call failed" not in output and "Traceback" not in output


def test_a_second_one_on_the_same_data_says_so_and_harms_nothing(up: Up) -> None:
    second = up.holdfast("up", "--demo", "--listen", "127.0.0.1:0")
    assert second.returncode == 1
    assert re.fullmatch(r"holdfast: `holdfast up` runs already on .* \(process \d+\).*\n", second.stderr)
    assert up.holdfast("node", "list", "--json").returncode == 0


def test_it_ends_by_itself_and_reports_what_happened(tmp_path: Path) -> None:
    it = Up(tmp_path, "--seconds", "5")
    assert it.process.wait(TIMEOUT_SECONDS) == 0, it.log.read_text()
    output = it.log.read_text()
    assert re.search(r"Open  http://127.0.0.1:\d+/  in a browser|The API is at  http", output)
    assert re.search(r"In \d+ s: 8 nodes", output)
    assert "Traceback" not in output


def test_a_part_that_dies_ends_it_with_its_name(up: Up) -> None:
    [child] = up.children()
    os.kill(child, signal.SIGKILL)
    assert up.process.wait(TIMEOUT_SECONDS) == 1
    last = up.log.read_text().splitlines()[-1]
    assert last.startswith("holdfast: the simulated fleet ended by itself, killed by signal 9")


def test_what_is_printed_lets_no_one_act(tmp_path: Path) -> None:
    it = Up(tmp_path, "--no-agent", demo=False)
    try:
        it.until_it_listens()
        output = it.log.read_text()
        [shown] = set(re.findall(r"#token=(\S+)", output)) or {""}
        admin = tmp_path / "state" / "admin.token"
        assert (admin.stat().st_mode & 0o777, str(admin) in output) == (0o600, True)
        assert admin.read_text().strip() not in output
        if shown:
            refused = it.holdfast("token", "create", "eve", "--role", "admin", "--token", shown)
            assert refused.returncode == 1 and "viewer may not administer" in refused.stderr
            assert it.holdfast("node", "list", "--token", shown).returncode == 0
    finally:
        it.process.kill()
        it.process.wait()

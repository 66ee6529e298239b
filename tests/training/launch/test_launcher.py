"""A launcher with real processes: who stays, who is replaced, and when the run ends instead."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.training.launch.launcher import Launcher, Options
from holdfast.training.launch.nodes import LauncherNodes
from tests.ports import free_port
from tests.waiting import alive, until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
SECONDS = 120.0
SCRIPT = """
import os, sys, time
from pathlib import Path
from holdfast.training.launch import lifetime
folder, what = Path(sys.argv[1]), sys.argv[2]
rank, generation = os.environ["RANK"], int(os.environ["TORCHELASTIC_RESTART_COUNT"]) + 1
beside = folder / f"{generation}.{rank}.part"
beside.write_text(str(os.getpid()))
beside.rename(folder / f"{generation}.{rank}")
if what != "saves nothing":
    lifetime.saved()
if what == "fails" and rank == "1":
    sys.exit(7)
while what == "stays" and rank == "0":
    try:
        time.sleep(60)
    except BaseException:
        pass
while not (folder / "go").exists():
    time.sleep(0.01)
"""


class Stage:
    def __init__(self, folder: Path, what: str = "saves", **options: float) -> None:
        self.folder = folder
        script = folder / "script.py"
        script.write_text(SCRIPT)
        self.reported: list[str] = []
        command = (str(script), str(folder), what)
        nodes = LauncherNodes(1, 0, "127.0.0.1", 0)
        self.launcher = Launcher(Options(command=command, ranks=3, **options), nodes, self.reported.append)  # type: ignore[arg-type]

    def pids(self, generation: int) -> dict[int, int]:
        """Of the ranks that have reported in a generation."""
        found = {}
        for rank in range(3):
            path = self.folder / f"{generation}.{rank}"
            if path.exists():
                found[rank] = int(path.read_text())
        return found

    def when_all_run(self, generation: int) -> dict[int, int]:
        until(lambda: len(self.pids(generation)) == 3, lambda: f"generation {generation}: {self.reported}", SECONDS)
        return self.pids(generation)

    def lets_go(self) -> None:
        (self.folder / "go").touch()


@pytest.fixture
def besides() -> Iterator[list[threading.Thread]]:
    """What happens while the launcher runs in the main thread, where its signal handlers belong."""
    threads: list[threading.Thread] = []
    yield threads
    for thread in threads:
        thread.join(SECONDS)
        assert not thread.is_alive()


def test_the_others_stay_and_a_standby_takes_the_place(tmp_path: Path, besides: list[threading.Thread]) -> None:
    stage = Stage(tmp_path)
    seen = []

    def kill() -> None:
        first = stage.when_all_run(1)
        until(lambda: "a standby is ready" in stage.reported, lambda: str(stage.reported), SECONDS)
        os.kill(first[1], signal.SIGKILL)
        seen.extend([first, stage.when_all_run(2)])
        stage.lets_go()

    besides.append(threading.Thread(target=kill))
    besides[0].start()
    assert stage.launcher.run() == 0
    before, after = seen
    assert (after[0], after[2]) == (before[0], before[2])
    assert after[1] not in before.values()
    assert not any(alive(pid) for pid in {*before.values(), *after.values()})


def test_an_exit_code_of_one_rank_ends_the_run_with_it(tmp_path: Path) -> None:
    stage = Stage(tmp_path, "fails")
    assert stage.launcher.run() == 7
    others = {"a standby is ready"}  # it may be so before the rank ends
    assert [one for one in stage.reported if one not in others] == ["rank 1 ended with exit code 7: the run ends"]
    assert not any(alive(pid) for pid in stage.pids(1).values())


def test_two_starts_that_save_nothing_are_left_to_a_full_restart(
    tmp_path: Path, besides: list[threading.Thread]
) -> None:
    stage = Stage(tmp_path, "saves nothing")

    def kill() -> None:
        for generation in (1, 2):
            os.kill(stage.when_all_run(generation)[0], signal.SIGKILL)

    besides.append(threading.Thread(target=kill))
    besides[0].start()
    assert stage.launcher.run() == 1
    assert stage.reported[-1] == "the run ends: 2 starts in a row saved nothing"


def test_a_process_that_does_not_leave_the_script_is_replaced(tmp_path: Path, besides: list[threading.Thread]) -> None:
    stage = Stage(tmp_path, "stays", leave_seconds=0.5, standbys=0)
    seen = []

    def kill() -> None:
        first = stage.when_all_run(1)
        os.kill(first[2], signal.SIGKILL)
        until(lambda: 0 in stage.pids(3), lambda: str(stage.reported), SECONDS)
        seen.extend([first, stage.pids(3)])
        os.kill(os.getpid(), signal.SIGTERM)

    besides.append(threading.Thread(target=kill))
    besides[0].start()
    assert stage.launcher.run() == 128 + signal.SIGTERM
    assert seen[0][0] != seen[1][0]
    assert any("did not leave the script" in line for line in stage.reported)


@pytest.mark.soak
def test_a_rank_lost_on_one_node_starts_a_generation_on_all(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    port = str(free_port())
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    launch = [sys.executable, "-m", "holdfast.training.launch", "--nnodes", "2", "--standbys", "0"]
    nodes = [
        subprocess.Popen(
            [*launch, "--node-rank", str(node), "--master-port", port, str(script), str(tmp_path), "saves"], env=environ
        )
        for node in range(2)
    ]
    try:
        for generation, rank in ((1, 0), (2, 1)):
            rows = [tmp_path / f"{generation}.{rank}" for rank in range(2)]
            until(lambda rows=rows: all(row.exists() for row in rows), f"generation {generation}", SECONDS)
            os.kill(int(rows[rank].read_text()), signal.SIGKILL)
        until(lambda: all((tmp_path / f"3.{rank}").exists() for rank in range(2)), "generation 3", SECONDS)
        (tmp_path / "go").touch()
        assert [node.wait(SECONDS) for node in nodes] == [0, 0]
        assert (tmp_path / "2.1").read_text() == (tmp_path / "1.1").read_text()
        assert (tmp_path / "3.0").read_text() == (tmp_path / "2.0").read_text()
    finally:
        for node in nodes:
            node.kill()
            node.wait()

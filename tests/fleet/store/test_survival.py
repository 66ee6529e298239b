"""Kill -9 of the writer and of the server, a full disk, yesterday's backup: what was acknowledged is there, once."""

import random
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from holdfast.fleet.store import StaleEpoch, Store, StoreError
from holdfast.model.lifecycle import NodeState

from .lives import arrived
from .writer import report

if TYPE_CHECKING:
    from tests.postgres import Server

WRITER = str(Path(__file__).with_name("writer.py"))
NOW = 1_800_000_000.0


def stored(store: Store) -> Counter[str]:
    """How often each report's event is stored."""
    found, before = Counter[str](), ""
    while True:
        page = store.node_history("n1", 1000, before)
        found.update(line.reason for line in page.lines)
        if not (before := page.older):
            return found


def interrupted_writer(
    url: str, session: str, per_commit: int, acknowledgements: int, interrupt: Callable[[subprocess.Popen[str]], object]
) -> list[int]:
    """Let it commit for a while, interrupt it in the middle, and give what it had been told is safe."""
    command = [sys.executable, WRITER, url, session, str(per_commit)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert process.stdout is not None
    acknowledged = [int(process.stdout.readline()) for _ in range(acknowledgements)]
    interrupt(process)
    rest = process.stdout.read()
    assert process.wait() != 0
    return acknowledged + [int(line) for line in rest.splitlines(keepends=True) if line.endswith("\n")]


def lose_nothing(url: str, times: int, interrupt: Callable[[subprocess.Popen[str]], object]) -> None:
    chance = random.Random(times)
    safe = Counter[str]()
    for time in range(times):
        acknowledged = interrupted_writer(url, f"s{time}", chance.randint(1, 40), chance.randint(1, 120), interrupt)
        safe.update(f"s{time} {seq}" for seq in acknowledged)
    store = Store.open(url)
    found = stored(store)
    assert not safe - found
    assert set(found.values()) == {1}
    again = [report(*_named(text)) for text in found]
    assert not any(store.record(again, NOW))
    assert stored(store) == found
    store.close()


def _named(text: str) -> tuple[str, int]:
    session, seq = text.split()
    return session, int(seq)


def test_a_writer_killed_at_any_moment_loses_nothing_it_acknowledged(url: str) -> None:
    lose_nothing(url, 3, subprocess.Popen.kill)


@pytest.mark.soak
def test_a_writer_killed_a_hundred_times_loses_nothing_it_acknowledged(url: str) -> None:
    lose_nothing(url, 100, subprocess.Popen.kill)


@pytest.mark.slow
def test_a_server_killed_under_the_writer_loses_nothing_it_committed(postgres: "Server") -> None:
    lose_nothing(postgres.new_store(), 2, lambda _: postgres.crash())


@pytest.mark.soak
def test_a_server_killed_a_hundred_times_loses_nothing_it_committed(postgres: "Server") -> None:
    lose_nothing(postgres.new_store(), 100, lambda _: postgres.crash())


@pytest.mark.slow
def test_when_the_server_is_back_the_same_store_goes_on(postgres: "Server") -> None:
    store = Store.open(postgres.new_store())
    store.record([report("s", 1)], NOW)
    postgres.crash()
    with pytest.raises(StoreError):
        store.record([report("s", 2)], NOW)
    assert store.record([report("s", 1), report("s", 2)], NOW) == [False, True]
    store.close()


FULL_DISK = """
import resource, sys
from holdfast.fleet.store import Store, StoreError
from writer import report

store = Store.open(sys.argv[1])
_, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, hard))
acknowledged, seq = [], 1
try:
    while True:
        batch = [report("s", number) for number in range(seq, seq + 50)]
        store.record(batch, 1.0)
        acknowledged += [one.seq for one in batch]
        seq += 50
except StoreError as error:
    assert "\\n" not in str(error)
resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
assert store.record(batch, 1.0) == [True] * 50, "the refused batch was half-written"
acknowledged += [one.seq for one in batch]
print(len(acknowledged))
"""


def test_a_disk_that_fills_up_refuses_whole_batches_and_takes_them_when_there_is_room(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/holdfast.db"
    command = [sys.executable, "-c", FULL_DISK, url]
    done = subprocess.run(command, cwd=Path(WRITER).parent, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    store = Store.open(url)
    assert stored(store) == {f"s {seq}": 1 for seq in range(1, int(done.stdout) + 1)}
    assert int(done.stdout) > 50
    store.close()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of one megabyte."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)], capture_output=True)
    if mounted.returncode:
        pytest.skip(f"no file system can be mounted here: {mounted.stderr.decode().strip()}")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


@pytest.mark.slow
def test_a_file_system_without_room_refuses_and_goes_on_when_there_is_some(small_disk: Path) -> None:
    filler = small_disk / "filler"
    store = Store.open(f"sqlite:///{small_disk}/holdfast.db")
    filler.write_bytes(b"x" * 300_000)
    sent = [[report("s", seq) for seq in range(start, start + 100)] for start in range(1, 20_000, 100)]
    taken = 0
    with pytest.raises(StoreError, match="full"):
        for batch in sent:
            store.record(batch, NOW)
            taken += 1
    filler.unlink()
    assert store.record(sent[taken], NOW) == [True] * 100
    assert stored(store) == {f"s {seq}": 1 for seq in range(1, 100 * (taken + 1) + 1)}
    store.close()


def test_a_store_restored_from_yesterday_goes_on_and_knows_what_it_lacks(tmp_path: Path) -> None:
    live, backup = tmp_path / "holdfast.db", tmp_path / "yesterday.db"
    store = Store.open(f"sqlite:///{live}")
    first = store.lead("one", 10, now=1000.0) or 0
    store.transit_all([arrived(NodeState(name="n1"))], first)
    store.record([report("s", seq) for seq in range(1, 11)], NOW)
    store.close()
    shutil.copy(live, backup)

    store = Store.open(f"sqlite:///{live}")
    lost = [store.lead("one", 10, now=float(at)) or 0 for at in (2000, 2000, 2000)]
    store.record([report("s", seq) for seq in range(11, 21)], NOW)
    store.close()
    shutil.copy(backup, live)

    store = Store.open(f"sqlite:///{live}")
    with pytest.raises(StaleEpoch):
        store.transit_all([arrived(NodeState(name="n2"))], lost[-1])
    assert (store.lead("two", 10, now=3000.0) or 0) > max(lost)
    assert store.record([report("s", seq) for seq in (9, 10, 21)], NOW) == [False, False, True]
    assert store.missing("n1") == {"s": [(11, 20)]}
    assert set(stored(store).values()) == {1}
    store.close()

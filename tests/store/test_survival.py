"""Kill -9 of the writer and of the server, a full disk, yesterday's backup: what was acknowledged is there, once."""

import random
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from holdfast.model.life import NodeLife
from holdfast.store import StaleEpoch, Store, StoreError

from .writer import report

if TYPE_CHECKING:
    from .conftest import Server

WRITER = str(Path(__file__).with_name("writer.py"))
NOW = 1_800_000_000.0


def stored(store: Store) -> Counter[str]:
    """How often each report's event is stored."""
    found, before = Counter[str](), ""
    while True:
        page = store.story("n1", 1000, before)
        found.update(line.reason for line in page.lines)
        if not (before := page.older):
            return found


def killed_writer(url: str, session: str, per_commit: int, acknowledgements: int) -> list[int]:
    """Let it commit for a while, kill it in the middle, and give what it had been told is safe."""
    command = [sys.executable, WRITER, url, session, str(per_commit)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    heard = [int(process.stdout.readline()) for _ in range(acknowledgements)]
    process.kill()
    rest = process.stdout.read()
    process.wait()
    return heard + [int(line) for line in rest.splitlines(keepends=True) if line.endswith("\n")]


def lose_nothing_to_kills(url: str, kills: int) -> None:
    chance = random.Random(kills)
    safe = Counter[str]()
    for kill in range(kills):
        heard = killed_writer(url, f"s{kill}", chance.randint(1, 40), chance.randint(1, 120))
        safe.update(f"s{kill} {seq}" for seq in heard)
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


def test_a_writer_killed_between_commits_loses_nothing_it_acknowledged(url: str) -> None:
    lose_nothing_to_kills(url, 3)


@pytest.mark.soak
def test_a_writer_killed_a_hundred_times_loses_nothing_it_acknowledged(url: str) -> None:
    lose_nothing_to_kills(url, 100)


@pytest.fixture
def server(postgres: "Server") -> Iterator["Server"]:
    return postgres


def lose_nothing_to_crashes(server: "Server", crashes: int) -> None:
    url = server.new_store()
    store = Store.open(url)
    safe = Counter[str]()
    for crash in range(crashes):
        for seq in range(1, 20):
            safe.update([f"s{crash} {seq}"] * store.record([report(f"s{crash}", seq)], NOW)[0])
        server.crash()
        with pytest.raises(StoreError):
            store.record([report(f"s{crash}", 20)], NOW)
        safe.update([f"s{crash} 20"] * store.record([report(f"s{crash}", 20)], NOW)[0])
    assert stored(store) == safe
    assert len(safe) == 20 * crashes
    store.close()


@pytest.mark.slow
def test_a_server_killed_under_the_writer_loses_nothing_and_the_writer_may_try_again(server: "Server") -> None:
    lose_nothing_to_crashes(server, 1)


@pytest.mark.soak
def test_a_server_killed_many_times_loses_nothing(server: "Server") -> None:
    lose_nothing_to_crashes(server, 20)


FULL_DISK = """
import resource, sys
from holdfast.store import Store, StoreError
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
    store.save_node(NodeLife(name="n1"), first)
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
        store.save_node(NodeLife(name="n2"), lost[-1])
    assert (store.lead("two", 10, now=3000.0) or 0) > max(lost)
    assert store.record([report("s", seq) for seq in (9, 10, 21)], NOW) == [False, False, True]
    assert store.missing("n1") == {"s": [(11, 20)]}
    assert set(stored(store).values()) == {1}
    store.close()

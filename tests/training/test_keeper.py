"""The keeper beside strangers, damage and want of room; all over its real sockets."""

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.runtime.job_secret import SecretError, job_secret
from holdfast.training.checkpoint.format.increments import Sent, changed, marks_of
from holdfast.training.checkpoint.keeper.memory import PART, Pages
from holdfast.training.checkpoint.keeper.pacing import RateLimit
from holdfast.training.checkpoint.keeper.peers import Answerer, PeerConnection, PeerRefused
from holdfast.training.checkpoint.keeper.shard_store import Copy, Full, ShardStore
from holdfast.training.checkpoint.keeper.site import runtime_folder
from holdfast.training.checkpoint.keeper.wire import WireError
from tests.counts import draws

SECRET = b"s" * 32


def copy_of(rank: int, step: int, size: int = 1000, fill: int = 7) -> Copy:
    pages = Pages.new("test", size)
    pages.map[:] = bytes([fill]) * size
    return Copy(rank, step, "run", 4, size, pages.digest(size), pages)


@pytest.fixture
def store() -> ShardStore:
    return ShardStore(10_000)


@pytest.fixture
def answerer(store: ShardStore) -> Iterator[Answerer]:
    one = Answerer("127.0.0.1", 0, SECRET, store, lambda message: {})
    yield one
    one.close()


def test_a_copy_goes_to_a_partner_and_comes_back(answerer: Answerer, store: ShardStore) -> None:
    copy, mine = copy_of(1, 5), ShardStore(10_000)
    with PeerConnection(answerer.address, SECRET) as caller:
        caller.put(copy, RateLimit(0))
        assert [held.row() for held in store.held()] == [copy.row()]
        back = caller.get(1, 5, mine)
    assert back.pages.map[: back.size] == copy.pages.map[: copy.size]


def test_only_what_changed_travels_and_the_whole_is_checked(answerer: Answerer) -> None:
    store = answerer._store
    store.budget_bytes = 100 * PART
    first, second = copy_of(1, 5, size=4 * PART + 100), copy_of(1, 6, size=4 * PART + 100)
    second.pages.map[2 * PART + 7] = 9
    second = replace(second, digest=second.pages.digest(second.size))
    parts = changed(Sent(5, "run", first.size, marks_of(first)), second, marks_of(second))
    assert parts == [2]
    with PeerConnection(answerer.address, SECRET) as caller:
        assert caller.put(first, RateLimit(0)) == first.size
        assert caller.put(second, RateLimit(0), 5, parts) == PART
    held = {copy.step: copy for copy in store.held()}
    assert held[6].pages.map[: second.size] == second.pages.map[: second.size]
    held[6].pages.map[3] ^= 1  # what is built on is damaged: found by the hash of the whole
    third = replace(copy_of(1, 7, size=second.size), digest="0" * 32)
    with PeerConnection(answerer.address, SECRET) as caller, pytest.raises(PeerRefused, match="arrived damaged"):
        caller.put(third, RateLimit(0), 6, [])
    with PeerConnection(answerer.address, SECRET) as caller, pytest.raises(PeerRefused, match="not here to build on"):
        caller.put(third, RateLimit(0), 2, [])
    assert 7 not in {copy.step for copy in store.held()}


def test_what_is_new_in_size_or_run_or_mostly_changed_is_sent_whole() -> None:
    copy = copy_of(1, 6, size=4 * PART)
    marks = marks_of(copy)
    assert changed(None, copy, marks) is None
    assert changed(Sent(5, "other", copy.size, marks), copy, marks) is None
    assert changed(Sent(5, "run", copy.size - 1, marks), copy, marks) is None
    assert changed(Sent(5, "run", copy.size, (1, 2, 3, marks[3])), copy, marks) is None
    assert changed(Sent(5, "run", copy.size, marks), copy, marks) == []


def test_a_partner_that_is_full_says_so_and_keeps_nothing(answerer: Answerer, store: ShardStore) -> None:
    with (
        PeerConnection(answerer.address, SECRET) as caller,
        pytest.raises(PeerRefused, match="do not fit: 0 of 10000 are in use"),
    ):
        caller.put(copy_of(1, 5, size=20_000), RateLimit(0))
    assert store.held() == []


def test_bytes_that_changed_on_the_way_are_not_kept(answerer: Answerer, store: ShardStore) -> None:
    copy = copy_of(1, 5)
    copy.pages.map[500] ^= 1
    with (
        PeerConnection(answerer.address, SECRET) as caller,
        pytest.raises(PeerRefused, match="rank 1 step 5 arrived damaged"),
    ):
        caller.put(copy, RateLimit(0))
    assert store.held() == []


def test_a_damaged_copy_at_the_partner_is_found_by_who_fetches_it(answerer: Answerer, store: ShardStore) -> None:
    with PeerConnection(answerer.address, SECRET) as caller:
        caller.put(copy_of(1, 5), RateLimit(0))
        store.held()[0].pages.map[3] ^= 128
        with pytest.raises(WireError, match="arrived damaged"):
            caller.get(1, 5, ShardStore(10_000))


def test_a_other_is_not_listened_to(answerer: Answerer, store: ShardStore) -> None:
    with pytest.raises(WireError), PeerConnection(answerer.address, b"x" * 32) as caller:
        caller.put(copy_of(1, 5), RateLimit(0))
    assert store.held() == []


@settings(max_examples=draws(8, 30))
@given(raw=st.binary(min_size=1, max_size=300))
def test_noise_on_the_port_changes_nothing(raw: bytes) -> None:
    store = ShardStore(10_000)
    answerer = Answerer("127.0.0.1", 0, SECRET, store, lambda message: {})
    host, _, port = answerer.address.rpartition(":")
    with socket.create_connection((host, int(port))) as noisy, suppress(OSError):
        noisy.sendall(raw)
        noisy.shutdown(socket.SHUT_WR)
        while noisy.recv(4096):
            pass
    with PeerConnection(answerer.address, SECRET) as caller:
        caller.put(copy_of(0, 1), RateLimit(0))
    assert len(store.held()) == 1
    answerer.close()


def test_the_committed_and_the_newest_are_never_written_over(store: ShardStore) -> None:
    for step in range(1, 8):
        pages = store.reserve(0, 1000)
        store.add(Copy(0, step, "run", 1, 1000, "", pages))
        if step == 2:
            store.commit(2)
    assert {copy.step for copy in store.held()} >= {2, 7}
    assert len(store.held()) <= 3


def test_a_copy_on_its_way_is_waited_for_once_and_then_given_up(store: ShardStore) -> None:
    for step in (1, 2, 3):
        store.add(Copy(0, step, "run", 1, 1000, "", store.reserve(0, 1000)))
    store.commit(1)
    threading.Timer(0.05, store.commit, [2]).start()
    store.add(Copy(0, 4, "run", 1, 1000, "", store.reserve(0, 1000, timeout_seconds=60)))
    assert [copy.step for copy in store.held()] == [2, 3, 4]  # the commit made room, nothing else was thrown away
    store.add(Copy(0, 5, "run", 1, 1000, "", store.reserve(0, 1000)))
    assert [copy.step for copy in store.held()] == [2, 4, 5]
    store.add(Copy(0, 6, "run", 1, 1000, "", store.reserve(0, 1000, timeout_seconds=60)))  # not again in vain
    assert [copy.step for copy in store.held()] == [2, 5, 6]


def test_what_counts_as_safe_is_not_written_over_before_it_does_no_more(store: ShardStore) -> None:
    for step in (1, 2, 3):
        store.add(Copy(0, step, "run", 1, 1000, "", store.reserve(0, 1000)))
    store.commit(1)
    store.protect(0, 2)
    for timeout_seconds in (0.0, 0.01, 3600.0):  # one wait in vain is enough
        with pytest.raises(Full, match="copying is behind saving"):
            store.reserve(0, 1000, timeout_seconds)
    store.unprotect(0, 2)
    store.add(Copy(0, 4, "run", 1, 1000, "", store.reserve(0, 1000)))
    assert [copy.step for copy in store.held()] == [1, 3, 4]


def test_a_partner_keeps_what_its_owner_called_safe(answerer: Answerer, store: ShardStore) -> None:
    def put(step: int, committed: int, safe: list[int]) -> None:
        with PeerConnection(answerer.address, SECRET) as caller:
            caller.put(copy_of(1, step), RateLimit(0), bound={"committed": committed, "safe": safe})

    put(1, -1, [])
    put(2, 1, [])
    put(3, 1, [2])
    with pytest.raises(PeerRefused, match="copying is behind saving"):
        put(4, 1, [2, 3])  # may be committed before the partner hears of it
    assert [copy.step for copy in store.held()] == [1, 2, 3]
    put(4, 1, [3])
    assert [copy.step for copy in store.held()] == [1, 3, 4]


def test_a_copy_for_storage_stays_behind_the_committed_step_as_long_as_there_is_other_room(
    store: ShardStore,
) -> None:
    copies = [Copy(0, step, "run", 1, 1000, "", store.reserve(0, 1000)) for step in (1, 2, 3)]
    for copy in copies:
        store.add(copy)
    store.want(copies[0])
    store.commit(3)
    assert [copy.step for copy in store.held()] == [1, 3]
    store.add(Copy(0, 4, "run", 1, 1000, "", store.reserve(0, 1000)))
    store.add(Copy(0, 5, "run", 1, 1000, "", store.reserve(0, 1000)))
    assert [copy.step for copy in store.held()] == [3, 4, 5]
    assert not store.has(copies[0])


def test_a_copy_that_is_read_counts_as_one_of_three_although_a_newer_one_took_its_place(
    store: ShardStore,
) -> None:
    store.add(Copy(0, 1, "run", 1, 1000, "", store.reserve(0, 1000)))
    with store.reading(0, 1):
        for step in (2, 3):
            store.add(Copy(0, step, "run", 1, 1000, "", store.reserve(0, 1000)))
        store.commit(2)
        assert [copy.step for copy in store.held()] == [2, 3]
        with pytest.raises(Full, match="the 3 buffers of rank 0 are all in use"):
            store.reserve(0, 1000)
    store.reserve(0, 1000)


def test_buffers_are_used_again(store: ShardStore) -> None:
    numbers = set()
    for step in range(1, 20):
        pages = store.reserve(0, 1000)
        numbers.add(pages.number)
        store.add(Copy(0, step, "run", 1, 1000, "", pages))
        store.commit(step)
    assert len(numbers) <= 3


def test_a_state_that_grows_a_little_fits_into_the_buffers_it_had() -> None:
    store, numbers = ShardStore(10_000_000), set()
    for step in range(1, 200):
        pages = store.reserve(0, 1_000_000 + 100 * step)
        numbers.add(pages.number)
        store.add(Copy(0, step, "run", 1, 1_000_000, "", pages))
        store.commit(step)
    assert len(numbers) <= 3


def test_a_copy_that_is_read_is_not_written_over(store: ShardStore) -> None:
    store.add(Copy(0, 1, "run", 1, 1000, "", store.reserve(0, 1000)))
    with store.reading(0, 1) as copy:
        assert copy is not None
        store.commit(9)
        others = [store.reserve(0, 1000) for _ in range(2)]
        assert copy.pages not in others
    assert store.reserve(0, 1000) is copy.pages


def test_no_room_is_a_sentence() -> None:
    with pytest.raises(Full, match="2000 bytes for rank 3 do not fit: 0 of 1000 are in use"):
        ShardStore(1000).reserve(3, 2000)


def test_memory_and_secret_belong_to_one_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert os.stat(copy_of(0, 1).pages.fd).st_mode & 0o777 == 0o600
    assert job_secret(tmp_path) == job_secret(tmp_path)
    (tmp_path / ".secret").chmod(0o644)
    with pytest.raises(SecretError, match="can be used by others"):
        job_secret(tmp_path)
    (tmp_path / "open").mkdir(mode=0o755)
    monkeypatch.setenv("HOLDFAST_RUNTIME_DIR", str(tmp_path / "open"))
    with pytest.raises(SecretError, match="can be used by others"):
        runtime_folder()

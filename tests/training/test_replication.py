"""A keeper and its partner: what travels, and what happens where the partner has lost what was to be built on."""

import time
from itertools import pairwise

from holdfast.training.increments import PART
from holdfast.training.pace import Pace
from holdfast.training.peers import Answerer
from holdfast.training.replication import Crew, Replication
from holdfast.training.vault import Copy, Vault

SECRET = b"s" * 32
SIZE = 8 * PART + 5


def saved(vault: Vault, replication: Replication, step: int, touched: int) -> int:
    """Save a copy in which so many parts are new, wait until it is committed, and give all bytes sent so far."""
    pages = vault.reserve(0, SIZE)
    pages.map[:SIZE] = b"\7" * SIZE
    for part in range(touched):
        pages.map[part * PART] = step
    copy = Copy(0, step, "run", 1, SIZE, pages.digest(SIZE), pages)
    vault.add(copy)
    replication.submit(copy)
    deadline = time.monotonic() + 120
    while vault.committed < step:
        assert time.monotonic() < deadline, "the copy did not reach the partner"
        time.sleep(0.01)
    return replication.sent_bytes


def test_a_partner_nobody_knew_at_the_start_is_said_and_the_next_run_has_copies_again() -> None:
    mine, theirs, troubles = Vault(1 << 30), Vault(1 << 30), dict[str, str]()
    replication = Replication(mine, SECRET, Pace(0), troubles)
    replication.join(Crew("before", 1, "a", {"a": "127.0.0.1:1"}, ("b",), "a"))
    pages = mine.reserve(0, SIZE)
    copy = Copy(0, 1, "before", 1, SIZE, pages.digest(SIZE), pages)
    mine.add(copy)
    replication.submit(copy)
    deadline = time.monotonic() + 120
    while "no keeper of b is known" not in troubles.get("partner b", ""):
        assert time.monotonic() < deadline, "nobody said that the partner is unknown"
        time.sleep(0.01)
    answerer = Answerer("127.0.0.1", 0, SECRET, theirs, lambda message: {})
    replication.join(Crew("run", 1, "a", {"a": "127.0.0.1:1", "b": answerer.address}, ("b",), "a"))
    assert saved(mine, replication, 2, 1) == SIZE
    assert troubles == {}
    answerer.close()


def test_a_partner_gets_what_changed_and_everything_where_it_lost_its_base() -> None:
    mine, theirs, troubles = Vault(1 << 30), Vault(1 << 30), dict[str, str]()
    answerer = Answerer("127.0.0.1", 0, SECRET, theirs, lambda message: {})
    replication = Replication(mine, SECRET, Pace(0), troubles)
    replication.join(Crew("run", 1, "a", {"a": "127.0.0.1:1", "b": answerer.address}, ("b",), "a"))
    sent = [0] + [saved(mine, replication, step, touched) for step, touched in ((1, 1), (2, 1), (3, 2), (4, 8))]
    assert [after - before for before, after in pairwise(sent)] == [SIZE, PART, 2 * PART, SIZE]
    assert saved(mine, replication, 5, 1) - sent[-1] == SIZE  # seven parts are as they were before step 4
    theirs.drop(0, 5)
    assert saved(mine, replication, 6, 1) - sent[-1] == 2 * SIZE
    assert 6 in {copy.step for copy in theirs.held()}
    assert troubles == {}
    answerer.close()

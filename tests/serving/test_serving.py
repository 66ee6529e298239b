"""Timers of the path of a request: what is counted, that nothing is lost between two tellings, that nobody waits."""

import threading
from time import perf_counter

import pytest

from holdfast.serving import Request, Transfer, start
from holdfast.serving.paths import PathCounts, take
from holdfast.serving.summary import signals


@pytest.fixture(autouse=True)
def _empty() -> None:
    take()


def _signals(books: dict[str, list[PathCounts]]) -> dict[tuple[str, str], float]:
    return {(about, name): value for about, name, value in signals(books, perf_counter())}


def test_a_transfer_is_timed_on_its_path() -> None:
    with Transfer("pool/prefill", "decode", 4096):
        pass
    books = take()
    (counts_of,) = books["path/prefill-decode"]
    assert counts_of.transfers == 1 and counts_of.bytes == 4096 and counts_of.seconds > 0
    assert _signals(books)["path/prefill-decode", "pool_transfer_seconds"] > 0


def test_shares_are_of_what_was_routed_whether_it_arrived_or_not() -> None:
    sent = [Transfer("prefill", pool, 1) for pool in ("a", "a", "a", "b")]
    for one in sent:
        one.begin()
    result = _signals(take())
    assert result["path/prefill-a", "pool_routing_share"] == 0.75
    assert result["path/prefill-b", "pool_routing_share"] == 0.25


def test_a_transfer_that_does_not_end_is_as_slow_as_it_is_already() -> None:
    stuck = Transfer("prefill", "decode", 1)
    stuck.begin()
    books = take()
    result = {name: value for _, name, value in signals(books, perf_counter() + 30)}
    assert result["pool_transfer_seconds"] >= 30
    again = {name: value for _, name, value in signals(take(), perf_counter() + 60)}
    assert again["pool_transfer_seconds"] >= 60, "it is still under way"
    stuck.done()
    assert take()["path/prefill-decode"][0].transfers == 1, "it ends in the book of now"


def test_a_failure_is_counted_and_passes_on() -> None:
    with pytest.raises(OSError, match="gone"), Transfer("prefill", "decode", 1):
        raise OSError("gone")
    (counts_of,) = take()["path/prefill-decode"]
    assert counts_of.failed == 1 and counts_of.transfers == 0 and not counts_of.under_way


def test_a_request_knows_its_stall_and_its_target() -> None:
    request = Request("prefill", "decode", target_seconds=1e-9)
    with request.waiting():
        pass
    request.done()
    request.done()
    books = take()
    (counts_of,) = books["path/prefill-decode"]
    assert counts_of.requests == 1 and counts_of.late == 1 and 0 < counts_of.stall_seconds <= counts_of.request_seconds
    assert 0 < _signals(books)["path/prefill-decode", "pool_stall_ratio"] <= 1


def test_many_threads_lose_nothing() -> None:
    def work() -> None:
        for _ in range(500):
            with Transfer("prefill", "decode", 1):
                pass

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(counts_of.transfers for counts_of in take()["path/prefill-decode"]) == 4_000
    assert len(take().get("path/prefill-decode", ())) <= 1, "threads that ended are forgotten"


@pytest.mark.parametrize("url", ["", "ftp://x", "controller:9477"])
def test_what_is_no_address_is_refused(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOLDFAST_URL", raising=False)
    with pytest.raises(ValueError, match="the controller's address: expected an http or https address"):
        start(url)

"""A machine whose clock starts in another year: the controller waits for the right one and touches nothing."""

import time
from pathlib import Path

import pytest

from holdfast.fleet.controller import server
from holdfast.fleet.controller.settings import Controlling, Listening
from holdfast.fleet.store import Store
from holdfast.model.wire.report import Report
from tests.stores import new_store

DAY = 86_400.0


def stopped_for(tmp_path: Path, days: float) -> str:
    """A store whose newest report is so old: as seen from a clock that is so far ahead."""
    url = new_store(tmp_path / "holdfast.db")
    store = Store.open(url)
    at = time.time() - days * DAY
    store.record([Report(node="n1", session="s1", seq=1, at=at, heartbeat=True)], at)
    store.close()
    return url


def test_a_clock_far_ahead_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    url, token = stopped_for(tmp_path, 400), tmp_path / "admin.token"
    token.write_text("hf_kept\n")
    base = Listening(store=url, listen="127.0.0.1:0", admin_token_file=str(token))
    with pytest.raises(server.WildClock, match=r"400 days ahead .* longest_stop_days"):
        server.serve(Controlling(base=base))
    assert token.read_text() == "hf_kept\n", "an expired token would have been replaced"
    store = Store.open(url)
    assert store.audit(0.0, 10) == [] and store.current_leader() is None
    store.close()


@pytest.mark.parametrize(
    ("days", "base", "refused"),
    [(29.9, {}, False), (30.1, {}, True), (30.1, {"longest_stop_days": 31}, False), (400, {"demo": True}, False)],
)
def test_how_far_it_may_be_ahead(tmp_path: Path, days: float, base: dict[str, float], refused: bool) -> None:
    store = Store.open(stopped_for(tmp_path, days))
    try:
        server._refuse_wild_clock(store, Listening(**base))  # type: ignore[arg-type]
        assert not refused
    except server.WildClock:
        assert refused
    finally:
        store.close()


def test_a_new_store_has_nothing_to_compare_with(tmp_path: Path) -> None:
    store = Store.open(new_store(tmp_path / "holdfast.db"))
    server._refuse_wild_clock(store, Listening())
    store.close()

"""`holdfast policy check|preview` against a store: pools are known from it, and nothing in it is changed by looking."""

import json
import time
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from holdfast.cli.app import run
from holdfast.fleet.policy import replay
from holdfast.fleet.store import Store
from holdfast.model.records import LifecycleStep
from holdfast.model.wire.report import Report, VerdictChange
from tests.stores import new_store

from ..store.lives import step  # noqa: TID252  tests are no package to name


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """As `holdfast up` leaves it: one node of pool 'default' that failed three times."""
    monkeypatch.setenv("HOLDFAST_STATE", str(tmp_path))
    made = Store.open(new_store(tmp_path / "holdfast.db"))
    now = time.time()
    made.transit_all([failed(now)], made.lead("test", 10, now=now) or 0)
    changes = [
        VerdictChange(at=now - 60 + n, check="gpu.ecc", before="pass", after="fail", reason="x") for n in range(3)
    ]
    made.record([Report(node="n1", session="s", seq=1, at=now, changes=tuple(changes))], now)
    made.close()
    return tmp_path / "holdfast.db"


def failed(now: float) -> LifecycleStep:
    return step("n1", at=now - 60)


def test_pools_that_no_node_is_in_are_named_with_the_nearest(
    store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    policy = tmp_path / "p.toml"
    policy.write_text(
        "[pool.defalt]\nspares = 1\n[pool.default]\nspares = 1\n"
        '[[maintenance]]\nname = "m"\npool = "other"\nweekly = "Sun 02:00-06:00"\n'
    )
    assert run(["policy", "check", str(policy)]) == 0
    _, *strange = capsys.readouterr().out.splitlines()
    assert strange == [
        f"{policy}, line 1: pool.defalt: no node is in a pool called 'defalt'; the nearest is 'default'",
        f"{policy}, line 7: maintenance[0].pool: no node is in a pool called 'other'",
    ]
    assert run(["policy", "check", str(policy), "--json"]) == 0
    output = json.loads(capsys.readouterr().out)
    assert output == {"file": str(policy), "dry_run": True, "pools_compared": True, "strange_pools": strange}


def test_a_check_of_no_such_name_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    policy = tmp_path / "p.toml"
    policy.write_text('shadow_checks = ["gpu.eccc"]\n')
    assert run(["policy", "check", str(policy)]) == 64
    assert "line 1: shadow_checks: no check is called 'gpu.eccc'; the nearest is 'gpu.ecc'" in capsys.readouterr().err


def test_a_preview_that_cannot_replay_all_says_where_it_was_cut(
    store: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["policy", "preview", "--since", "1h", "--json"]) == 0
    whole = json.loads(capsys.readouterr().out)
    assert (whole["verdict_changes"], whole["cut_at"], whole["left_service_then"]) == (3, None, 1)
    monkeypatch.setattr(replay, "MOST_CHANGES", 2)
    assert run(["policy", "preview", "--since", "1h", "--json"]) == 0
    cut = json.loads(capsys.readouterr().out)
    assert cut["verdict_changes"] == 2 and cut["cut_at"] is not None
    assert run(["policy", "preview", "--since", "1h"]) == 0
    assert "cut: only changes until" in capsys.readouterr().out


def test_a_preview_never_changes_the_schema(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of a store that a controller of another version uses."""
    engine = create_engine(f"sqlite:///{store}")
    with engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '0001'"))
    assert run(["policy", "preview", "--since", "1h"]) == 1
    assert "brings it up to date when it starts" in capsys.readouterr().err
    with engine.connect() as connection:
        assert connection.execute(text("SELECT version_num FROM alembic_version")).scalar_one() == "0001"
    engine.dispose()


def test_a_store_that_is_not_there_is_not_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "c.toml"
    config.write_text(f'store = "sqlite:///{tmp_path}/none.db"\n')
    assert run(["policy", "preview", "--config", str(config)]) == 1
    assert "there is no such file" in capsys.readouterr().err
    assert not (tmp_path / "none.db").exists()


def test_an_old_store_that_no_one_named_makes_no_policy_wrong(
    store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    engine = create_engine(f"sqlite:///{store}")
    with engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '0001'"))
    engine.dispose()
    policy = tmp_path / "p.toml"
    policy.write_text("dry_run = true\n")
    assert run(["policy", "check", str(policy)]) == 0
    output = capsys.readouterr()
    assert "carries out no action" in output.out and "its schema is 0001" in output.err

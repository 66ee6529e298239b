"""How fast reports are committed, beside the bare driver in the same run, and what a node's history costs when much is
stored. On SQLite and on a PostgreSQL server of its own; every commit is flushed to disk in both."""

import argparse
import random
import sqlite3
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
from sqlalchemy import Engine, create_engine, text

from holdfast.model.wire.report import Report, VerdictChange
from holdfast.model.signal import Event
from holdfast.fleet.store import Store

from measure import PYTHON, cpu_times, publish, quantile, steal_ratio

SERVER = Path(__file__).parents[1] / "scripts" / "throwaway_postgres.py"
KERNEL_LINE = "NVRM: Xid (PCI:0000:9b:00): 79, pid=2041, GPU has fallen off the bus."
WEEK = 7 * 86_400
WEEKS = 10
FLOOR = "CREATE TABLE floor (stored_at float8, node text, at float8, kind text, subject text, twin boolean, body text)"
SEED = {
    "sqlite": """WITH RECURSIVE count(i) AS (SELECT :low UNION ALL SELECT i + 1 FROM count WHERE i + 1 < :high)
        INSERT INTO events (stored_at, node, at, kind, subject, twin, body)
        SELECT :start + i * :apart, printf('n%05d', i % :nodes), :start + i * :apart, 'xid', '', 0, :body FROM count""",
    "postgresql": """INSERT INTO events (stored_at, node, at, kind, subject, twin, body)
        SELECT :start + i * CAST(:apart AS float8), 'n' || lpad(CAST(i % :nodes AS text), 5, '0'),
        :start + i * CAST(:apart AS float8), 'xid', '', false, :body
        FROM generate_series(CAST(:low AS bigint), CAST(:high AS bigint) - 1) AS i""",
}


@contextmanager
def postgres() -> Iterator[str]:
    server = subprocess.Popen([PYTHON, str(SERVER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        url = server.stdout.readline().strip()
        if not url:
            raise SystemExit("no PostgreSQL server could be started")
        yield url
    finally:
        server.communicate()


def heartbeat(node: int, seq: int) -> Report:
    return Report(node=f"n{node:05d}", session="bench", seq=seq, at=time.time(), heartbeat=True)


def one_event(node: int, seq: int) -> Report:
    event = Event(kind="xid", at=time.time(), text=KERNEL_LINE, code=79)
    return Report(node=f"n{node:05d}", session="bench", seq=seq, at=event.at, events=(event,))


def event_and_verdict(node: int, seq: int) -> Report:
    change = VerdictChange(at=time.time(), check="gpu.xid", before="pass", after="fail", reason="gpu 3: Xid 79")
    event = Event(kind="xid", at=change.at, text=KERNEL_LINE, code=79)
    return Report(node=f"n{node:05d}", session="bench", seq=seq, at=change.at, events=(event,), changes=(change,))


def per_second(commit: Callable[[list[Any]], object], items: list[Any], batch: int) -> float:
    """Items committed per second, a transaction for every `batch` of them."""
    started = time.perf_counter()
    for start in range(0, len(items), batch):
        commit(items[start : start + batch])
    return len(items) / (time.perf_counter() - started)


def store_rates(store: Store, nodes: int, rounds: int, batch: int) -> dict[str, float]:
    rates, seq = {}, 1
    store.record([heartbeat(node, seq) for node in range(nodes)], time.time())
    for kind in (heartbeat, one_event, event_and_verdict):
        reports = [kind(node, seq + number) for number in range(1, rounds + 1) for node in range(nodes)]
        seq += rounds
        rates[f"{kind.__name__}_reports_per_second"] = per_second(
            lambda b: store.record(b, time.time()), reports, batch
        )
    return rates


def floor_rows(count: int) -> list[tuple[Any, ...]]:
    now = time.time()
    return [(now, f"n{i % 2000:05d}", now, "xid", "", False, KERNEL_LINE) for i in range(count)]


def sqlite_floor(path: str, count: int, batch: int) -> float:
    """One row a report, appended to a table without an index: the driver and the disk, nothing of ours."""
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute(FLOOR)

    def commit(rows: list[Any]) -> None:
        with connection:
            connection.executemany("INSERT INTO floor VALUES (?, ?, ?, ?, ?, ?, ?)", rows)

    rate = per_second(commit, floor_rows(count), batch)
    connection.close()
    return rate


def postgres_floor(url: str, count: int, batch: int) -> float:
    with psycopg.connect(url.replace("+psycopg", "")) as connection:
        connection.execute(FLOOR)
        connection.commit()

        def commit(rows: list[Any]) -> None:
            with connection.cursor() as cursor:
                cursor.executemany("INSERT INTO floor VALUES (%s, %s, %s, %s, %s, %s, %s)", rows)
            connection.commit()

        return per_second(commit, floor_rows(count), batch)


def seed(store: Store, engine: Engine, events: int, nodes: int) -> float:
    """Store many events of all nodes over ten weeks, by the engine's own means; seconds it took."""
    start = time.time()
    apart = WEEKS * WEEK / events
    body = f'{{"kind":"xid","at":0.0,"text":"{KERNEL_LINE}"}}'
    for week in range(WEEKS + 1):
        store.record([], start + week * WEEK)  # makes the partitions
    began = time.perf_counter()
    step = 500_000
    for low in range(0, events, step):
        span = {"low": low, "high": min(low + step, events)}
        with engine.begin() as connection:
            given = {**span, "start": start, "apart": apart, "nodes": nodes, "body": body}
            connection.execute(text(SEED[engine.dialect.name]), given)
    if engine.dialect.name == "postgresql":
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.execute(text("ANALYZE events"))
    return time.perf_counter() - began


def node_history_ms(store: Store, nodes: int, asked: int = 300) -> list[float]:
    """First and second page of nodes at random."""
    chance, taken = random.Random(7), []
    for _ in range(asked):
        name = f"n{chance.randrange(nodes):05d}"
        before = ""
        for _ in range(2):
            started = time.perf_counter()
            page = store.node_history(name, 50, before)
            taken.append((time.perf_counter() - started) * 1000)
            assert page.lines
            before = page.older
    return taken


def measure(url: str, floor: Callable[[], float], options: argparse.Namespace) -> dict[str, float]:
    count = options.nodes * options.rounds
    store = Store.open(url)
    engine = create_engine(url)
    figures: dict[str, float] = {"floor_rows_per_second": floor()}
    figures |= store_rates(store, options.nodes, options.rounds, options.batch)
    figures["floor_rows_per_second"] = max(figures["floor_rows_per_second"], floor_again(engine, floor))
    figures["one_event_to_floor"] = figures["one_event_reports_per_second"] / figures["floor_rows_per_second"]
    figures["seed_events_per_second"] = options.events / seed(store, engine, options.events, options.nodes)
    taken = node_history_ms(store, options.nodes)
    figures |= {f"node_history_p{share}_ms": quantile(taken, share / 100) for share in (50, 99)}
    figures["node_history_max_ms"] = max(taken)
    figures["reports"] = count
    engine.dispose()
    store.close()
    return figures


def floor_again(engine: Engine, floor: Callable[[], float]) -> float:
    """Before and after, the better of both: the machine is shared, and the floor must not look low by accident."""
    with engine.begin() as connection:
        connection.execute(text("DROP TABLE floor"))
    return floor()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=200_000, help="stored when the history is read")
    parser.add_argument("--nodes", type=int, default=2_000)
    parser.add_argument("--rounds", type=int, default=5, help="reports of each kind per node")
    parser.add_argument("--batch", type=int, default=200, help="reports per commit")
    parser.add_argument("--engine", choices=("sqlite", "postgresql"), help="only this one")
    options = parser.parse_args()
    count, before = options.nodes * options.rounds, cpu_times()
    figures: dict[str, Any] = {"events": options.events, "nodes": options.nodes, "batch": options.batch}
    if options.engine != "postgresql":
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/holdfast.db"
            result = measure(f"sqlite:///{path}", lambda: sqlite_floor(path, count, options.batch), options)
            figures |= {f"sqlite_{name}": round(value, 2) for name, value in result.items()}
    if options.engine != "sqlite":
        with postgres() as url:
            result = measure(url, lambda: postgres_floor(url, count, options.batch), options)
            figures |= {f"postgresql_{name}": round(value, 2) for name, value in result.items()}
    figures["steal"] = round(steal_ratio(before, cpu_times()), 3)
    publish("store" if options.events <= 1_000_000 else "store_soak", figures)


if __name__ == "__main__":
    main()

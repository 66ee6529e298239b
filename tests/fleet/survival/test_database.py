"""The database full, slow, restarted or restored from yesterday: refused in a sentence, then all is there, once."""

import os
import secrets
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.fleet.controller.running import Agent, Controller, running, start, until
from tests.postgres import Server

from .world import world

pytestmark = pytest.mark.slow


@contextmanager
def small_disk(at: Path, megabytes: int) -> Iterator[Path]:
    at.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(at)], capture_output=True, text=True
    )
    if mounted.returncode:
        pytest.skip(f"no file system can be mounted here: {mounted.stderr.strip()}")
    try:
        yield at
    finally:
        subprocess.run(["umount", "-l", str(at)], check=True)


@contextmanager
def open_directory() -> Iterator[Path]:
    """One that the server, which runs as its own user, can reach; pytest closes those it makes."""
    place = Path(tempfile.mkdtemp(prefix="holdfast-"))
    place.chmod(0o755)
    try:
        yield place
    finally:
        shutil.rmtree(place)


def large(agent: Agent) -> dict[str, Any]:
    seq = agent.seq + 1
    incompressible = secrets.token_urlsafe(3_000)
    return agent.next(events=[{"kind": "xid", "at": time.time(), "text": f"line {seq} {incompressible}"}])


def fill(agent: Agent, controller: Controller, filler: Path) -> None:
    """Report until the disk is full, as an agent does: what is refused is sent again when there is room."""
    sent: list[int] = []
    while True:
        reports = [large(agent) for _ in range(25)]
        reply = controller.report(reports, agent.credential)
        sent += [report["seq"] for report in reports]
        if reply.status_code != 200:
            break
        assert len(sent) < 20_000, "the disk does not fill up"
    assert reply.status_code == 503
    assert "space" in reply.json()["error"] or "full" in reply.json()["error"]
    assert controller.get("/healthz")["leading"] in (True, False), "it answers although its disk is full"
    filler.unlink()
    until(lambda: controller.report(reports, agent.credential).status_code == 200, "it is taken when there is room")
    found = {one["detail"].split()[1] for one in events(controller, agent.name)}
    assert found == {str(seq) for seq in sent}


def events(controller: Controller, node: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    before = ""
    while True:
        page = controller.get(f"/v1/nodes/{node}/history", limit=1000, before=before)
        found += [one for one in page["entries"] if one["kind"] == "event"]
        if not (before := page["next"]):
            return found


def test_a_full_disk_under_sqlite_refuses_and_goes_on_when_there_is_room(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", 4) as disk:
        filler = disk / "filler"
        filler.write_bytes(b"x" * 2_000_000)
        with running(tmp_path / "c", store=f"sqlite:///{disk}/holdfast.db") as controller:
            fill(controller.enrol("n1"), controller, filler)


def test_a_full_tablespace_under_postgresql_refuses_and_goes_on_when_there_is_room(
    tmp_path: Path, server: Server
) -> None:
    with open_directory() as place, small_disk(place / "disk", 28) as disk:
        if os.geteuid() == 0:
            shutil.chown(disk, "postgres", "postgres")
        with psycopg.connect(server.url.replace("+psycopg", ""), autocommit=True) as connection:
            connection.execute(f"CREATE TABLESPACE small LOCATION '{disk}'")  # type: ignore[arg-type]
            connection.execute("CREATE DATABASE full_one TABLESPACE small")
        filler = disk / "filler"
        filler.write_bytes(b"x" * 15_000_000)
        url = server.url.rpartition("/")[0] + "/full_one"
        with running(tmp_path / "c", store=url) as controller:
            fill(controller.enrol("n1"), controller, filler)
        with psycopg.connect(server.url.replace("+psycopg", ""), autocommit=True) as connection:
            connection.execute("DROP DATABASE full_one WITH (FORCE)")
            connection.execute("DROP TABLESPACE small")


def test_a_table_that_somebody_locks_holds_up_reports_and_loses_none(tmp_path: Path, server: Server) -> None:
    store = server.new_store()
    with running(tmp_path, store=store) as controller:
        agent = controller.enrol("n1")
        reports = [agent.next(events=[{"kind": "xid", "at": time.time(), "text": f"{n}"}]) for n in range(5)]
        with psycopg.connect(store.replace("+psycopg", "")) as connection:
            connection.execute("LOCK TABLE sessions IN ACCESS EXCLUSIVE MODE")
            replies: list[int] = []
            asking = threading.Thread(
                target=lambda: replies.append(controller.report(reports, agent.credential).status_code)
            )
            asking.start()
            asking.join(3.0)
            assert asking.is_alive() or replies == [503]
            assert controller.get("/v1/fleet")["nodes"] == 1, "questions are answered meanwhile"
        asking.join(30.0)
        until(lambda: controller.report(reports, agent.credential).status_code == 200, "it takes reports again")
        assert sorted(one["detail"] for one in events(controller, "n1")) == [f"{n}" for n in range(5)]


def test_a_server_that_stands_still_for_a_while_loses_nothing(tmp_path: Path, server: Server) -> None:
    store = server.new_store()
    with running(tmp_path, store=store) as controller:
        agent = controller.enrol("n1")
        with psycopg.connect(store.replace("+psycopg", "")) as connection:
            query = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
            pids = [row[0] for row in connection.execute(query)]
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        report = agent.next(events=[{"kind": "xid", "at": time.time(), "text": "while it stood still"}])
        waiting = threading.Thread(target=lambda: controller.report([report], agent.credential))
        waiting.start()
        waiting.join(2.0)
        assert waiting.is_alive(), "nothing is acknowledged that is not committed"
        for pid in pids:
            os.kill(pid, signal.SIGCONT)
        waiting.join(30.0)
        until(lambda: controller.report([report], agent.credential).status_code == 200, "it answers again")
        assert [one["detail"] for one in events(controller, "n1")] == ["while it stood still"]


def test_a_store_from_yesterday_is_reported_the_present_and_takes_nothing_twice(tmp_path: Path) -> None:
    """A real agent goes on with its numbers; what it failed in the lost time is told anew, and acted upon."""
    with world(tmp_path, agents=1) as made:
        [agent] = made.agents
        agent.say()
        made.settled()
        until(lambda: verdicts(made.leader(), "n1"), "its verdicts are known")
        made.kill_controller(0)
        yesterday = {path: path.read_bytes() for path in tmp_path.glob("holdfast.db*") if path.suffix != ".lock"}
        made.restart_controller(0)

        agent.say()  # stored, acknowledged, and lost with the restore
        broken = agent.twin.gpu_functions()[2].address
        agent.twin.say([f"NVRM: Xid (PCI:{broken}): 79, pid=7, GPU has fallen off the bus."], time.time())
        until(lambda: verdicts(made.leader(), "n1").get("gpu.xid") == "fail", "it fails")
        until(lambda: not agent.spooled().count('"session"'), "all of it is acknowledged")
        made.kill_controller(0)
        for path in tmp_path.glob("holdfast.db*"):
            path.unlink()
        for path, text in yesterday.items():
            path.write_bytes(text)
        agent.say()  # waits in the spool

        made.restart_controller(0)
        until(lambda: verdicts(made.leader(), "n1").get("gpu.xid") == "fail", "the present is told anew")
        agent.kernel_lines.pop(1)
        made.settled()
        made.agents[0].kill()
        made.verify_events()


def verdicts(controller: Controller, node: str) -> dict[str, str]:
    return {one["check"]: one["health"] for one in controller.get(f"/v1/nodes/{node}")["verdicts"]}


def test_an_uncordon_from_an_old_backup_is_not_believed(tmp_path: Path) -> None:
    """The node is tested again instead: who knows why it is closed by now."""
    touched = tmp_path / "touched"
    more = f'[actions]\nuncordon = "command"\n[command]\ncommands = {{ uncordon = ["touch", "{touched}"] }}\n'
    with running(tmp_path / "c", more=more, policy="") as controller:
        config = controller.config
    with closing(sqlite3.connect(tmp_path / "c" / "holdfast.db")) as store, store:
        store.execute(
            "INSERT INTO nodes (name, stage, pool, since, body) VALUES ('n1', 'ready', 'default', 1.0, ?)",
            ['{"name":"n1","stage":"ready","since":1.0,"tested_at":2.0,"tested_suite":"1"}'],
        )
        store.execute(
            "INSERT INTO actions (key, node, verb, cause, reason, at, state, attempts, due_at, detail) VALUES "
            "('n1:uncordon:1.000', 'n1', 'uncordon', '', 'passed', 1.0, 'proposed', 0, 0.0, '')"
        )
    (tmp_path / "c" / "policy.toml").write_text("dry_run = false\n")
    controller = start(config)
    try:
        until(lambda: controller.get("/healthz")["leading"], "it leads")
        controller.reaches("n1", "testing")
        assert [one for one in controller.node_history("n1") if one["title"] == "uncordon abandoned"]
    finally:
        controller.kill()
    assert not touched.exists()

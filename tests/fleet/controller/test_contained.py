"""An exception of a loop, a source or an alert is contained, reported as the controller's own health, and retried."""

import asyncio
import logging
import socket
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.fleet.api.board import Board
from holdfast.fleet.controller import server
from holdfast.fleet.controller.backends import Backends
from holdfast.fleet.controller.contained import keep_running, report_components
from holdfast.fleet.controller.lead import Lead
from holdfast.fleet.controller.seams.facility import Facility
from holdfast.fleet.controller.service import ControllerService
from holdfast.fleet.controller.settings import Controlling, Listening
from holdfast.fleet.controller.transaction import ReportWork
from holdfast.fleet.controller.writer import Writer
from holdfast.fleet.decisions.lifecycle.policy import Policy
from holdfast.fleet.decisions.timers import Timers
from holdfast.fleet.incidents.window import SeamWindow
from holdfast.fleet.notifications import alertmanager as alerts_module
from holdfast.fleet.notifications.alertmanager import AlertHook, Alerts, AlertSettings
from holdfast.fleet.store import Store
from holdfast.model.incident import Incident, IncidentState
from holdfast.model.lifecycle import EventKind, NodeEvent, NodeState, Stage
from holdfast.model.records import LifecycleStep, Transition
from holdfast.model.signal import Reading, Signal
from holdfast.runtime import http
from holdfast.runtime.components import LONGEST_PAUSE_SECONDS, Components, pause_after
from tests.counts import draws
from tests.stores import new_store
from tests.waiting import until


class Unprintable(Exception):
    def __str__(self) -> str:
        raise ValueError("no text")


ERRORS: list[BaseException] = [
    ValueError("401 digits"),
    OverflowError("int too large to convert to float"),
    RecursionError(),
    MemoryError(),
    UnicodeEncodeError("latin-1", "поезд", 0, 1, "ordinal not in range"),
    KeyError("missing"),
    OSError(24, "Too many open files"),
    ZeroDivisionError(),
    Unprintable(),
    asyncio.CancelledError(),
    StopAsyncIteration(),
    Exception("\ud800"),
]
IN_A_THREAD = [*ERRORS, SystemExit(1), KeyboardInterrupt(), GeneratorExit(), StopIteration()]
errors = st.sampled_from(ERRORS)


@pytest.fixture(scope="module", autouse=True)
def no_log() -> Iterator[None]:
    """What is raised here cannot be encoded, and test workers send their log to each other."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@given(st.lists(errors, min_size=1, max_size=5))
def test_a_loop_that_raises_anything_starts_again(raised: list[BaseException]) -> None:
    components, starts, pauses = Components(), [], []

    async def loop() -> None:
        starts.append(1)
        if len(starts) <= len(raised):
            raise raised[len(starts) - 1]
        await asyncio.Event().wait()

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    async def run() -> None:
        task = asyncio.create_task(keep_running(components, "x", loop, sleep))
        while len(starts) <= len(raised):
            await asyncio.sleep(0)
            assert not task.done(), "it does not start again"
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        assert task.cancelled(), "a controller that ends can end its loops"

    asyncio.run(run())
    [view] = components.failing
    assert (view.name, view.failures, view.total) == ("x", len(raised), len(raised))
    assert pauses == [pause_after(number + 1) for number in range(len(raised))]


def test_a_loop_that_ends_by_itself_has_failed() -> None:
    components = Components()

    async def loop() -> None:
        return None

    async def run() -> None:
        task = asyncio.create_task(keep_running(components, "x", loop))
        while not components.failing:
            await asyncio.sleep(0)
        task.cancel()

    asyncio.run(run())
    assert "ended" in components.failing[0].error


def test_pauses_grow_to_a_minute() -> None:
    assert [pause_after(number) for number in (1, 2, 3, 6, 7, 10_000)] == [1, 2, 4, 32, 60, LONGEST_PAUSE_SECONDS]


class Raising:
    every, deadline, carries = 0.01, 5.0, ()

    def __init__(self, name: str, raised: BaseException | None = None, value: Any = 1.0) -> None:
        self.name, self.raised, self.value, self.reads = name, raised, value, 0

    def read(self, now: float) -> Reading:
        self.reads += 1
        if self.raised is not None:
            raise self.raised
        return Reading(source=self.name, at=now, signals=[Signal("cdu/c1", "cdu_flow_litres_per_minute", self.value)])


@pytest.mark.parametrize("raised", IN_A_THREAD, ids=lambda one: type(one).__name__)
def test_a_source_that_raises_anything_is_blind_and_the_others_are_read(raised: BaseException) -> None:
    bad, good, components = Raising("bad", raised), Raising("good"), Components()

    async def run() -> None:
        facility = Facility([bad, good], SeamWindow(lambda: 1e9), lambda at: at, components)
        task = asyncio.create_task(facility.run())
        while not components.failing or good.reads < 3:
            await asyncio.sleep(0.001)
        assert not task.done()
        assert facility.views["bad"].blind
        assert not facility.views["good"].blind
        task.cancel()

    asyncio.run(run())
    assert components.failing[0].name == "bad"


@pytest.mark.parametrize("value", [10**400, -(10**400), float("nan"), float("inf")])
def test_a_source_with_an_impossible_number_leaves_the_others_running(value: Any) -> None:
    bad, good = Raising("bad", value=value), Raising("good")

    async def run() -> None:
        task = asyncio.create_task(Facility([bad, good], SeamWindow(lambda: 1e9), lambda at: at).run())
        while not bad.reads or good.reads < 3:
            await asyncio.sleep(0.001)
        assert not task.done()
        task.cancel()

    asyncio.run(run())


@pytest.fixture
def hook() -> Iterator[tuple[str, list[dict[str, str]]]]:
    """A webhook on loopback, and the headers of what it was sent."""
    taken: list[dict[str, str]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            taken.append(dict(self.headers))
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None: ...

    listening = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=listening.serve_forever, args=(0.01,), daemon=True).start()
    yield f"http://127.0.0.1:{listening.server_port}/hook", taken
    listening.shutdown()
    listening.server_close()


def incident(subject: str) -> Incident:
    return Incident(id=f"{subject}@1.000", opened=1.0, subject=subject, parent=subject, cause="gpu.slow")


def sent(alerts: Alerts, incidents: list[Incident], enough: Callable[[], bool]) -> None:
    async def run() -> None:
        alerts.stand(incidents)
        task = asyncio.create_task(alerts.run())
        while not enough():
            assert not task.done()
            await asyncio.sleep(0.001)
        task.cancel()

    asyncio.run(run())


@pytest.mark.parametrize("name", ["поезд-日本語", "a\r\nX-Injected: 1", "\x00\x7f", "\ud800", "100 %", "llama"])
def test_an_alert_of_a_job_with_any_name_is_delivered(name: str, hook: tuple[str, list[dict[str, str]]]) -> None:
    url, taken = hook
    alerts = Alerts(AlertSettings(webhook=(AlertHook(url=url),)))
    sent(alerts, [incident(f"job/{name}")], lambda: bool(taken or alerts.components.failing))
    assert not alerts.components.failing
    assert "X-Injected" not in taken[0]


@given(st.text(st.characters()), st.text(st.characters()))
def test_a_header_is_ascii_and_reports_two_texts_apart(one: str, other: str) -> None:
    assert http.header(one).isascii()
    assert http.header(one).isprintable()
    assert (http.header(one) == http.header(other)) == (one == other)


@pytest.mark.parametrize("raised", IN_A_THREAD, ids=lambda one: type(one).__name__)
def test_an_alert_that_raises_anything_leaves_the_others_sent(
    raised: BaseException, hook: tuple[str, list[dict[str, str]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    url, taken = hook
    deliver = alerts_module._deliver

    def broken(post: Any) -> tuple[str, bool]:
        if post.hook.url.endswith("/broken"):
            raise raised
        return deliver(post)

    monkeypatch.setattr(alerts_module, "_deliver", broken)
    alerts = Alerts(AlertSettings(webhook=(AlertHook(url=f"{url}/broken"), AlertHook(url=url))))
    sent(alerts, [incident("job/a")], lambda: bool(taken) and bool(alerts.components.failing))
    assert alerts.components.failing[0].name.endswith("/broken")


@pytest.mark.parametrize("raised", ERRORS[:: draws(8, 1)], ids=lambda one: type(one).__name__)
def test_the_controller_answers_while_all_its_loops_raise(
    raised: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken() -> None:
        raise raised

    known = server._Process._loops
    names: set[str] = set()

    def all_broken(self: Any, *arguments: Any) -> dict[str, Callable[[], Awaitable[None]]]:
        names.update(known(self, *arguments))
        return dict.fromkeys(names, broken)

    monkeypatch.setattr(server._Process, "_loops", all_broken)
    store = Store.open(new_store(tmp_path / "holdfast.db"))
    settings = Controlling(base=Listening(store=f"sqlite:///{tmp_path}/holdfast.db", listen="127.0.0.1:0"))

    async def run() -> dict[str, Any]:
        listener = socket.create_server(("127.0.0.1", 0))
        process = server._Process(settings, Policy(), Backends(settings), store, listener)
        task = asyncio.create_task(process.run(None))
        async with httpx.AsyncClient(trust_env=False) as client:
            while True:
                assert not task.done()
                with suppress(httpx.TransportError):
                    answer = (await client.get(f"{process.address}/healthz")).json()
                    if len(answer["failing"]) >= len(names) and answer["leading"]:
                        break
                await asyncio.sleep(0.02)  # or asking takes the time from the loops
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return dict(answer)

    try:
        assert set(asyncio.run(run())["failing"]) == names
        assert names >= {"actor", "stream", "standby", "retention", "own-health", "home", "inbox history"}
    finally:
        store.close()


def test_what_keeps_failing_is_an_incident_until_it_works(tmp_path: Path) -> None:
    store = Store.open(new_store(tmp_path / "holdfast.db"))

    async def run() -> None:
        board = Board(Policy())
        service = ControllerService(store, board)
        writer = Writer(store, Policy(), Lead("test", ""), service.publish, components=board.components)
        rounds: asyncio.Queue[None] = asyncio.Queue()

        async def round_by_round(_: float) -> None:
            await rounds.get()

        writer.start()
        task = asyncio.create_task(report_components(board.components, writer, round_by_round))

        async def seen(state: IncidentState, subject: str) -> None:
            rounds.put_nowait(None)
            while subject not in {one.subject for one in store.incidents(state)}:
                await asyncio.sleep(0.001)

        board.components.failed("promql", "one hiccup")
        board.components.succeeded("promql")
        for _ in range(3):
            board.components.failed("snmp pdu/1", ValueError("expected 3 values"))
        await seen(IncidentState.OPEN, "controller/snmp pdu/1")
        [opened] = store.incidents(IncidentState.OPEN)
        assert "expected 3 values" in opened.reason
        board.components.succeeded("snmp pdu/1")
        await seen(IncidentState.CLOSED, "controller/snmp pdu/1")
        assert not store.incidents(IncidentState.OPEN)
        task.cancel()
        await asyncio.to_thread(writer.stop)

    asyncio.run(run())
    store.close()


def test_timers_that_raise_are_reported_and_reports_are_still_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store.open(new_store(tmp_path / "holdfast.db"))
    monkeypatch.setattr("holdfast.fleet.decisions.fleet.Fleet.tick", lambda *_: 1 / 0)

    async def run() -> None:
        board = Board(Policy())
        service = ControllerService(store, board)
        writer = Writer(store, Policy(), Lead("test", ""), service.publish, components=board.components)
        writer.start()
        until(lambda: any(one.name == "timers" for one in board.components.failing), "the timers fail")
        assert await writer.ask(ReportWork(lambda transaction, fresh: 7)) == 7
        assert any(one.name == "timers" for one in board.components.failing), "another's success is not theirs"
        await asyncio.to_thread(writer.stop)

    asyncio.run(run())
    store.close()


def test_a_decision_that_raises_is_reported_and_the_others_are_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store.open(new_store(tmp_path / "holdfast.db"))
    epoch = store.lead("before", 0.0) or 0
    event = NodeEvent(kind=EventKind.JOB_ENDED)
    for name in ("odd", "well"):
        node = NodeState(name=name, stage=Stage.CLEANING)
        moved = Transition(node=name, at=0.0, before=node.stage, after=node.stage, event=event, reason="")
        store.transit_all([LifecycleStep(node=node, transition=moved)], epoch)
    known = Timers._next_for

    def next_for(timers: Timers, node: NodeState, now: float) -> list[LifecycleStep]:
        steps = known(timers, node, now)
        return steps if node.name != "odd" else steps[: 1 // 0]

    monkeypatch.setattr(Timers, "_next_for", next_for)

    async def run() -> None:
        board = Board(Policy())
        service = ControllerService(store, board)
        writer = Writer(store, Policy(), Lead("test", ""), service.publish, components=board.components)
        writer.start()

        def stages() -> dict[str, Stage]:
            return {one.name: one.stage for one in store.nodes()}

        until(lambda: stages()["well"] is Stage.TESTING, "the other node is tested")
        until(lambda: any(one.name == "decisions" for one in board.components.failing), "the mistake is reported")
        [failing] = board.components.failing
        assert failing.error.startswith("odd: ")
        assert stages()["odd"] is Stage.CLEANING
        await asyncio.to_thread(writer.stop)

    asyncio.run(run())
    store.close()

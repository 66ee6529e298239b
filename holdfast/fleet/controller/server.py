"""The controller process: joins store, writer, actor, observer and HTTP until a signal stops it."""

import asyncio
import fcntl
import gc
import ipaddress
import logging
import os
import resource
import signal
import socket
import sys
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from dataclasses import fields
from functools import partial
from pathlib import Path
from types import FrameType
from uuid import uuid4

import uvicorn

from holdfast.fleet.api.app import Front
from holdfast.fleet.api.board import Board
from holdfast.fleet.api.connections import Connections, HandshakeLoop, limited
from holdfast.fleet.api.oidc import OidcClient
from holdfast.fleet.api.problem import Problem
from holdfast.fleet.console import static_directory
from holdfast.fleet.controller import bootstrap, commands, standby
from holdfast.fleet.controller.actor import Actor
from holdfast.fleet.controller.backends import Backends
from holdfast.fleet.controller.contained import keep_running, report_components
from holdfast.fleet.controller.lead import Lead
from holdfast.fleet.controller.observe_kubernetes import observe_kubernetes
from holdfast.fleet.controller.observer import observe_slurm
from holdfast.fleet.controller.operators.loops import follow_inbox
from holdfast.fleet.controller.seams import settings as seam_settings
from holdfast.fleet.controller.seams.settings import SeamFiles
from holdfast.fleet.controller.service import ControllerService
from holdfast.fleet.controller.settings import Controlling, Listening, clear_text
from holdfast.fleet.controller.transaction import ReportWork
from holdfast.fleet.controller.writer import Writer
from holdfast.fleet.decisions.lifecycle.policy import Policy
from holdfast.fleet.facility.promql_range import PromqlRange
from holdfast.fleet.jobs.agent_jobs import AgentJobs
from holdfast.fleet.notifications.alertmanager import Alerts
from holdfast.fleet.notifications.notifier import Notifier
from holdfast.fleet.notifications.outbox import Outbox
from holdfast.fleet.policy import file as policy_file
from holdfast.fleet.store import Store, StoreError
from holdfast.model.settings import SettingsError
from holdfast.runtime import clock
from holdfast.runtime.free_memory import return_free_memory, trimmer, use_one_arena

log = logging.getLogger("holdfast.fleet.controller")
BACKLOG = 4_096
LONGEST_DIFFERENCE = 900
GARBAGE = (50_000, 20, 50)  # a full collection over 12,500 connections takes long and frees almost nothing
# the writer queries the store often and briefly; each time it may wait this long for the interpreter
SWITCH_SECONDS = 0.0005


Loop = Callable[[], Awaitable[None]]


class Taken(StoreError):
    """Another controller on this machine uses the file."""


class WildClock(StoreError):
    """The machine's clock is far ahead of everything stored."""


def serve(
    settings: Controlling,
    ready: Callable[[str], None] | None = None,
    ending: Callable[[], Coroutine[None, None, None]] | None = None,
) -> None:
    """Blocks until SIGINT or SIGTERM. `ready` is called with the address when it listens. `ending` is awaited before it
    stops answering, so that clients can end first."""
    policy = policy_file.load(settings.base.policy) if settings.base.policy else Policy()
    files = seam_settings.read(settings.seams) if settings.seams is not None else None
    backends = Backends(settings)
    _allow_many_connections()
    use_one_arena()
    sys.setswitchinterval(SWITCH_SECONDS)
    gc.set_threshold(*GARBAGE)
    with _listening(settings.base.listen) as listener:
        if danger := clear_text(settings.base, listener.getsockname()[0]):
            log.warning("%s", danger)
        store = Store.open(settings.base.store)
        lock = _only_one(settings.base.store)
        try:
            _refuse_wild_clock(store, settings.base)
            if settings.base.admin_token_file:
                bootstrap.admin_token(store, Path(settings.base.admin_token_file))
            with asyncio.Runner(loop_factory=HandshakeLoop) as runner:
                runner.run(_Process(settings, policy, backends, store, listener, files).run(ready, ending))
        finally:
            store.close()
            if lock is not None:
                os.close(lock)


def _refuse_wild_clock(store: Store, base: Listening) -> None:
    """Refuses to start with a clock that is far ahead. Such a controller would find every credential expired, delete
    history and user tokens, and store times that it must continue from. Waiting does no harm: agents keep their
    reports."""
    ahead = clock.now() - max(store.heartbeats().values(), default=clock.now())
    if not base.demo and ahead > base.longest_stop_days * 86_400:
        raise WildClock(
            f"the machine's clock is {ahead / 86_400:.0f} days ahead of the newest stored report; correct it, or set "
            f"longest_stop_days if the controller was stopped that long (now {base.longest_stop_days:g})"
        )


def reads_without_token(base: Listening, host: str) -> bool:
    """Whether reading needs no token: only in a demo that listens on the loopback address."""
    return base.demo and ipaddress.ip_address(host).is_loopback


class _Process:
    def __init__(
        self,
        settings: Controlling,
        policy: Policy,
        backends: Backends,
        store: Store,
        listener: socket.socket,
        files: SeamFiles | None = None,
    ) -> None:
        self._settings, self._backends, self._store, self._listener = settings, backends, store, listener
        self._files = files
        self._board = Board(policy, demo=settings.base.demo, time_factor=settings.base.time_factor)
        self.address = settings.base.address or _address(listener, bool(settings.base.certificate))
        # A SQLite file has one controller (see _only_one), so it need not wait for the lease of its earlier run.
        holder = "sqlite" if settings.base.store.startswith("sqlite") else uuid4().hex
        kubernetes = backends.kubernetes
        self._lease = kubernetes.lease(f"{socket.gethostname()}_{uuid4().hex}") if kubernetes is not None else None
        self._lead = Lead(holder, "" if holder == "sqlite" else self.address, lease=self._lease)

    async def run(
        self, ready: Callable[[str], None] | None, ending: Callable[[], Coroutine[None, None, None]] | None = None
    ) -> None:
        base = self._settings.base
        console = base.console or str(static_directory() or "")
        anonymous = reads_without_token(base, self._listener.getsockname()[0])
        service = ControllerService(
            self._store, self._board, console, anonymous=anonymous, new_nodes_per_hour=base.new_nodes_per_hour
        )
        scheduled = self._backends.scheduler is not None
        writer = Writer(
            self._store,
            self._board.policy,
            self._lead,
            service.publish,
            scheduled=scheduled,
            components=self._board.components,
        )
        actor = Actor(writer, self._backends)
        service.writer, service.acting = writer, actor.wake
        service.address = self.address
        if self._settings.oidc is not None:
            service.oidc = OidcClient(self._settings.oidc, f"{self.address}/v1/session/oidc/callback")
        if self._settings.history is not None:
            service.prometheus = PromqlRange(self._settings.history)
        service.agent_jobs = None if scheduled else AgentJobs()
        server = _Quiet(_config(Front(service), base), partial(_let_go, service), ending)
        if self._lease is not None:
            self._lease.start()
        writer.start()
        starts = self._loops(service, actor, writer) | self._seams(service, writer) | self._notifications(service)
        components = self._board.components
        loops = [asyncio.create_task(keep_running(components, name, start)) for name, start in starts.items()]
        self._on_hangup(writer)
        server.watch_signals()
        if ready is not None:
            ready(self.address)
        log.info("listening on %s", self.address)
        try:
            await server.serve([self._listener])
        finally:
            for loop in loops:
                loop.cancel()
            actor.stop()
            await service.drills.close()
            await asyncio.gather(*loops, return_exceptions=True)
            await asyncio.to_thread(writer.stop)
            if self._lease is not None:
                await asyncio.to_thread(self._lease.stop)

    def _loops(self, service: ControllerService, actor: Actor, writer: Writer) -> dict[str, Loop]:
        """The loops, by the component name under which failures are reported."""
        board, store, base = self._board, self._store, self._settings.base
        loops: dict[str, Loop] = {
            "actor": actor.run,
            "stream": partial(standby.show_fleet, board),
            "standby": partial(standby.read_while_another_leads, board, store),
            "retention": partial(standby.delete_expired, writer, base.retain_days),
            "own-health": partial(report_components, board.components, writer),
            "home": service.home.run,
            "inbox history": service.inbox_history.run,
        }
        if (trim := trimmer()) is not None:
            loops["memory"] = partial(return_free_memory, trim)
        if self._backends.slurm is not None:
            loops["slurm"] = partial(
                observe_slurm, self._backends.slurm, writer, base.observe_seconds, board.components, store
            )
        if self._backends.kubernetes is not None:
            loops["kubernetes"] = partial(
                observe_kubernetes, self._backends.kubernetes, writer, base.observe_seconds, board.components, store
            )
        return loops

    def _seams(self, service: ControllerService, writer: Writer) -> dict[str, Loop]:
        """The loops of the seams: rules, facility devices and alerts. None if the configuration has no [seams]."""
        settings, base = self._settings, self._settings.base
        if settings.seams is None or self._files is None:
            return {}
        from holdfast.fleet.controller.seams.loop import SeamWatch  # imports NumPy, so only with [seams]

        alerts = Alerts(settings.alerts, self._board.components)
        factor = base.time_factor if base.demo else 1.0
        service.items.prices = self._files.business_context.prices
        service.seams = SeamWatch(settings.seams, self._files, alerts, self._store, self._board, factor)
        return {
            "seams": partial(service.seams.run, writer),
            "facility": partial(service.seams.facility.run, factor),
            "alerts": alerts.run,
        }

    def _notifications(self, service: ControllerService) -> dict[str, Loop]:
        """The loops that send notifications about the inbox, if a channel is configured."""
        settings = self._settings.notifications
        if not settings.channels:
            return {}
        outbox = Outbox(settings.channels)
        notifier = Notifier(settings.timing, settings.address or self.address)
        return {"notifications": outbox.run, "notifier": partial(follow_inbox, service, notifier, outbox)}

    def _on_hangup(self, writer: Writer) -> None:
        path = self._settings.base.policy
        if not path:
            return

        def reload() -> None:
            before = writer.policy
            try:
                writer.policy = self._board.policy = policy_file.load(path)
            except SettingsError as error:
                log.error("the new policy was refused and the old one stays: %s", error)
                return
            log.info("the policy was reloaded from %s", path)
            with suppress(Problem):  # the queue is full; the log has the event
                writer.put(ReportWork(partial(commands.policy_changed, _difference(before, writer.policy))))

        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, reload)


def _let_go(service: ControllerService) -> None:
    """Ends every stream, because event streams never end themselves."""
    service.board.let_go()
    service.drills.let_go()


def _difference(before: Policy, after: Policy) -> str:
    """The settings that changed, by name and value."""
    changed = [
        f"{one.name} {getattr(before, one.name)!r} -> {getattr(after, one.name)!r}"
        for one in fields(Policy)
        if getattr(before, one.name) != getattr(after, one.name)
    ]
    return "; ".join(changed)[:LONGEST_DIFFERENCE] or "no difference"


class _Quiet(uvicorn.Server):
    """A uvicorn server that leaves the signal to us; uvicorn would raise it again and skip our clean-up.

    Event streams never end by themselves, so their clients are disconnected first.
    """

    def __init__(
        self,
        config: uvicorn.Config,
        let_go: Callable[[], None],
        ending: Callable[[], Coroutine[None, None, None]] | None = None,
    ) -> None:
        super().__init__(config)
        self._let_go, self._ending = let_go, ending
        self._waits: asyncio.Task[None] | None = None

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """A second signal does not wait any longer."""
        if self._ending is None or self._waits is not None:
            self._exit(sig, frame)
            return
        self._waits = asyncio.get_running_loop().create_task(self._ending())
        self._waits.add_done_callback(lambda _: self._exit(sig, frame))

    def _exit(self, sig: int, frame: FrameType | None) -> None:
        super().handle_exit(sig, frame)
        self._let_go()

    def watch_signals(self) -> None:
        """Called before `ready`, because a caller may stop the server as soon as it listens."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self.handle_exit, number, None)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def _config(front: Front, base: Listening) -> uvicorn.Config:
    config = uvicorn.Config(
        front,
        http=limited(Connections(base.connections_per_address)),
        ws="none",
        proxy_headers=False,  # a local client must not choose the address from which it enrols
        ssl_certfile=base.certificate or None,
        ssl_keyfile=base.key or None,
        log_config=None,
        access_log=False,
        lifespan="off",
        server_header=False,
        backlog=BACKLOG,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=2,
    )
    config.load()
    if config.ssl is not None:
        config.ssl.num_tickets = 0  # no agent resumes a session: each keeps its connection
    return config


def _allow_many_connections() -> None:
    """Raises the limit of open files: each agent keeps one connection, and the default of a shell is about a
    thousand."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def _listening(listen: str) -> socket.socket:
    host, _, port = listen.rpartition(":")
    host = host.strip("[]")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Named in full: asyncio switches off the waiting for fuller packets only where it reads "TCP".
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, int(port)))
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        raise SettingsError(f"cannot listen on {listen}: {error.strerror or error}") from None
    return listener


def _address(listener: socket.socket, tls: bool) -> str:
    host, port = listener.getsockname()[:2]
    shown = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)
    return f"{'https' if tls else 'http'}://{shown}:{port}"


def _only_one(url: str) -> int | None:
    """Locks the SQLite store for one controller. Two would each believe that they are the only writer."""
    if not url.startswith("sqlite:///"):
        return None
    path = url.removeprefix("sqlite:///") + ".lock"
    lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        raise Taken(f"another controller uses {url.removeprefix('sqlite:///')}; SQLite serves one") from None
    return lock

"""A controller's API as the console sees it: the contract over a fleet that tests change at will."""

import json
import mimetypes
import queue
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, fields
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import msgspec

from holdfast.economics.costs.finding import Prices
from holdfast.fleet.api import runbook
from holdfast.fleet.api.views.show import incident_view
from holdfast.fleet.inbox.incident_figures import incident_figures
from holdfast.fleet.jobs.views import TrainingView
from holdfast.model.incident import Incident

from . import contract

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; "
    "connect-src 'self'; base-uri 'none'"
)
STAGES = (
    "ready",
    "allocated",
    "testing",
    "cleaning",
    "draining",
    "quarantined",
    "resetting",
    "provisioning",
    "removed",
)
NODES_PER_RACK, RACKS_PER_LEAF, RACKS_PER_LOOP = 16, 2, 4
CAP = 4
CHECKED_BYTES = 500_000  # an answer of 100,000 rows would take minutes
IN_LIST = tuple(one.name for one in fields(TrainingView))

View = dict[str, Any]
SAMPLE = {
    "at": 0.0,
    "nodes": 64,
    "in_service": 60,
    "gpus": 512,
    "productive": 400.0,
    "lost": 32.0,
    "cost_per_hour": 75.0,
}
HOME = {
    "figures": {"now": SAMPLE, "lost_gpu_hours": 96.0, "lost_cost": 225.6, "goodput": 0.78, "covers_seconds": 10_800.0},
    "currency": "USD",
    "history": [{**SAMPLE, "at": float(at), "productive": 400.0 - at} for at in range(5)],
}


def item(name: str, **more: Any) -> View:
    """A node that waits for an operator."""
    made: View = {
        "key": f"node/{name}@5",
        "kind": "node",
        "subject": f"node/{name}",
        "title": f"{name} waits for an operator",
    }
    made |= {
        "detail": "2 repair steps did not help",
        "since": time.time() - 600,
        "severity": "warning",
        "owner": "hardware",
    }
    made |= {"on_call": "", "remedy": "replace GPU 3", "runbook": "", "commands": [f"holdfast node release {name}"]}
    made |= {"members": [], "grouped": [], "gpus_lost": 8.0, "cost_so_far": 3.1, "cost_per_hour": 18.8}
    made |= {"currency": "USD", "state": "open", "acknowledged_by": "", "acknowledged_at": None, "assignee": ""}
    return made | {"muted_until": None, "resolved_by": "", "resolved_at": None} | more


@dataclass
class MockFleet:
    size: int
    token: str = ""
    nodes: dict[str, View] = field(default_factory=dict)
    histories: dict[str, list[View]] = field(default_factory=dict)
    streams: set["queue.Queue[bytes | None]"] = field(default_factory=set)
    incidents: dict[str, View] = field(default_factory=dict)
    moves: list[View] = field(default_factory=list)
    answering: bool = True
    asked: list[str] = field(default_factory=list)
    role: str = "viewer"
    anonymous: bool = False
    """Who brings no token may look."""
    brake: str = ""
    """Why no more nodes may be taken out, unless with force."""
    wished: list[tuple[str, ...]] = field(default_factory=list)
    jobs: dict[str, View] = field(default_factory=dict)
    items: list[View] = field(default_factory=list)
    acted: list[View] = field(default_factory=list)
    verdicts: int = 0
    """More on each unwell node."""
    probes: View = field(default_factory=lambda: dict(PROBES))
    checked: bool = False
    """Compare answers with the API's document."""
    faults: list[str] = field(default_factory=list)
    """Where an answer was not what the API would have sent."""

    def __post_init__(self) -> None:
        now = time.time()
        for number in range(self.size):
            node = _node(number, self.size, now)
            self.nodes[node["name"]] = node
            self.histories[node["name"]] = [_entry(now - 600, "transition", "testing to ready", "the suite passed")]

    def change(self, name: str, *, stage: str = "", health: str = "", reason: str = "", quietly: bool = False) -> None:
        node, now = self.nodes[name], time.time()
        before = node["stage"]
        node.update(stage=stage or before, health=health or node["health"], reason=reason, since=now)
        entry = _entry(now, "transition", f"{before} to {node['stage']}", reason)
        self.histories[name].insert(0, entry)
        self.send("node", node)
        if not quietly:
            move = {"node": name, "at": now, "before": before, "after": node["stage"], "reason": reason}
            move |= {"event": "failed", "cause": node["cause"], "evidence": [], "by": "holdfast"}
            self.moves.append(move)
            self.send("transition", move)
            self.send("fleet", self.view())

    def inbox(self) -> View:
        states = [item["state"] for item in self.items]
        return {"items": self.items, "counts": {state: states.count(state) for state in set(states)}}

    def act(self, command: View) -> tuple[int, View]:
        if self.role != "operator":
            return 403, {"error": f"a token of role {self.role} may not operate"}
        item = next(one for one in self.items if one["key"] == command["item"])
        states = {"acknowledge": "acknowledged", "resolve": "resolved", "mute": "muted", "reopen": "open"}
        item["state"] = states.get(command["action"], item["state"])
        item["assignee"] = command.get("assignee", item["assignee"])
        return 200, item

    def listed(self, *, open_only: bool) -> list[View]:
        return [with_figures(one) for one in self.incidents.values() if one["state"] == "open" or not open_only]

    def incident(self, subject: str, reason: str, state: str = "open", **more: Any) -> None:
        result = {
            "id": subject,
            "opened": time.time(),
            "subject": subject,
            "reason": reason,
            "state": state,
            "cause": "",
        }
        result |= {"evidence": [], "closed": time.time() if state == "closed" else None, **more}
        self.incidents[subject] = result
        self.send("incident", result)

    def tell(self, name: str, entries: list[View]) -> None:
        self.histories[name] = entries + self.histories[name]

    def send(self, kind: str, data: View) -> None:
        if self.checked:
            self.faults += contract.event_faults(kind, data)
        message = f"event: {kind}\ndata: {json.dumps(data)}\n\n".encode()
        for stream in list(self.streams):
            stream.put(message)

    def hang_up(self) -> None:
        """End every stream and answer nothing until `answering` is set again."""
        self.answering = False
        for stream in list(self.streams):
            stream.put(None)

    def view(self) -> View:
        def count(key: str) -> dict[str, int]:
            values = [node[key] for node in self.nodes.values()]
            return {value: values.count(value) for value in set(values)}

        return {
            "nodes": len(self.nodes),
            "stages": count("stage"),
            "healths": count("health"),
            "pools": [self._pool(pool) for pool in sorted({node["pool"] for node in self.nodes.values()})],
            "dry_run": True,
            "demo": True,
            "time_factor": 1.0,
            "clock_began": 0.0,
        }

    def answers(self, *, open_only: bool = False) -> dict[str, tuple[int, View]]:
        """Of each path that is not about one node."""
        may = ["read", "operate"] if self.role == "operator" else ["read"]
        return {
            "refused": (401, {"error": "this token is not known"}),
            "fleet": (200, self.view()),
            "nodes": (200, {"nodes": list(self.nodes.values())}),
            "me": (200, {"name": "somebody", "role": self.role, "may": may}),
            "probes": (200, self.probes),
            "incidents": (200, {"incidents": self.listed(open_only=open_only)}),
            "inbox": (200, self.inbox()),
            "home": (200, HOME),
            **{f"inbox/{item['key']}": (200, {"item": item, "notes": []}) for item in self.items},
            "transitions": (200, {"transitions": self.moves}),
            "trainings": (200, {"jobs": [{key: job[key] for key in IN_LIST} for job in self.jobs.values()]}),
            **{f"trainings/{name}": (200, job) for name, job in self.jobs.items()},
            **{f"incidents/{name}": (200, with_figures(incident)) for name, incident in self.incidents.items()},
            **{f"runbooks/{name}": (200, _runbook(incident)) for name, incident in self.incidents.items()},
        }

    def _pool(self, pool: str) -> View:
        members = [node for node in self.nodes.values() if node["pool"] == pool]
        out = sum(node["stage"] in ("draining", "quarantined", "resetting") for node in members)
        cap = max(CAP, len(members) // 50)
        words = f"{out} of {len(members)} nodes of pool {pool} are out of service, {cap} may be"
        return {
            "pool": pool,
            "nodes": len(members),
            "out": out,
            "testing": sum(node["stage"] == "testing" for node in members),
            "cap": cap,
            "breaker_open": out >= cap,
            "reason": words,
            "spares_short": 0,
        }


def _node(number: int, size: int, now: float) -> View:
    rack = number // NODES_PER_RACK
    scatter = (number * 7919) % 997
    stage = "allocated" if scatter < 780 else STAGES[scatter % len(STAGES)] if scatter > 975 else "ready"
    health = "fail" if stage == "quarantined" else "degraded" if scatter % 97 == 3 else "pass"
    return {
        "name": f"n{number:05d}" if size > 1000 else f"n{number:03d}",
        "pool": "train" if number < size * 3 // 4 else "infer",
        "stage": stage,
        "since": now - scatter,
        "reason": "Xid 79 on GPU 3: fell off the bus" if health == "fail" else "",
        "cause": "gpu_lost" if health == "fail" else "",
        "health": "unknown" if scatter == 500 else health,
        "repair_step": 0,
        "tested_at": now - 900,
        "last_report_at": now,
        "degraded_by": "gpu_clocks" if health == "degraded" else "",
        "held": "",
        "place": {"rack": f"r{rack}", "leaf": f"l{rack // RACKS_PER_LEAF}", "loop": f"c{rack // RACKS_PER_LOOP}"},
        "jobs": [f"llama-{rack // 8}"] if stage == "allocated" else [],
        "twin": True,
    }


def _entry(at: float, kind: str, title: str, detail: str) -> View:
    return {"at": at, "kind": kind, "title": title, "detail": detail, "facts": {"by": "holdfast"}}


VERDICTS = [
    {"check": "gpu_xid", "health": "pass", "reason": "", "since": 1.7e9, "evidence": []},
    {"check": "gpu_temperature", "health": "pass", "reason": "", "since": 1.7e9, "evidence": []},
    {"check": "nvlink_errors", "health": "not_applicable", "reason": "", "since": 1.7e9, "evidence": []},
]


PARTS: View = {
    "times": [2e9 - 120, 2e9 - 60, 2e9],
    "gpus": [
        {
            "gpu": gpu,
            "signals": {"gpu_temperature_celsius": [61.0, None, 63.0 + gpu], "gpu_power_watts": [600.0, 610.0, 620.0]},
        }
        for gpu in range(8)
    ],
    "outages": [
        {
            "port": "node/n001/nic/mlx5_3/1",
            "began": 2e9 - 900,
            "ended": 2e9 - 860,
            "worst": "fail",
            "reason": "down 40 s",
        },
        {
            "port": "node/n001/nic/mlx5_4/1",
            "began": 2e9 - 60,
            "ended": None,
            "worst": "degraded",
            "reason": "<b>down</b>",
        },
    ],
    "tests": [{"at": 2e9 - 4000, "state": "done", "result": "pass: every check passed", "cause": "gpu.xid"}],
    "note": "",
}


PROBES: View = {
    "enabled": True,
    "at": 2e9,
    "period_seconds": 86400.0,
    "usual_bytes_per_second": 45e9,
    "sessions": 12,
    "pairs": 3,
    "proven": 2,
    "leaves": [
        {"one": "l0", "other": "l0", "proven_at": 2e9 - 60, "bytes_per_second": 45e9, "ratio": 1.0},
        {"one": "l0", "other": "l1", "proven_at": 2e9 - 600, "bytes_per_second": 20e9, "ratio": 0.44},
        {"one": "l1", "other": "l1", "proven_at": None, "bytes_per_second": None, "ratio": None},
    ],
    "suspects": [
        {
            "subject": "node/n007",
            "loss": 0.56,
            "confidence": 0.98,
            "confirmed": True,
            "slow": 3,
            "measured": 3,
            "evidence": [["n007 with n021", "20.0 GB/s"]],
        }
    ],
    "running": [{"one": "n001", "other": "n020", "why": "l0 and l1 are due", "since": 2e9 - 5}],
    "next": [],
    "troubles": [{"node": "n033", "at": 2e9 - 90, "reason": "set-up failed: no torch"}],
    "history": [
        {"at": 2e9 - 600 + 60 * at, "one": "n001", "other": "n020", "bytes_per_second": 45e9 - 2e9 * at}
        for at in range(8)
    ],
}


def _operator_actions(node: View) -> list[View]:
    out = node["stage"] in ("draining", "quarantined")
    return [
        _operator_action("quarantine", not out, "draining", ["drain"], "taken out by an operator"),
        _operator_action("release", out, "testing", ["retest"], "let back by an operator"),
        _operator_action("retest", True, "testing", ["retest"], "tested again"),
        _operator_action("remove", True, "removed", ["drain"], "a person has it"),
    ]


def _operator_action(request: str, possible: bool, stage: str, actions: list[str], description: str) -> View:
    if not possible:
        description, actions = f"{request} changes nothing", []
    return {"request": request, "possible": possible, "stage": stage, "actions": actions, "description": description}


def with_figures(incident: View) -> View:
    """As a list and its own page show it; the stream sends it without."""
    decoded = msgspec.convert(incident, Incident)
    view = incident_view(decoded, incident_figures(decoded, lambda _: 8, Prices(), time.time(), 1.0))
    return dict(msgspec.to_builtins(view))


def _runbook(incident: View) -> View:
    since = float(incident["opened"])
    book = runbook.filled(incident["cause"], incident["subject"], incident["evidence"], ["llama"], 1, since)
    return dict(msgspec.to_builtins(book))


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    fleet: MockFleet
    static: Path

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        self.fleet.asked.append(self.path)
        if not self.fleet.answering:
            self.close_connection = True
        elif url.path.startswith("/v1/"):
            self._api([unquote(part) for part in url.path.split("/")[2:]], parse_qs(url.query))
        else:
            self._file(url.path.lstrip("/") or "index.html")

    def do_POST(self) -> None:
        path = [unquote(part) for part in urlsplit(self.path).path.split("/")[2:]]
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if path == ["session"]:
            self._sign_in(body["token"])
            return
        if path == ["inbox"]:
            self.fleet.acted.append(body)
            self._json(*self.fleet.act(body))
            return
        self.fleet.wished.append((*path, body["reason"], *(["force"] if body["force"] else [])))
        if self.fleet.role != "operator":
            self._json(403, {"error": f"a token of role {self.fleet.role} may not operate"})
            return
        if self.fleet.brake and not body["force"]:
            self._json(409, {"error": self.fleet.brake, "code": "breaker"})
            return
        self.fleet.change(path[1], stage="draining", reason=body["reason"])
        self._json(200, self.fleet.nodes[path[1]])

    def do_DELETE(self) -> None:
        self._json(200, self._session(signed_in=False), "session=; Max-Age=0; Path=/; HttpOnly")

    def _sign_in(self, token: str) -> None:
        if token != self.fleet.token:
            self._json(401, {"error": "this token is not known"})
            return
        self._json(200, self._session(signed_in=True), f"session={token}; Path=/; HttpOnly; SameSite=Strict")

    def _session(self, *, signed_in: bool) -> View:
        known = {"name": "somebody", "role": self.fleet.role, "may": ["read"]} if signed_in else {}
        shown = {"signed_in": signed_in, "name": "", "role": "", "may": [], "oidc": ""} | known
        return shown | {"open_reading": self.fleet.anonymous}

    def _signed_in(self) -> bool:
        return f"session={self.fleet.token}" in self.headers.get("Cookie", "").split("; ")

    def _api(self, path: list[str], query: dict[str, list[str]]) -> None:
        if path == ["session"]:
            self._json(200, self._session(signed_in=bool(self.fleet.token) and self._signed_in()))
            return
        if self.fleet.token and not self._signed_in() and not self.fleet.anonymous:
            path = ["refused"]
        if path == ["stream"]:
            self._stream()
        elif path[0] == "nodes" and len(path) > 1:
            self._node(path[1], path[2:], query)
        else:
            answer = self.fleet.answers(open_only="only" in query).get("/".join(path))
            self._json(*(answer or (404, {"error": f"there is no {'/'.join(path)} here"})))

    def _node(self, name: str, about: list[str], query: dict[str, list[str]]) -> None:
        node = self.fleet.nodes.get(name)
        if node is None:
            self._json(404, {"error": f"no node is called {name}"})
        elif about == ["history"]:
            self._history(self.fleet.histories[name], query)
        elif about == ["parts"]:
            self._json(200, PARTS)
        elif about == ["operator-actions"]:
            self._json(200, {"dry_run": False, "requests": _operator_actions(node)})
        else:
            self._json(200, {**node, "verdicts": self._verdicts(name), "verdicts_left_out": 0})

    def _verdicts(self, name: str) -> list[View]:
        node = self.fleet.nodes[name]
        wrong = {"check": "gpu_lost", "since": node["since"], "evidence": ["GPU 3 does not answer"]}
        wrong |= {"health": node["health"], "reason": node["reason"]}
        many = [{**wrong, "check": f"check.{number}"} for number in range(self.fleet.verdicts)]
        return VERDICTS if node["health"] == "pass" else [*VERDICTS, wrong, *many]

    def _history(self, entries: list[View], query: dict[str, list[str]]) -> None:
        first = int(query.get("before", ["0"])[0])
        last = first + int(query["limit"][0])
        self._json(200, {"entries": entries[first:last], "next": str(last) if last < len(entries) else ""})

    def _stream(self) -> None:
        messages: queue.Queue[bytes | None] = queue.Queue()
        self.fleet.streams.add(messages)
        self.close_connection = True
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(b"event: fleet\ndata: " + json.dumps(self.fleet.view()).encode() + b"\n\n")
        try:
            while (message := messages.get()) is not None:
                self.wfile.write(message)
        except OSError:
            pass  # the page left
        finally:
            self.fleet.streams.discard(messages)

    def _json(self, status: int, body: View, cookie: str = "") -> None:
        encoded = json.dumps(body).encode()
        if self.fleet.checked and len(encoded) < CHECKED_BYTES:
            self.fleet.faults += contract.faults(self.command, urlsplit(self.path).path, status, body)
        self._answer(status, "application/json", encoded, cookie)

    def _file(self, path: str) -> None:
        file = self.static / path
        if not file.is_file():
            self._answer(404, "text/plain", b"no such file")
        else:
            self._answer(200, mimetypes.guess_type(path)[0] or "application/octet-stream", file.read_bytes())

    def _answer(self, status: int, kind: str, body: bytes, cookie: str = "") -> None:
        self.send_response(status)
        if cookie:
            self.send_header("Set-Cookie", cookie)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Content-Security-Policy", POLICY)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Tests look at `asked` instead."""


class _Server(ThreadingHTTPServer):
    """Ends its connections with itself: Chromium opens some in advance and sends nothing over them for minutes."""

    daemon_threads = True

    def __init__(self, handler: type[BaseHTTPRequestHandler]) -> None:
        super().__init__(("127.0.0.1", 0), handler)
        self._connected: set[socket.socket] = set()

    def process_request(self, request: Any, client_address: Any) -> None:
        self._connected.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._connected.discard(request)
        super().shutdown_request(request)

    def server_close(self) -> None:
        super().server_close()
        for one in list(self._connected):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)


@contextmanager
def serving(fleet: MockFleet, static: Path) -> Iterator[str]:
    handler = type("Handler", (_Handler,), {"fleet": fleet, "static": static})
    server = _Server(handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/"
    finally:
        fleet.hang_up()
        server.shutdown()
        server.server_close()
        thread.join()

"""Simulated agents over HTTP, and an operator: nodes report, fail and recover while processes are killed."""

import json
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import httpx
from sqlalchemy import create_engine, text

from holdfast.fleet.store.sequence import StoredSequence
from tests.fleet.controller.running import until
from tests.fleet.controller.slurm_twin import NOT_ON_A_TWIN

# Nodes fail often and independently here: neither the breaker nor a shared cause may keep them in service.
POLICY = (
    "breaker_share = 1.0\nbreaker_nodes = 1000\nshared_nodes = 1000\nshared_first_seconds = 0\n"
    "repeat_offences = 100000\nrepeat_offender_score = 0\n"
)
# What an agent on simulated hardware cannot answer, so that its node passes the test.
WITHOUT = "".join(f'[checks."{check}"]\nenabled = false\n' for check in NOT_ON_A_TWIN)
IN_SERVICE = frozenset({"ready", "allocated"})
OUT = frozenset({"draining", "quarantined", "removed"})
TIMEOUT_SECONDS = 300.0


class Member(threading.Thread):
    """One node's agent: sends each report until it is acknowledged, and answers each order once."""

    def __init__(self, name: str, urls: Sequence[str], credential: str, *, fails: bool, pause: float) -> None:
        super().__init__(daemon=True)
        self.name, self.fails, self.pause = name, fails, pause
        self.broken, self.calm = False, True
        self.acknowledged: dict[int, str] = {}  # by number: when, and by whom, so that a lost one can be traced
        self.lines: set[int] = set()  # numbers of reports with an event
        self.tally: Counter[str] = Counter()
        self._urls, self._which = list(urls), 0
        self._chance, self._ended = random.Random(name), threading.Event()
        self._http = httpx.Client(trust_env=False, timeout=4.0, headers={"Authorization": f"Bearer {credential}"})
        self._seq, self._waiting, self._answered = 0, list[dict[str, Any]](), set[int]()

    def run(self) -> None:
        while not self._ended.is_set():
            if len(self._waiting) < 40:
                self._live()
            self._send()
            self._ended.wait(self._chance.uniform(0.5, 1.5) * self.pause)
        self._http.close()

    def end(self) -> None:
        self._ended.set()
        self.join()

    @property
    def quiet(self) -> bool:
        return self.calm and not self.broken and not self._waiting

    def _live(self) -> None:
        if self.calm and not self.broken:
            self._say(heartbeat=True)
        elif self.broken and (self.calm or self._chance.random() < 0.2):
            self._turn("fail", "pass", "no Xid since the reset")
        elif self.fails and not self.broken and self._chance.random() < 0.05:
            self._turn("pass", "fail", "gpu 3: Xid 79")
        else:
            self.lines.add(self._seq + 1)
            self._say(heartbeat=True, events=[{"kind": "xid", "at": time.time(), "text": f"line {self._seq + 1}"}])

    def _turn(self, before: str, after: str, reason: str) -> None:
        self.broken = after == "fail"
        self.tally["failures"] += self.broken
        change = {"at": time.time(), "check": "gpu.xid", "before": before, "after": after, "reason": reason}
        self._say(changes=[change])

    def _say(self, **facts: Any) -> None:
        self._seq += 1
        self._waiting.append({"node": self.name, "session": "s1", "seq": self._seq, "at": time.time(), **facts})

    def _send(self) -> None:
        batch = self._waiting[:20]
        if not batch:
            return
        try:
            reply = self._http.post(f"{self._urls[self._which]}/v1/reports", json=batch)
        except httpx.HTTPError as error:
            self.tally[type(error).__name__] += 1
            self._which = (self._which + 1) % len(self._urls)
            return
        self.tally[str(reply.status_code)] += 1
        if reply.status_code != 200:
            self._which = (self._which + 1) % len(self._urls)
            return
        result = f"{time.strftime('%H:%M:%S')} by {self._urls[self._which]}"
        self.acknowledged |= {report["seq"]: result for report in batch}
        del self._waiting[: len(batch)]
        for order in reply.json()["orders"]:
            self._answer(order)

    def _answer(self, order: dict[str, Any]) -> None:
        if order["id"] in self._answered:
            return
        self._answered.add(order["id"])
        outcome = {"order": order["id"], "verb": order["verb"], "ok": True, "reason": "as ordered"}
        health = ("fail" if self.broken else "pass") if order["verb"] == "retest" else ""
        cause = "gpu.xid" if health == "fail" else ""
        more = {"health": health, "cause": cause, "began": time.time(), "suite": order["suite"], "key": order["key"]}
        self._say(outcomes=[{**outcome, **more}])


class Operator(threading.Thread):
    """Quarantines nodes that may fail, now and then, and releases what waits for an operator."""

    def __init__(self, members: Sequence[Member], ask: Callable[..., Any]) -> None:
        super().__init__(daemon=True)
        self._members, self._ask = {one.name: one for one in members}, ask
        self._chance, self._ended, self.calm = random.Random(5), threading.Event(), True
        self.commands = 0

    def run(self) -> None:
        while not self._ended.wait(1.0):
            for node in self._ask("GET", "/v1/nodes", limit=1000).get("nodes", []):
                self._handle(node["name"], node["stage"])

    def _handle(self, name: str, stage: str) -> None:
        member = self._members.get(name)
        if stage == "quarantined" and (member is None or not member.broken) and self._chance.random() < 0.5:
            self._command(name, "release")
        elif member and member.fails and stage == "ready" and not self.calm and self._chance.random() < 0.03:
            self._command(name, "quarantine")

    def _command(self, name: str, command: str) -> None:
        self.commands += 1
        self._ask("POST", f"/v1/nodes/{name}/{command}", json={"reason": "an operator"})

    def end(self) -> None:
        self._ended.set()
        self.join()


class Crowd:
    """`failing` nodes fail and recover; `healthy` nodes never do, so nothing may take them out of service."""

    def __init__(
        self, urls: Sequence[str], ask: Callable[..., Any], failing: int, healthy: int, pause: float = 1.0
    ) -> None:
        self._ask = ask
        names = [f"failing{number}" for number in range(failing)] + [f"healthy{number}" for number in range(healthy)]
        self.members = [self._enrol(name, urls, pause) for name in names]
        self.operator = Operator(self.members, ask)
        for thread in (*self.members, self.operator):
            thread.start()

    def _enrol(self, name: str, urls: Sequence[str], pause: float) -> Member:
        token = self._ask("POST", "/v1/tokens", json={"uses": 1, "node": name})["token"]
        made = self._ask("POST", "/v1/enrol", json={"node": name, "join_token": token})
        return Member(name, urls, made["credential"], fails=name.startswith("failing"), pause=pause)

    def stages(self) -> dict[str, str]:
        return {one["name"]: one["stage"] for one in self._ask("GET", "/v1/nodes", limit=1000).get("nodes", [])}

    def begin(self) -> None:
        """Nodes begin to fail, and the operator to act."""
        self._be(calm=False)

    def _be(self, *, calm: bool) -> None:
        self.operator.calm = calm
        for one in self.members:
            one.calm = calm

    def settle(self) -> None:
        """Every fault is over: what waits is acknowledged, and every node is in service again."""
        self._be(calm=True)
        until(lambda: all(one.quiet for one in self.members), "every report is acknowledged", TIMEOUT_SECONDS)
        self.in_service()

    def in_service(self) -> None:
        until(
            lambda: (stages := self.stages()) and all(stage in IN_SERVICE for stage in stages.values()),
            lambda: f"every node is in service: {self.stages()}",
            TIMEOUT_SECONDS,
        )

    def end(self) -> None:
        for thread in (self.operator, *self.members):
            thread.end()

    def figures(self) -> dict[str, Any]:
        met = sum((one.tally for one in self.members), Counter[str]())
        acknowledged = sum(len(one.acknowledged) for one in self.members)
        return {"reports_acknowledged": acknowledged, "operator_commands": self.operator.commands, "answers": dict(met)}

    def lost(self, store: str) -> list[str]:
        """The acknowledged reports that the store does not hold: node, number, when and by whom acknowledged.

        Members go on meanwhile. What they were told is copied before the store is read: what is acknowledged later than
        that read cannot be in it."""
        acknowledged = {one.name: dict(one.acknowledged) for one in self.members}
        engine = create_engine(store)
        with engine.connect() as connection:
            rows = connection.execute(text("SELECT node, seen FROM sessions WHERE session = 's1'")).all()
        engine.dispose()
        seen = {node: StoredSequence(numbers) for node, numbers in rows}
        return [
            f"{name} {seq} {result}"
            for name, found in acknowledged.items()
            for seq, result in found.items()
            if name not in seen or seen[name].add(seq)
        ]

    def events_lost(self, store: str) -> list[str]:
        """The events of acknowledged reports that are not stored once: a number alone proves no content."""
        expected = {f"{one.name} line {seq}" for one in self.members for seq in one.lines & set(one.acknowledged)}
        engine = create_engine(store)
        with engine.connect() as connection:
            rows = connection.execute(text("SELECT node, body FROM events WHERE kind = 'xid'")).all()
        engine.dispose()
        found = Counter(f"{node} {json.loads(body)['text']}" for node, body in rows)
        return [one for one in sorted(expected) if found[one] != 1]

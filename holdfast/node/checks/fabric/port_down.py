"""fabric.port_down: cumulative downtime is the signal, not the number of flaps."""

import math
from dataclasses import replace
from typing import NamedTuple

from holdfast.catalog import nccl, nics
from holdfast.formats.fabric.infiniband import DISABLED, state_name
from holdfast.model.health import FailureClass, Health, worst
from holdfast.model.subject import Subject, local_name
from holdfast.model.verdict import Row, Verdict
from holdfast.model.window import Window
from holdfast.node.checks import single_reading
from holdfast.node.checks.check import Check, Limits
from holdfast.node.checks.fabric.port_users import Deadline, deadline, rdma_jobs
from holdfast.node.checks.fabric.rdma_ports import expected_ports, for_seconds, why_not_seen

_ONE_READING = "one reading: outages before it are not judged"
CABLE = "check cable, transceiver and switch port"
MISSING = "check the PCI bus and its driver; reboot the node, and if the device stays away, reseat the adapter"
_WINDOWS = (("10m", "10 min"), ("1h", "1 h"), ("24h", "24 h"))


class _Outage(NamedTuple):
    seconds: float
    ago: float = 0.0  # seconds since its end
    lasts: bool = False


def judge(window: Window, limits: Limits) -> Verdict:
    jobs = rdma_jobs(window)
    rows, lost = [], set()
    for port in expected_ports(window):
        up = window.number(port, "port_up")
        if up is None:
            if missing := why_not_seen(window, port):
                rows.append(Row(port, Health.UNKNOWN, reason=missing))
            continue
        found = _judge_downtime(window, port, up, limits)
        for outage in _outages(window, port, up):
            whose = deadline(window, port, jobs, window.now - outage.ago - outage.seconds)
            found = _worse(_judge_outage(window, port, outage, whose), found)
            lost |= {job.name for job in whose.jobs if outage.seconds >= job.timeout.seconds}
        passed_once = found.health is Health.PASS and _seen_once(window, port)
        rows.append(replace(found, reason=_ONE_READING) if passed_once else found)
    if not rows and not expected_ports(window) and (idle := window.values("port_up")):
        why = f"none of {len(idle)} ports was ever up: list the expected ones in the manifest"
        rows.append(Row(window.node, Health.UNKNOWN, reason=why))
    return Verdict(rows=tuple(rows), evidence=_evidence(window), remedy=_remedy(window, rows, sorted(lost)))


def _outages(window: Window, port: Subject, up: float) -> list[_Outage]:
    """Outages that may still affect a job: the ongoing one first, then the last and the longest."""
    found = []
    for which in ("longest", "last"):
        seconds = window.number(port, f"port_{which}_outage_seconds") or 0.0
        ended = window.number(port, f"port_{which}_outage_end_timestamp_seconds") or 0.0
        ago = max(0.0, window.now - ended)
        if seconds and ago <= nccl.watchdog_seconds():
            found.append(_Outage(seconds, ago))
    if not up:
        found.append(_Outage(window.number(port, "port_outage_seconds") or 0.0, lasts=True))
    return found


def _judge_outage(window: Window, port: Subject, outage: _Outage, whose: Deadline) -> Row:
    if outage.lasts:
        return _judge_down(window, port, outage, whose)
    if not whose.jobs or outage.seconds < whose.seconds:
        return Row(port, Health.PASS)
    text = f"was down {for_seconds(outage.seconds)} until {for_seconds(outage.ago)} ago, {_beyond(whose, outage)}"
    return Row(port, _blame(outage), outage.seconds, whose.seconds, text)


def _blame(outage: _Outage) -> Health:
    """A user may set a timeout of microseconds. The job then lost its connections, but the node fails only for an
    outage that exceeds NCCL's default settings."""
    return Health.FAIL if outage.seconds >= nccl.transport_timeout().seconds else Health.DEGRADED


def _judge_down(window: Window, port: Subject, outage: _Outage, whose: Deadline) -> Row:
    left = whose.seconds - outage.seconds
    if _seen_once(window, port) and not outage.seconds:
        text = f"{_how(window, port)}down (since when is not known from one reading)"
        using = whose.using or f"{', '.join(f'job {job.name}' for job in whose.jobs)} may have lost connections over it"
        return Row(port, Health.DEGRADED, None, whose.limit, f"{text}; {using}")
    text = f"{_how(window, port)}down {for_seconds(outage.seconds)}"
    if not whose.jobs and whose.known:
        lost = f"any connection over it is presumed lost after {for_seconds(whose.seconds)}; {whose.using}"
        return Row(port, Health.DEGRADED, outage.seconds, whose.limit, f"{text}; {lost}")
    if left <= 0:
        return Row(port, _blame(outage), outage.seconds, whose.limit, f"{text}, {_beyond(whose, outage)}")
    coming = f"connections presumed lost in {for_seconds(left)}, by the transport timeout {whose.whose}"
    if math.isinf(left):
        coming = f"connections wait forever, by the transport timeout {whose.whose}"
    users = f"; {whose.using}" if whose.using else ""
    return Row(port, Health.DEGRADED, outage.seconds, whose.limit, f"{text}, {coming}{users}")


def _seen_once(window: Window, port: Subject) -> bool:
    runs = window.runs(port, "port_up")
    return len(runs) == 1 and single_reading.seconds_seen(runs) == 0.0


def _how(window: Window, port: Subject) -> str:
    """How the port is down, as the start of a sentence."""
    state = window.number(port, "port_state")
    if state is None:
        return f"{window.why_absent(port, 'port_state')}; "
    if window.number(port, "port_phys_state") == DISABLED:
        return "disabled; "
    waiting = state_name(state) in ("INIT", "ARMED")
    return f"the link is there but {state_name(state)} (does a subnet manager run?); " if waiting else ""


def _beyond(whose: Deadline, outage: _Outage) -> str:
    """The sentence about an outage longer than the transport timeout. The loss is presumed, not confirmed."""
    longer = f"longer than the {for_seconds(whose.seconds)} transport timeout {whose.whose}"
    if not whose.jobs:
        return f"{longer}: any connection over it is presumed lost; {whose.using}"
    age = outage.seconds + outage.ago
    left = nccl.watchdog_seconds() - age
    watchdog = f"would notice in {for_seconds(left)}" if left > 0 else "should have noticed by now"
    failover = "; NCCL may have failed over to another port" if whose.jobs[0].may_fail_over else ""
    since = for_seconds(age - whose.seconds)
    return f"{longer}: connections over it presumed lost {since} ago; PyTorch's watchdog {watchdog}{failover}"


def _judge_downtime(window: Window, port: Subject, up: float, limits: Limits) -> Row:
    found = Row(port, Health.PASS, window.number(port, "port_down_seconds_10m"), limits["degraded_seconds_10m"])
    how = "" if up else _how(window, port)
    for key, words in _WINDOWS:
        down = window.number(port, f"port_down_seconds_{key}") or 0.0
        for health in (Health.FAIL, Health.DEGRADED):
            limit = limits[f"{health.value}_seconds_{key}"]
            if down >= limit:
                text = f"{how}down {for_seconds(down)} in the last {words}, limit {limit:g} s"
                found = _worse(found, Row(port, health, down, limit, text))
                break
    return found


def _worse(first: Row, second: Row) -> Row:
    return first if worst((first.health, second.health)) is first.health and first.health is not Health.PASS else second


def _evidence(window: Window) -> tuple[str, ...]:
    notes = []
    if any(_seen_once(window, port) for port in expected_ports(window)):
        notes.append(_ONE_READING)
    for port in expected_ports(window):
        flaps = window.number(port, "port_flaps_24h") or 0.0
        down = window.number(port, "port_down_seconds_24h") or 0.0
        if flaps and (down or not _seen_once(window, port)):
            notes.append(f"{local_name(port)}: went down {flaps:.0f} times in 24 h, {for_seconds(down)} in all")
        last = window.number(port, "port_last_outage_seconds") or 0.0
        at_most = window.number(port, "port_last_outage_at_most_seconds") or 0.0
        if at_most > last:
            notes.append(
                f"{local_name(port)}: last outage at least {for_seconds(last)}, at most {for_seconds(at_most)}: "
                "its end was not observed"
            )
        downed = window.number(port, "port_link_downed_total")
        if downed is not None and nics.is_saturated("port_link_downed_total", downed):
            notes.append(f"{local_name(port)}: link_downed is at {downed:.0f} and does not count further")
    if window.number(window.node, "port_ledger_writable") == 0:
        notes.append(f"outages are kept in memory only: {window.why_absent(window.node, 'port_ledger_file')}")
    return tuple(notes)


def _remedy(window: Window, rows: list[Row], jobs: list[str]) -> str:
    """The jobs that lost their connections first, then the part."""
    bad = [row.subject for row in rows if row.health in (Health.FAIL, Health.DEGRADED)]
    gone = bool(bad) and all(window.value(port, "port_state") is None for port in bad)
    if not jobs:
        return MISSING if gone else ""
    return (
        f"check whether job {', '.join(jobs)} still makes progress; if it stopped, restart it now from its last "
        f"checkpoint instead of waiting for the watchdog; then {MISSING if gone else CABLE}"
    )


CHECK = Check(
    name="fabric.port_down",
    asks="Was any RDMA port down long enough to break a collective?",
    about="nic",
    part="rdma",
    reads=("port_up", "port_outage_seconds", "port_down_seconds_10m"),
    judge=judge,
    failure_class=FailureClass.CRASH,
    remedy=f"{CABLE}; compare with the other ports of the same switch",
    owner="network",
    limits={
        "degraded_seconds_10m": 7.5,
        "fail_seconds_10m": 60.0,
        "degraded_seconds_1h": 20.0,
        "fail_seconds_1h": 120.0,
        "degraded_seconds_24h": 60.0,
        "fail_seconds_24h": 600.0,
    },
)

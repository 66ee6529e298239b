"""Computes the same numbers on every device of many hosts, and names those whose bits differ from the majority's."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from holdfast.model.health import Health
from holdfast.model.history import History
from holdfast.model.refusal import Refusal
from holdfast.model.signal import Reading, Signal
from holdfast.model.subject import node
from holdfast.model.verdict import Row, Verdict
from holdfast.node.checks.probe.fingerprint import CHECK
from holdfast.node.probes.isolation.golden import majorities
from holdfast.node.probes.isolation.hosts import Host
from holdfast.node.probes.sweep.crew import Crew
from holdfast.runtime import codec

TIMEOUT_SECONDS = 600.0
LEAST_PEERS = CHECK.limits["least_peers"]


def run(hosts: Sequence[Host], repeats: int, flip: int, golden: str) -> Verdict:
    """`golden`: a file with the bits of every kind of device; new kinds are learned from the majority."""
    known = _load(golden) if golden else {}
    if not -1 <= flip < len(hosts):
        raise Refusal(f"--flip: expected a rank from 0 to {len(hosts) - 1}, found {flip}")
    with Crew(hosts) as crew:
        names = crew.muster()
        order = [worker.host.name for worker in crew.workers.values()]
        crew.ask_each(names, lambda _, name: _command(name, repeats, order.index(name) == flip))
        answers = dict(zip(names, crew.finish(names, TIMEOUT_SECONDS), strict=True))
        troubles = {name: worker.trouble for name, worker in crew.workers.items() if worker.trouble}
    troubles |= {name: str(answer["error"]) for name, answer in answers.items() if "error" in answer}
    devices = [device for answer in answers.values() for device in answer.get("devices", ())]
    verdict = judge(devices, troubles, known)
    if golden and (new := learned(devices)).keys() - known.keys():
        _save(golden, new | known)
    return verdict


def _command(name: str, repeats: int, flip: bool) -> dict[str, Any]:
    return {"do": "fingerprint", "node": node(name), "repeats": repeats, "flip": flip}


def learned(devices: Sequence[Any]) -> dict[str, str]:
    """Kind of device and library -> the bits of the majority, of devices that agree with themselves."""
    seen = [(str(key), str(digest)) for _, key, digest, _, unstable in devices if not unstable]
    return majorities(seen, LEAST_PEERS)


def _load(path: str) -> dict[str, str]:
    try:
        found = codec.decode(Path(path).read_bytes(), dict[str, str])
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise Refusal(f"--golden {path}: cannot be read: {error.strerror}") from None
    except (msgspec.MsgspecError, RecursionError) as error:
        raise Refusal(f"--golden {path}: expected an object of kinds and their bits: {error}") from None
    return found


def _save(path: str, golden: dict[str, str]) -> None:
    """Atomic. Known bits stay: a fleet that has drifted is not the reference."""
    beside = Path(f"{path}.new")
    try:
        beside.write_bytes(msgspec.json.format(msgspec.json.encode(golden)) + b"\n")
        beside.replace(path)
    except OSError as error:
        raise Refusal(f"--golden {path}: cannot be written: {error.strerror}") from None


def judge(devices: Sequence[Any], troubles: dict[str, str], golden: Mapping[str, str]) -> Verdict:
    """Applies the bootstrap check to devices of many nodes; a host that could not take part is unknown."""
    signals = [Signal(one[0], "probe_fingerprint_golden", golden[one[1]]) for one in devices if one[1] in golden]
    for subject, key, digest, repeats, unstable in devices:
        signals += [
            Signal(subject, "probe_fingerprint", digest),
            Signal(subject, "probe_fingerprint_key", key),
            Signal(subject, "probe_fingerprint_repeats", float(repeats)),
            Signal(subject, "probe_fingerprint_unstable", float(unstable)),
        ]
    history = History("all")
    history.add(Reading(source="probes", at=0.0, signals=signals))
    verdict = CHECK(history.window(0.0, CHECK.span))
    unknown = tuple(Row(node(name), Health.UNKNOWN, reason=why) for name, why in troubles.items())
    return replace(verdict, rows=(*verdict.rows, *unknown))

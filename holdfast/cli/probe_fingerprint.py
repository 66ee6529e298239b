"""What `holdfast probe fingerprint` does: the same numbers on every host, and who gets other bits than the majority."""

import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import msgspec
from rich.console import Console

from holdfast.agent.metrics import HEALTH_CODES
from holdfast.checks.probe_fingerprint import CHECK
from holdfast.cli.probe_here import UNKNOWN, chosen_hosts
from holdfast.cli.refusal import Refusal
from holdfast.cli.table import console, plain, styled, table
from holdfast.model.health import Health
from holdfast.model.history import History
from holdfast.model.signal import Reading, Signal
from holdfast.model.subject import node
from holdfast.model.verdict import Row, Verdict
from holdfast.probes.crew import Crew

PATIENCE_SECONDS = 600.0


def carry_out(hosts: tuple[str, str, int], repeats: int, flip: int, json_output: bool) -> int:
    chosen = chosen_hosts(*hosts)
    if not -1 <= flip < len(chosen):
        raise Refusal(f"--flip: expected a rank from 0 to {len(chosen) - 1}, found {flip}")
    with Console(stderr=True).status("computing"), Crew(chosen) as crew:
        names = crew.muster()
        order = [worker.host.name for worker in crew.workers.values()]
        crew.ask_each(names, lambda _, name: _command(name, repeats, order.index(name) == flip))
        answers = dict(zip(names, crew.finish(names, PATIENCE_SECONDS), strict=True))
        troubles = {name: worker.trouble for name, worker in crew.workers.items() if worker.trouble}
    troubles |= {name: str(answer["error"]) for name, answer in answers.items() if "error" in answer}
    verdict = judge([device for answer in answers.values() for device in answer.get("devices", ())], troubles)
    if json_output:
        sys.stdout.write(msgspec.json.encode(verdict.as_json()).decode() + "\n")
    else:
        _print(verdict)
    return HEALTH_CODES[verdict.health.value] if verdict.health is not Health.UNKNOWN else UNKNOWN


def _command(name: str, repeats: int, flip: bool) -> dict[str, Any]:
    return {"do": "fingerprint", "node": node(name), "repeats": repeats, "flip": flip}


def judge(devices: Sequence[Any], troubles: dict[str, str]) -> Verdict:
    """The check of the bootstrap, over the devices of many nodes; who could not take part is unknown."""
    signals = []
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


def _print(verdict: Verdict) -> None:
    out = console()
    rows = table("", "device", "bits", "why")
    for row in verdict.rows:
        rows.add_row(styled(row.health.value), plain(row.subject), plain(str(row.value or "")), plain(row.reason))
    out.print(rows)
    if verdict.remedy:
        out.print(plain(f"do: {verdict.remedy} (owner: {verdict.owner})"))

"""Expected answers to the faults: the part, the failure class and the actions of the remedy, in their order.

The answers come from vendor documents, not from the checks. A remedy is a sentence; `actions_in` extracts its actions.
"""

import csv
import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from holdfast.lab.twin.hardware import Model
from holdfast.model.verdict import Verdict

_ARROW = " > "
ACTIONS = {
    "drain": r"\bdrain\b",
    "stop_work": r"\bstop its processes\b",
    "after_work": r"\bwork has ended\b|\bjob has ended\b",
    "reset_gpu": r"\breset (?:the|its|all|this|this tray's) GPUs?\b(?!')",
    "reboot": r"\breboot\b",
    "power_cycle": r"\bpower-cycle\b",
    "retest": r"\btest it again\b|\bfull test\b|\bmemory test\b",
    "reseat": r"\breseat\b(?! or replace cable)",
    "replace": r"\breplace (?:it|the GPU|the board)\b",
    "inspect": r"\binspect\b",
    "cooling": r"\bcoolant\b|\binlet\b|\bfans\b|\bairflow\b",
    "heat_sink": r"\bheat sinks?\b|\bcold plate\b",
    "power_supply": r"\bpower supplies\b",
    "ecc_on": r"\bswitch ECC on\b",
    "power_limit": r"\bpower limit\b",
    "clock_setting": r"\bclock settings\b",
    "fabric_manager": r"\bfabricmanager\b",
    "switch_tray": r"\bNVLink switch trays\b",
    "cable": r"\bcable and transceiver\b|\bcable, transceiver\b",
    "switch_port": r"\bswitch port\b",
    "flow_control": r"\bPFC\b",
    "mtu": r"\bMTU\b",
    "peers": r"\bthe other end\b(?! of the cable)|\bits peers\b",
    "network": r"\bnetwork to it\b|\bthe path\b",
    "driver": r"\bPCI bus and its driver\b|\bcheck its driver\b",
    "new_instance": r"\bstop and start the instance\b",
    "kernel_log": r"\bkernel log\b(?! names)|\bkernel stack\b",
    "disk": r"\bthe disk\b",
    "dimm": r"\bDIMM\b|\bmemory module\b",
    "file_server": r"\bfile server\b",
    "memory_use": r"\bused the memory\b",
    "memory_limit": r"\bmemory limits\b",
    "time_service": r"\bstart chronyd\b",
    "time_step": r"\bmakestep\b",
    "time_source": r"\btime source\b",
    "governor": r"\bcpupower\b",
    "manifest": r"\bmanifest\b",
    "module": r"\bmodprobe\b",
    "parent": r"\bthe parent\b",
}
"""Actions that a remedy can request, and the words that express them."""
STEPS = {"reset_gpu": "reset_gpu", "reboot": "reboot", "power_cycle": "reboot", "replace": "inspect"}
HANDS = frozenset({"reseat", "disk"})
OF_THE_PROVIDER = frozenset(
    {"reseat", "replace", "inspect", "cooling", "heat_sink", "power_supply", "cable", "switch_port", "dimm", "disk"}
)
"""Actions that only the provider of a rented instance can take; its user stops and starts it to get other hardware."""


@dataclass(frozen=True, slots=True)
class Answer:
    part: str  # gpu, every_gpu, gpu_pci, port, port_pci, nvswitch, mount or node
    failure_class: str
    actions: tuple[str, ...]
    source: str


def answer(fault: str, check: str, model: Model) -> Answer | None:
    """The expected answer of this check to this fault, on a node of this model."""
    rows = _rows()
    for kind in (*_kinds(model), ""):
        if row := rows.get((fault, check, kind)):
            return row if kind else _on(model, row)
    return None


def actions_in(remedy: str) -> tuple[str, ...]:
    """Actions that a remedy requests, in the order of the text."""
    found = {name: match.start() for name, words in ACTIONS.items() if (match := re.search(words, remedy))}
    return tuple(sorted(found, key=lambda name: found[name]))


def differences(fault: str, verdict: Verdict, model: Model) -> list[str]:
    """Differences between a verdict's failure class and remedy and the expected answer."""
    right = answer(fault, verdict.check, model)
    if right is None:
        return [f"{verdict.check}: no answer is known"]
    found, reported = [], verdict.failure_class.value if verdict.failure_class else "no class"
    if reported != right.failure_class:
        found.append(f"{verdict.check} says {reported}, expected {right.failure_class}")
    step = first_step(right.actions)
    if step and verdict.repair != step:
        found.append(f"{verdict.check} begins with {verdict.repair or 'no repair step'}, expected {step}")
    if (actions := actions_in(verdict.remedy)) != right.actions:
        found.append(f"{verdict.check} asks for {actions}, expected {right.actions}: {verdict.remedy}")
    return found


def first_step(actions: tuple[str, ...]) -> str:
    """The first repair step that a controller can start.

    "" if the answer has none, or if manual work comes first, because a reboot before that helps little.
    """
    first = next((action for action in actions if action in STEPS or action in HANDS), "")
    return STEPS.get(first, "")


def _kinds(model: Model) -> tuple[str, ...]:
    return (model.fabric, *(["nvl72"] if model.c2c_links else ()))


def _on(model: Model, row: Answer) -> Answer:
    if model.fabric != "efa":
        return row
    actions = ("new_instance" if action in OF_THE_PROVIDER else action for action in row.actions)
    return Answer(row.part, row.failure_class, tuple(dict.fromkeys(actions)), row.source)


@cache
def _rows() -> dict[tuple[str, str, str], Answer]:
    text = files("holdfast.lab.twin.answers").joinpath("answers.csv").read_text(encoding="utf-8")
    return {
        (row["fault"], row["check"], row["node"]): Answer(
            row["part"], row["class"], tuple(row["remedy"].split(_ARROW)), row["source"]
        )
        for row in csv.DictReader(text.splitlines())
    }

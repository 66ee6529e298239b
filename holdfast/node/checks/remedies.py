"""Adapts remedies to the node: the tools of the GPU's vendor, and steps that only the hardware's owner can do."""

import re

from holdfast.catalog import nics
from holdfast.model.subject import Subject
from holdfast.model.verdict import Verdict
from holdfast.model.window import Window

AMD_TOOLS = {
    "nvidia-smi --gpu-reset": "amd-smi reset --gpureset",
    "nvidia-smi -rgc, -rac": "amd-smi reset --clocks",
    "nvidia-smi -pl": "amd-smi set --power-cap",
    "nvidia-bug-report.sh": "the kernel log and `amd-smi metric`",
    "(nvidia-smi -e 1) ": "in the firmware's settings ",
}  # a check covers several vendors: a remedy names the tools of the affected GPU
MOVE = "stop and start the instance, to move it to other hardware"
EFA_PORT = f"check its driver and its peers; if it continues, {MOVE}: AWS owns adapter and cable"
_BY_HAND = re.compile(  # the rest of the sentence is about parts that a cloud tenant cannot touch
    r"\b(?:clean or |repair or |plan to |reseat or )?(?:reseat|replace|inspect|swap)\b"
    r"|\b(?:check|compare)\b[^;]{0,80}\b(?:airflow|coolant|fans|inlet|heat sinks?|cold plate|power supplies"
    r"|power feed|cable|transceiver|same switch|switch port|the disk)\b"
)


def for_this_node(window: Window, verdict: Verdict) -> str:
    bad = [row.subject for row in verdict.rows if row.health is verdict.health]
    remedy = verdict.remedy
    if any(str(window.value(subject, "gpu_model") or "").startswith("AMD") for subject in bad):
        remedy = with_amd_tools(remedy)
    if not any(_is_efa(window, port) for port in window.values("port_expected")):
        return remedy
    are_there = all(_is_efa(window, subject) and window.value(subject, "port_state") is not None for subject in bad)
    return EFA_PORT if are_there else on_an_instance(remedy)


def _is_efa(window: Window, subject: Subject) -> bool:
    return window.value(subject, "port_hca_type") == nics.EFA


def with_amd_tools(remedy: str) -> str:
    for nvidia, amd in AMD_TOOLS.items():
        remedy = remedy.replace(nvidia, amd)
    return remedy


def on_an_instance(remedy: str) -> str:
    """Replace steps that only the cloud provider can do by moving the instance to other hardware."""
    steps = []
    for step in remedy.split("; "):
        found = _BY_HAND.search(step)
        steps.append(step[: found.start()] + MOVE if found else step)
    return "; ".join(dict.fromkeys(steps))

"""Table of contents of the command line: every command, its summary, and the module of its code."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Entry:
    where: str
    """`noun:name` in holdfast/cli/NOUN/command.py: a function, or a Typer with commands of its own."""
    summary: str
    """One line of `holdfast --help`; fits a terminal of 80 columns."""


PARTS: dict[str, dict[str, Entry]] = {
    "Start": {
        "up": Entry("up:up", "Start all parts on this machine; --demo: a simulated fleet"),
        "doctor": Entry("doctor:doctor", "What is missing on this machine, and how to fix it"),
        "completion": Entry("completion:completion", "Shell completion for bash, zsh and fish"),
    },
    "One node": {
        "check": Entry("check:check", "Check this machine once"),
        "capture": Entry("capture:capture", "Write a redacted bundle of this node's data"),
        "signals": Entry("signals:signals", "Print the raw signals of this machine"),
        "agent": Entry("agent:agent", "Watch this node (daemon)"),
        "gate": Entry("gate:gate", "Can a workload start here? For a scheduler's prolog"),
    },
    "A fleet": {
        "controller": Entry("controller:controller", "Watch a fleet: decide, record, act (daemon)"),
        "top": Entry("top:top", "The fleet and its nodes in the terminal, live"),
        "node": Entry("node:app", "Stage of every node and why; take nodes out and return them"),
        "inbox": Entry("inbox:app", "What needs an operator: nodes, incidents and jobs, worst first"),
        "incident": Entry("incident:app", "Open and past incidents: cause, cost, what to do"),
        "seam": Entry("seam:app", "Rules that find causes across cooling, power, fabric, jobs"),
        "topology": Entry("topology:app", "Cooling, power and network of the site: check it, draw it"),
        "probe": Entry("probe:app", "Measure the fabric between hosts; name the slow or wrong part"),
        "notify": Entry("notify:app", "Test the notification channels"),
        "policy": Entry("policy:app", "Check a policy, and preview what it would have done"),
        "token": Entry("token:app", "Who may use the controller"),
        "action": Entry("action:app", "What the controller does to nodes, with results"),
        "order": Entry("order:app", "Orders that agents have not answered yet"),
        "audit": Entry("audit:audit", "Who changed what"),
    },
    "A job": {
        "diagnose": Entry("diagnose:diagnose", "Why a job failed, and what to do next"),
        "run": Entry("run:run", "Supervise a training command: restart it, or stop and explain"),
        "job": Entry("job:app", "Slow ranks, where GPU-hours went, what a failure would lose"),
    },
    "Money": {
        "plan": Entry("plan:app", "What failures cost and what helps, before you buy"),
        "simulate": Entry("simulate:simulate", "Simulate months of a fleet in seconds"),
        "report": Entry("report:report", "What you paid for in a month: productive, lost and why"),
    },
    "Practice": {
        "drill": Entry("drill:app", "Staged incidents with a known cause, for tests and training"),
        "twin": Entry("twin:app", "Simulated hardware behind the same interfaces as the real one"),
    },
}
ENTRIES = {name: entry for part in PARTS.values() for name, entry in part.items()}

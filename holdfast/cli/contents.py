"""The table of contents: every command, what it is for, and the file that is read when it is asked for."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Entry:
    where: str
    """`noun:name` in holdfast/cli/NOUN/command.py: a function, or a Typer with commands of its own."""
    words: str
    """One line of `holdfast --help`; fits a terminal of 80 columns."""


PARTS: dict[str, dict[str, Entry]] = {
    "Start": {
        "up": Entry("up:up", "Everything on this machine at once; --demo: a simulated fleet"),
        "doctor": Entry("doctor:doctor", "What is missing on this machine, and how to mend it"),
    },
    "One node": {
        "check": Entry("check:check", "Judge this machine once"),
        "signals": Entry("signals:signals", "What the sources of this machine see now, raw"),
        "agent": Entry("agent:agent", "Watch this node for ever (daemon)"),
        "gate": Entry("gate:gate", "May a workload start here? The scheduler's cached answer"),
    },
    "A fleet": {
        "controller": Entry("controller:controller", "Watch a fleet for ever: decide, keep every story, act (daemon)"),
        "top": Entry("top:top", "The fleet and its nodes in the terminal, live"),
        "node": Entry("node:app", "Where every node is and why; take nodes out, let them back"),
        "incident": Entry("incident:app", "What is wrong: where it starts, what it costs, what to do"),
        "seam": Entry("seam:app", "What is watched between cooling, power, fabric, storage and jobs"),
        "topology": Entry("topology:app", "What cools, powers, connects what: check it, draw it"),
        "probe": Entry("probe:app", "Measure the fabric between hosts; name what is slow or wrong"),
        "policy": Entry("policy:app", "Check a policy, and preview what it would have done"),
        "token": Entry("token:app", "Who may speak to the controller"),
        "audit": Entry("audit:audit", "Who changed what"),
    },
    "A job": {
        "diagnose": Entry("diagnose:diagnose", "Why did it die, and what to do next"),
        "run": Entry("run:run", "Supervise a training command: start again, or stop and say why"),
        "job": Entry("job:app", "Slow ranks, where GPU-hours went, what a failure would lose"),
    },
    "Money": {
        "plan": Entry("plan:app", "What failures cost and what helps, before the money is spent"),
        "simulate": Entry("simulate:simulate", "A fleet's months in seconds"),
        "report": Entry("report:report", "What a month was paid for: productive, lost and why"),
    },
    "Practice": {
        "drill": Entry("drill:app", "Staged incidents with a known truth, for judgement and people"),
        "twin": Entry("twin:app", "Simulated hardware behind the same interfaces as the real one"),
    },
}
ENTRIES = {name: entry for part in PARTS.values() for name, entry in part.items()}

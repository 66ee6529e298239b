"""host.agent_state: can the agent write its own state?"""

from holdfast.model.health import FailureClass, Health
from holdfast.model.verdict import Row, Verdict
from holdfast.model.window import Window
from holdfast.node.checks.check import Check, Limits


def judge(window: Window, limits: Limits) -> Verdict:
    trouble = window.value(window.node, "agent_state_trouble")
    if trouble is None:
        return Verdict(rows=())
    if not trouble and window.number(window.node, "port_ledger_writable") == 0:
        trouble = "the ledger of port outages cannot be written"
    health = Health.DEGRADED if trouble else Health.PASS
    return Verdict(rows=(Row(window.node, health, reason=f"the agent keeps its state in memory only: {trouble}"),))


CHECK = Check(
    name="agent.state",
    asks="Can the agent store its state across a restart?",
    about="node",
    part="agent",
    reads=("agent_state_trouble",),
    judge=judge,
    failure_class=FailureClass.CRASH,
    remedy="free space in the agent's state directory, or make it writable",
    owner="platform",
)

"""Nodes of a simulation: every change of stage goes through the given rules and is timed."""

from collections import deque
from collections.abc import Iterable

from holdfast.economics.simulation.clock import Clock
from holdfast.economics.simulation.rules import NodeRecord, Rules
from holdfast.economics.simulation.scenario import Cluster
from holdfast.model.lifecycle import EventKind, Stage, Verb

IN_SERVICE = frozenset({Stage.READY, Stage.SPARE, Stage.ALLOCATED})
FREE = frozenset({Stage.READY, Stage.SPARE})


class SimulatedFleet:
    def __init__(self, cluster: Cluster, clock: Clock, rules: Rules) -> None:
        self._clock, self._step = clock, rules.step
        self.guard = rules.guard()
        self.histories: list[NodeRecord] = []
        self.seconds: dict[Stage, float] = dict.fromkeys(Stage, 0.0)  # sum over all nodes
        self.stages: dict[Stage, int] = dict.fromkeys(Stage, 0)  # number of nodes per stage
        self.changes = 0
        self._entered = [0.0] * cluster.nodes
        self._ready: deque[int] = deque()
        self._chosen_last: deque[int] = deque()
        self._spares: deque[int] = deque()
        self._begin(cluster.nodes, rules)

    def _begin(self, nodes: int, rules: Rules) -> None:
        """Starts with freshly tested nodes, of which the policy's number of spares is held back."""
        ready, spare = (rules.begin(stage).state.life for stage in (Stage.READY, Stage.SPARE))
        for _ in range(nodes):
            self.guard.count(ready, 1)
        wanted = min(nodes, self.guard.spares_wanted())
        for number in range(nodes):
            held = number >= nodes - wanted
            if held:
                self.guard.count(ready, -1)
                self.guard.count(spare, 1)
            self.histories.append(rules.begin(Stage.SPARE if held else Stage.READY))
            (self._spares if held else self._ready).append(number)
        self.stages.update({Stage.READY: nodes - wanted, Stage.SPARE: wanted})

    def happen(
        self, node: int, kind: EventKind, cause: str = "", job: str = "", spare: bool = False
    ) -> tuple[Verb, ...]:
        """Applies an event to a node and returns the actions of the rules."""
        history, now = self.histories[node], self._clock.now
        before = history.state
        step = self._step(history, (kind, cause, job, spare), now)
        if step.recount:
            self.guard.count(before.life, -1)
            self.guard.count(step.after.life, 1)
        was, is_now = before.stage, step.after.stage
        if was is not is_now:
            self.changes += 1
            self.seconds[was] += now - self._entered[node]
            self._entered[node] = now
            self.stages[was] -= 1
            self.stages[is_now] += 1
            if is_now is Stage.READY:
                (self._chosen_last if step.after.life.degraded_by else self._ready).append(node)
            elif is_now is Stage.SPARE:
                self._spares.append(node)
        return step.verbs

    def stage(self, node: int) -> Stage:
        return self.histories[node].state.stage

    def in_service(self, nodes: Iterable[int]) -> list[int]:
        return [node for node in nodes if self.histories[node].state.stage in IN_SERVICE]

    def free(self, with_spares: bool) -> int:
        return self.stages[Stage.READY] + (self.stages[Stage.SPARE] if with_spares else 0)

    def take(self, number: int, job: str) -> list[int]:
        """Takes this many free nodes for a job: good ones first, then degraded ones, then spares."""
        taken: list[int] = []
        for queue, stage in (
            (self._ready, Stage.READY),
            (self._chosen_last, Stage.READY),
            (self._spares, Stage.SPARE),
        ):
            while queue and len(taken) < number:
                node = queue.popleft()
                if self.histories[node].state.stage is not stage:
                    continue  # the node left since; a returning node goes to the end of the queue
                if stage is Stage.SPARE:
                    self.happen(node, EventKind.PROMOTED)
                self.happen(node, EventKind.JOB_STARTED, job=job)
                taken.append(node)
        return taken

    def close(self) -> None:
        for node, history in enumerate(self.histories):
            self.seconds[history.state.stage] += self._clock.end - self._entered[node]
            self._entered[node] = self._clock.end

"""The nodes: every change of stage goes through the rules that were passed in, and is timed."""

from collections import Counter, deque
from collections.abc import Iterable

from holdfast.model.life import Action, Happening, NodeEvent, NodeLife, Stage
from holdfast.simulation.clock import Clock
from holdfast.simulation.rules import Rules
from holdfast.simulation.scenario import Cluster

IN_SERVICE = frozenset({Stage.READY, Stage.SPARE, Stage.ALLOCATED})
FREE = frozenset({Stage.READY, Stage.SPARE})


class Fleet:
    def __init__(self, cluster: Cluster, clock: Clock, rules: Rules) -> None:
        self._clock, self._step = clock, rules.step
        self.may_climb = rules.may_climb
        self.guard = rules.guard()
        self.lives: list[NodeLife] = []
        self.seconds: dict[Stage, float] = dict.fromkeys(Stage, 0.0)  # of all nodes together
        self.stages: Counter[Stage] = Counter()  # how many are where
        self.changes = 0
        self._entered = [0.0] * cluster.nodes
        self._events: dict[tuple[Happening, str, str, bool], NodeEvent] = {}
        self._ready: deque[int] = deque()
        self._chosen_last: deque[int] = deque()
        self._spares: deque[int] = deque()
        self._begin(cluster.nodes)

    def _begin(self, nodes: int) -> None:
        """Everybody has just been tested; so many as the policy wants are held back."""
        ready, spare = Stage.READY, Stage.SPARE
        for _ in range(nodes):
            self.guard.count(NodeLife(name="", stage=ready), 1)
        wanted = min(nodes, self.guard.spares_wanted())
        for number in range(nodes):
            held = number >= nodes - wanted
            stage = spare if held else ready
            life = NodeLife(name=str(number), stage=stage, tested_at=-1.0, tested_suite="1")
            if held:
                self.guard.count(NodeLife(name="", stage=ready), -1)
                self.guard.count(life, 1)
            self.lives.append(life)
            (self._spares if held else self._ready).append(number)
        self.stages.update({ready: nodes - wanted, spare: wanted})

    def happen(self, node: int, kind: Happening, cause: str = "", job: str = "", spare: bool = False) -> list[Action]:
        """One step of the node's life; what the rules want done about it."""
        key = (kind, cause, job, spare)
        event = self._events.get(key)
        if event is None:
            event = self._events[key] = NodeEvent(kind=kind, cause=cause, job=job, spare=spare)
        before = self.lives[node]
        after, actions, _ = self._step(before, event, self._clock.now)
        if after is not before:
            self._became(node, before, after)
        return actions

    def _became(self, node: int, before: NodeLife, after: NodeLife) -> None:
        self.lives[node] = after
        self.guard.count(before, -1)
        self.guard.count(after, 1)
        was, is_now = before.stage, after.stage
        if was is is_now:
            return
        now = self._clock.now
        self.changes += 1
        self.seconds[was] += now - self._entered[node]
        self._entered[node] = now
        self.stages[was] -= 1
        self.stages[is_now] += 1
        if is_now is Stage.READY:
            (self._chosen_last if after.degraded_by else self._ready).append(node)
        elif is_now is Stage.SPARE:
            self._spares.append(node)

    def stage(self, node: int) -> Stage:
        return self.lives[node].stage

    def in_service(self, nodes: Iterable[int]) -> list[int]:
        return [node for node in nodes if self.lives[node].stage in IN_SERVICE]

    def free(self, with_spares: bool) -> int:
        return self.stages[Stage.READY] + (self.stages[Stage.SPARE] if with_spares else 0)

    def take(self, number: int, job: str) -> list[int]:
        """So many free nodes start the job: good ones first, then degraded ones, then spares."""
        taken: list[int] = []
        for queue, stage in (
            (self._ready, Stage.READY),
            (self._chosen_last, Stage.READY),
            (self._spares, Stage.SPARE),
        ):
            while queue and len(taken) < number:
                node = queue.popleft()
                if self.lives[node].stage is not stage:
                    continue  # it left since; whoever comes back stands in line again
                if stage is Stage.SPARE:
                    self.happen(node, Happening.PROMOTED)
                self.happen(node, Happening.JOB_STARTED, job=job)
                taken.append(node)
        return taken

    def close(self) -> None:
        for node, life in enumerate(self.lives):
            self.seconds[life.stage] += self._clock.end - self._entered[node]
            self._entered[node] = self._clock.end

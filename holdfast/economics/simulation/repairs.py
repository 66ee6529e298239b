"""Repair of a simulated node: repair steps, crews and parts, and the full test before its return."""

from collections import deque
from collections.abc import Callable

from holdfast.economics.simulation.clock import Clock
from holdfast.economics.simulation.failures import Failure
from holdfast.economics.simulation.fleet import SimulatedFleet
from holdfast.economics.simulation.scenario import Repair
from holdfast.model.lifecycle import EventKind, Stage, Verb

_H = EventKind


class Repairs:
    def __init__(
        self,
        repair: Repair,
        fleet: SimulatedFleet,
        clock: Clock,
        returned: Callable[[int], None],
        relapsed: Callable[[Failure], None],
        renewed: Callable[[Failure], None],
    ) -> None:
        self._repair, self._fleet, self._clock = repair, fleet, clock
        self._returned, self._relapsed, self._renewed = returned, relapsed, renewed
        self.cases: dict[int, Failure] = {}  # node out of service -> its failure
        self.broken: set[int] = set()  # nodes that need a new part
        self._crews = repair.crews
        self._stock = {part.name: part.stock for part in repair.parts}
        self._leads = {part.name: part.lead for part in repair.parts}
        self._waiting: deque[int] = deque()  # nodes that wait for crews or parts
        self._held: deque[int] = deque()  # nodes that the breaker holds
        self.quarantines = self.repairs = self.held = self.missed = 0

    def fail(self, node: int, failure: Failure, job: str) -> None:
        """Takes a node out of service, after its job if it has one."""
        self._know(node, failure)
        if self._fleet.stage(node) is not Stage.DRAINING and self._fleet.guard.open():
            self._hold(node, job)
            return
        if self._fleet.stage(node) is not Stage.DRAINING:
            self._fleet.happen(node, _H.FAILED, failure.hazard.name)
        self.quarantines += 1
        if job:
            self._fleet.happen(node, _H.JOB_ENDED, job=job)
        self._fleet.happen(node, _H.EMPTIED)
        self._climb(node)

    def _know(self, node: int, failure: Failure) -> None:
        self.cases[node] = failure
        if failure.again or failure.draw() < failure.hazard.swap:
            self.broken.add(node)

    def _hold(self, node: int, job: str) -> None:
        """Holds a node while the breaker is open: it runs nothing until others return."""
        self.held += 1
        self._fleet.happen(node, _H.JOB_ENDED if job else _H.RETEST, job=job)
        self._held.append(node)

    def free_held(self) -> None:
        while self._held and not self._fleet.guard.open():
            self.clean_and_test(self._held.popleft())

    def clean_and_test(self, node: int) -> None:
        """Cleans and tests a node after a workload, an outage or a hold."""
        if self._fleet.stage(node) is Stage.CLEANING:
            self._fleet.happen(node, _H.CLEANED)
        self._test(node)

    def _climb(self, node: int) -> None:
        fleet = self._fleet
        verbs = fleet.happen(node, _H.NEXT_REPAIR) if fleet.histories[node].state.may_repair else ()
        case, repair = self.cases[node], self._repair
        if Verb.RESET_GPU in verbs:
            self._clock.after(repair.reset.at(case.draw()), self._reset_done, node)
        elif Verb.REBOOT in verbs:
            self._clock.after(repair.reboot.at(case.draw()), self._reset_done, node)
        else:
            self._ask_a_person(node)

    def _reset_done(self, node: int) -> None:
        self._fleet.happen(node, _H.RESET_DONE)
        self._test(node)

    def _ask_a_person(self, node: int) -> None:
        if self._fleet.stage(node) is not Stage.RESETTING:  # an inspection is a repair step
            self._fleet.happen(node, _H.REMOVE)
            self.free_held()
        self._waiting.append(node)
        self._repair_next(None)

    def _repair_next(self, _: object) -> None:
        """Assigns crews to the first nodes in the queue whose part is available."""
        for _attempt in range(len(self._waiting)):
            if not self._crews:
                return
            node = self._waiting.popleft()
            part = self.cases[node].hazard.part if node in self.broken else ""
            if part in self._stock:
                if not self._stock[part]:
                    self._waiting.append(node)
                    continue
                self._stock[part] -= 1
                self._clock.after(self._leads[part].at(self.cases[node].draw()), self._delivered, part)
            self._crews -= 1
            self._clock.after(self._repair.time.at(self.cases[node].draw()), self._repaired, node)

    def _delivered(self, part: str) -> None:
        self._stock[part] += 1
        self._repair_next(None)

    def _repaired(self, node: int) -> None:
        self._crews += 1
        self.repairs += 1
        if node in self.broken:
            self.broken.discard(node)
            self._renewed(self.cases[node])
        resetting = self._fleet.stage(node) is Stage.RESETTING
        self._fleet.happen(node, _H.RESET_DONE if resetting else _H.RELEASE)
        self._test(node)
        self._repair_next(None)

    def _test(self, node: int) -> None:
        case = self.cases.get(node)
        self._clock.after(self._repair.test.at(case.draw() if case else 0.5), self._tested, node)

    def _tested(self, node: int) -> None:
        fleet, case = self._fleet, self.cases.get(node)
        if case is not None and node in self.broken:
            if case.draw() >= self._repair.test_misses:
                fleet.happen(node, _H.TEST_FAILED, case.hazard.name)
                self._climb(node)
                return
            self.missed += 1
            case.again = True
            self._clock.after(self._repair.relapse.at(case.draw()), self._relapsed, case)
        self.broken.discard(node)
        self.cases.pop(node, None)
        spare = fleet.guard.spares_wanted() > fleet.stages[Stage.SPARE]
        fleet.happen(node, _H.TEST_PASSED, spare=spare)
        self.free_held()
        self._returned(node)

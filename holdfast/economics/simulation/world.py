"""One replica of a simulation: failures hit nodes, nodes interrupt jobs, and both recover."""

from holdfast.economics.simulation.clock import Clock
from holdfast.economics.simulation.failures import Failure, Failures
from holdfast.economics.simulation.fleet import SimulatedFleet
from holdfast.economics.simulation.job_run import JobRun, Phase
from holdfast.economics.simulation.repairs import Repairs
from holdfast.economics.simulation.rules import Rules
from holdfast.economics.simulation.scenario import Effect, PlannedMaintenance, Scenario
from holdfast.economics.simulation.scheduler import SimulatedScheduler
from holdfast.economics.simulation.silent import SINGLE, Silent
from holdfast.economics.simulation.spread import Streams
from holdfast.model.lifecycle import EventKind

_H = EventKind


class World:
    def __init__(self, scenario: Scenario, rules: Rules, streams: Streams) -> None:
        self.scenario = scenario
        self.clock = Clock(scenario.cluster.seconds)
        self.fleet = SimulatedFleet(scenario.cluster, self.clock, rules)
        self.runs = [JobRun(job, streams(f"job/{job.name}")) for job in scenario.jobs]
        self.repairs = Repairs(scenario.repair, self.fleet, self.clock, self._returned, self._strike, self._renewed)
        self.scheduler = SimulatedScheduler(self.runs, self.fleet, self.clock, self.repairs.clean_and_test, self._go)
        self.job_of = self.scheduler.job_of
        self.strikes = 0
        self.silent = Silent(self.fleet, self.clock, self.job_of, self._set_speed, self._take_out, self._interrupt)
        self._next_maintained = 0
        self._sources = {
            hazard.name: Failures(hazard, scenario.cluster, self.clock, streams, self._strike)
            for hazard in scenario.hazards
        }
        for plan in scenario.maintenance:
            self.clock.after(plan.every, self._maintain, plan)
        for run in self.runs:
            self.clock.at(run.job.submitted, self.scheduler.wait, run)

    def run(self) -> None:
        self.clock.run()
        for one in self.runs:
            one.settle(self.clock.end)
        self.fleet.close()
        self.scheduler.close()

    def _returned(self, node: int) -> None:
        """Handles a passed test: the node's own faults are over."""
        self.silent.cure(node)
        self.scheduler.place()

    def _renewed(self, case: Failure) -> None:
        self._sources[case.hazard.name].renew(case.unit)

    def _strike(self, failure: Failure) -> None:
        nodes = self.fleet.in_service(failure.nodes)
        if not nodes:
            return
        self.strikes += 1
        failure.number = self.strikes
        effect = failure.hazard.effect
        if effect is Effect.SLOWDOWN:
            self.silent.slow_down(failure, nodes)
        elif effect is Effect.CORRUPTION:
            self.silent.corrupt(failure, nodes[0])
        elif failure.hazard.on in SINGLE:
            self._crash(failure, nodes[0])
        else:
            self._outage(failure, nodes)

    # Crashes

    def _crash(self, failure: Failure, node: int) -> None:
        run = self.job_of.get(node)
        if run is None:
            if failure.hazard.takes_node:
                self.repairs.fail(node, failure, "")
        elif not (node in run.leaving and run.phase is Phase.STOPPED):
            self._interrupt(run, failure, {node: failure} if failure.hazard.takes_node else {})

    def _interrupt(self, run: JobRun, failure: Failure, leaving: dict[int, Failure]) -> None:
        """Stops a job.

        The failed nodes leave it when the failure is known. A job that already waits just waits for more.
        """
        run.leaving.update(leaving)
        if run.phase is Phase.WAITING:
            self._leave(run)
            return
        survives = failure.hazard.on in run.job.checkpoints.memory_survives
        seconds = run.stop(self.clock.now, failure, survives)
        self.clock.after(seconds, self._understood, (run, run.epoch))

    def _understood(self, who: tuple[JobRun, int]) -> None:
        run, epoch = who
        if run.epoch == epoch:
            run.become(Phase.WAITING, self.clock.now)
            self._leave(run)
            self.scheduler.wait(run)

    def _leave(self, run: JobRun) -> None:
        run.settle(self.clock.now)
        for node, why in sorted(run.leaving.items(), key=lambda item: item[0]):
            if node in run.nodes:
                self.scheduler.leave(run, node)
                self._take_out(node, why, run.job.name)
        run.leaving.clear()

    def _take_out(self, node: int, why: Failure | PlannedMaintenance, job: str) -> None:
        if isinstance(why, Failure):
            self.repairs.fail(node, why, job)
        else:
            self._work_on(node, why, job)

    def _go(self, run: JobRun) -> None:
        run.become(Phase.RUNNING, self.clock.now)
        run.from_memory = False
        self.silent.join(run)
        self._set_speed(run)

    def _set_speed(self, run: JobRun) -> None:
        """Sets the speed of the slowest node, then schedules the job's next own event: its end, or leaving a slow
        node behind."""
        run.settle(self.clock.now)
        run.work.speed = self.silent.speed(run)
        if run.phase is not Phase.RUNNING:
            return
        run.epoch += 1
        if run.job.work is not None:
            self.clock.after(run.work.seconds_until(run.job.work), self._finish, (run, run.epoch))
        if run.leaving:
            self.clock.after(run.work.seconds_to_save(), self._leave_behind, (run, run.epoch))

    def _finish(self, who: tuple[JobRun, int]) -> None:
        run, epoch = who
        if run.epoch == epoch:
            run.become(Phase.DONE, self.clock.now)
            run.finished = self.clock.now
            self.scheduler.release(run)
            self.scheduler.place()

    def _leave_behind(self, who: tuple[JobRun, int]) -> None:
        run, epoch = who
        if run.epoch == epoch:
            run.stop_as_planned(self.clock.now)
            self._leave(run)
            self.scheduler.wait(run)

    # Failures of more than a node

    def _outage(self, failure: Failure, nodes: list[int]) -> None:
        """Shared equipment is down: no node counts as failed, and all are tested afterwards."""
        hit: dict[int, JobRun] = {}
        for node in nodes:
            run = self.job_of.get(node)
            if run is not None:
                run.settle(self.clock.now)
                self.scheduler.leave(run, node)
                hit[id(run)] = run
            self.fleet.happen(node, _H.JOB_ENDED if run else _H.RETEST, job=run.job.name if run else "")
        for run in hit.values():
            self._interrupt(run, failure, {})
        lasts = failure.hazard.lasts or self.scenario.repair.time
        self.clock.after(lasts.at(failure.draw()), self._outage_over, nodes)

    def _outage_over(self, nodes: list[int]) -> None:
        for node in nodes:
            self.repairs.clean_and_test(node)

    # Planned work

    def _maintain(self, plan: PlannedMaintenance) -> None:
        """Maintains the next nodes in turn that are in service; jobs leave them at their next checkpoint."""
        count = self.scenario.cluster.nodes
        nodes = [(self._next_maintained + number) % count for number in range(plan.nodes)]
        self._next_maintained = (self._next_maintained + plan.nodes) % count
        for node in self.fleet.in_service(nodes):
            self.fleet.happen(node, _H.QUARANTINE)
            self.silent.drain(node, plan)
        self.clock.after(plan.every, self._maintain, plan)

    def _work_on(self, node: int, plan: PlannedMaintenance, job: str) -> None:
        if job:
            self.fleet.happen(node, _H.JOB_ENDED, job=job)
        self.fleet.happen(node, _H.EMPTIED)
        self.clock.after(plan.lasts.mean, self._worked_on, node)

    def _worked_on(self, node: int) -> None:
        self.fleet.happen(node, _H.RELEASE)
        self.repairs.clean_and_test(node)

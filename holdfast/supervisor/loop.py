"""The supervisor: attempts until the command ends well, or until another one would be a waste."""

import os
import time
from collections.abc import Callable
from dataclasses import replace

from holdfast.diagnosis import diagnose as room
from holdfast.diagnosis.diagnose import Diagnosis, subject_of
from holdfast.diagnosis.next_step import subject_words
from holdfast.model.evidence import Evidence
from holdfast.model.signal import Event
from holdfast.supervisor import gather, outliers, processes, storage_wait
from holdfast.supervisor.accounts import Accounts
from holdfast.supervisor.attempt import Attempt, Decision
from holdfast.supervisor.decide import decide, shell_code
from holdfast.supervisor.memory import Memory, Run
from holdfast.supervisor.options import Options
from holdfast.supervisor.watch import Outcome, Watch

Tell = Callable[[str], None]


class Supervisor:
    def __init__(self, options: Options, tell: Tell) -> None:
        self._options, self._tell = options, tell
        self._memory = Memory(options.folder)
        now = time.time()
        found = self._memory.load(options.command)
        self._run = found or Run(command=options.command, began=now)
        self._accounts = Accounts(time.monotonic(), self._run.ledger, self._run.best_step)
        if found:
            self._account_for_absence(now)
            tell(f"goes on with the run begun at {_clock(found.began)}, after {len(found.attempts)} attempts")

    def _account_for_absence(self, now: float) -> None:
        gap = max(now - self._run.saved, 0.0)
        ledger = replace(self._run.ledger, unknown=self._run.ledger.unknown + gap)
        self._accounts = Accounts(time.monotonic(), ledger, self._run.best_step)

    def run(self) -> int:
        processes.adopt_orphans()
        while True:
            outcome, attempt, decision = self._attempt(len(self._run.attempts) + 1)
            self._remember(attempt, decision)
            if outcome.signal:
                return self._finish(128 + outcome.signal, f"told to end by signal {outcome.signal}")
            if not decision.goes_on:
                return self._finish(decision.exit_code, decision.reason)
            why_not = self._wait(decision)
            if why_not:
                return self._finish(decision.exit_code, why_not)

    def _attempt(self, number: int) -> tuple[Outcome, Attempt, Decision]:
        options, began = self._options, time.time()
        log = options.folder / f"attempt_{number}.log"
        log.unlink(missing_ok=True)
        kernel = gather.KernelWatch(options.node, options.kernel_log, began)
        best = self._accounts.best_step
        self._accounts.begin(time.monotonic())
        self._save()
        outcome = Watch(options, self._accounts, self._tell).run(self._environ(number), log)
        self._accounts.end(time.monotonic(), well=outcome.exit_code == 0 and not outcome.ended_by)
        ended = time.time()
        evidence = [*gather.of_log(log, options.node), *kernel.evidence(ended), *self._own(outcome, ended)]
        kernel.close()
        evidence.append(gather.of_exit(outcome.exit_code, log, options.node, ended, options.command))
        diagnosis = room.diagnose(evidence)
        attempt = self._attempt_record(number, began, ended, outcome, diagnosis, best)
        return outcome, attempt, decide(diagnosis, [*self._run.attempts, attempt], options.budget, None)

    def _own(self, outcome: Outcome, at: float) -> list[Evidence]:
        """What the supervisor itself saw."""
        if not outcome.ended_by:
            return []
        began = at - outcome.silent_seconds
        event = Event(
            kind="watchdog", code="silence", at=at, text=outcome.ended_by, severity="warning",
            detail={"ran_ms": float(int(1000 * outcome.silent_seconds))},
        )  # fmt: skip
        return [Evidence(event=event, file="supervisor", role="watchdog"), *outliers.evidence(outcome.looks, began)]

    def _attempt_record(
        self, number: int, began: float, ended: float, outcome: Outcome, diagnosis: Diagnosis, best: int
    ) -> Attempt:
        first = diagnosis.causes[0] if diagnosis.causes else None
        return Attempt(
            number=number, began=began, ended=ended, exit_code=outcome.exit_code, ended_by=outcome.ended_by,
            cause=first.name if first else "", subject=str(subject_of(first)) if first else "",
            says=first.cause.says.replace("%s", subject_words(first)) if first else _bare(outcome),
            first_step=outcome.first_step, last_step=outcome.last_step, advanced=self._accounts.best_step > best,
            nodes=(self._options.node,),
        )  # fmt: skip

    def _environ(self, number: int) -> dict[str, str]:
        """The command's own environment; what it sets itself is left as it is."""
        return {"PYTHONUNBUFFERED": "1", **os.environ, "HOLDFAST_ATTEMPT": str(number)}

    def _remember(self, attempt: Attempt, decision: Decision) -> None:
        attempt = replace(attempt, decision=f"{decision.action}: {decision.reason}", evidence=decision.evidence)
        self._run = replace(self._run, attempts=(*self._run.attempts, attempt))
        self._save()
        where = f" at step {attempt.last_step}" if attempt.last_step is not None else ""
        self._tell(f"attempt {attempt.number} ended{where}: {attempt.says}")
        for line in decision.evidence:
            self._tell(f"  {line}")
        self._tell(f"{decision.action.replace('_', ' ')}: {decision.reason}")

    def _wait(self, decision: Decision) -> str:
        """Until it is time to start again; '' or why there is no use in it."""
        if decision.wait_seconds:
            self._tell(f"starts again in {decision.wait_seconds:.0f} s")
            time.sleep(decision.wait_seconds)
        if decision.action != "wait_for_storage" or not decision.storage:
            return ""
        trouble = storage_wait.wait(decision.storage, self._options.storage_patience_seconds, lambda: False)
        return f"{trouble} after {self._options.storage_patience_seconds:.0f} s" if trouble else ""

    def _finish(self, code: int, why: str) -> int:
        self._accounts.charge(time.monotonic(), "waiting")
        self._run = replace(self._run, finished=True, exit_code=code, outcome=why)
        self._save()
        self._tell(f"{'ended' if not code else f'ends with exit code {code}'}: {why}; {_spent(self._run)}")
        return code

    def _save(self) -> None:
        self._run = replace(
            self._run, saved=time.time(), ledger=self._accounts.ledger, wall_seconds=self._accounts.wall_seconds,
            best_step=self._accounts.best_step,
        )  # fmt: skip
        self._memory.save(self._run)


def _bare(outcome: Outcome) -> str:
    return "ended well" if not outcome.exit_code else f"ended with exit code {shell_code(outcome.exit_code)}"


def _clock(at: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at))


def _spent(run: Run) -> str:
    shares = sorted(run.ledger.shares().items(), key=lambda pair: -pair[1])
    return f"{run.wall_seconds:.0f} s: " + ", ".join(f"{100 * share:.0f} % {name}" for name, share in shares)

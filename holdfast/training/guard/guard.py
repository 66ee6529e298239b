"""Guard: finds silent corruption and the rank that caused it.

guard = Guard(model, optimizer, checkpoint=ckpt)
...
for finding in guard.step(step, loss=loss, grad_norm=norm):
    print(finding.sentence())
"""

import logging
import time
from bisect import bisect_left
from collections import deque
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import torch

from holdfast.training.checkpoint.agreement import Circle
from holdfast.training.guard import bundle
from holdfast.training.guard.checksum import Checksums, linear_layers
from holdfast.training.guard.deferred import Later
from holdfast.training.guard.finding import (
    Events,
    GuardFinding,
    GuardFindingKind,
    finding_of,
    finding_row,
    wrong_product,
)
from holdfast.training.guard.hash import digests, held
from holdfast.training.guard.jumps import JumpSeries
from holdfast.training.guard.replay import Compute, ReplayCause, Replayed, replay
from holdfast.training.guard.vote import VoteResult, count

LOG = logging.getLogger("holdfast.guard")
STEPS_REMEMBERED = 100_000
EVIDENCE = "guard-evidence"

Number = float | torch.Tensor | None


class Distrusting(Protocol):
    """Receives steps that must not be trusted; a Checkpoint is one."""

    def distrust(self, since: int, until: int, why: str) -> None: ...

    def not_a_number(self, step: int, why: str) -> None: ...


class HardwareReports(Protocol):
    """Receives errors of this rank's hardware; a Progress is one."""

    def happened(self) -> list[tuple[float, str]]: ...


class Guard:
    """Finds silent corruption. All ranks create one at the same place of their program, and call `step` after every
    optimizer step."""

    def __init__(
        self,
        model: torch.nn.Module,
        optimizer: torch.optim.Optimizer | None = None,
        vote_every: int = 100,  # steps between comparisons with the replicas; 0: never
        checksum_every: int = 20,  # steps between checked products; 0: never
        layers: list[str] | None = None,  # names of the Linear layers to check in turn; default: all
        checkpoint: Distrusting | None = None,  # receives the steps that are not trusted
        replica: str = "",  # ranks with different names are not expected to hold the same values
        progress: HardwareReports | None = None,  # reports errors that the agent of the node saw
        evidence: str | Path = "",  # folder for evidence; default: that of the checkpoint
    ) -> None:
        self._model, self._optimizer, self._checkpoint, self._replica = model, optimizer, checkpoint, replica
        self._progress = progress
        self.vote_every, self.checksum_every = vote_every, checksum_every
        self._circle = Circle()
        chosen = [pair for pair in linear_layers(model) if layers is None or pair[0] in layers]
        self._checksums = Checksums(chosen if checksum_every else [])
        self._series = {"loss": JumpSeries("loss"), "grad_norm": JumpSeries("gradient norm")}
        self._later: Later[int] = Later()
        self._unreported: list[GuardFinding] = []
        self._ended: deque[tuple[int, float]] = deque(maxlen=STEPS_REMEMBERED)
        self.last_good = -1  # the newest step on which all replicas agreed
        # the step before this run's first: loaded steps belong to an earlier run, which had its own checks
        self._before = -1
        self._sound: dict[tuple[int, ...], int] = {}  # for each layer shape, the newest step with a right product
        self._events = Events()
        home = getattr(checkpoint, "folder", None)
        self._evidence = Path(evidence) if evidence else home / EVIDENCE if isinstance(home, Path) else None
        self._product: dict[str, Any] | None = None  # of the last checksum that did not match
        self.unknown: dict[str, str] = {}  # what cannot be checked here, and why

    @property
    def findings(self) -> list[GuardFinding]:
        """All events so far, each with its number of occurrences."""
        return list(self._events.findings)

    def step(self, step: int, loss: Number = None, grad_norm: Number = None) -> list[GuardFinding]:
        """New findings: the first one of an event, then its 10th, 100th and 1000th. Values on a GPU are checked when
        they arrive, so training does not wait."""
        first = not self._ended
        if first:
            self._before = step - 1
        self._ended.append((step, time.time()))
        found = self._numbers(step, {"loss": loss, "grad_norm": grad_norm})
        if self.checksum_every:
            found += self._sums(step)
        self._unreported += found
        hardware = [self._hardware(*one) for one in (self._progress.happened() if self._progress else ())]
        # Also at the first step, so that a difference found later does not cast doubt on all steps saved before
        # this run.
        if self.vote_every and (first or step % self.vote_every == 0):
            found += self._vote(step)
        return [new for finding in hardware + found if (new := self._notify(finding)) is not None]

    def event(self, when: float, what: str) -> GuardFinding:
        """Records an error of this rank's hardware at `when` (Unix time): steps that ended since are not trusted."""
        finding = self._hardware(when, what)
        return self._notify(finding) or finding

    def _hardware(self, when: float, what: str) -> GuardFinding:
        at = bisect_left([ended for _, ended in self._ended], when)
        newest = self._ended[-1][0] if self._ended else self.last_good
        since = self._ended[at][0] if at < len(self._ended) else newest + 1
        sure = "certain that it was reported; whether numbers are wrong is not known"
        finding = GuardFinding(
            GuardFindingKind.HARDWARE, max(newest, since), since, (self._circle.rank,), True, what, sure
        )
        self._unreported.append(finding)
        return finding

    def replay(self, compute: Compute, batch: object, observed: torch.Tensor, before: dict[str, Any]) -> Replayed:
        """Compute the last step again, here and on the next rank; for all ranks together. See replay.py."""
        reported = replay(self._circle, compute, batch, observed, before)
        step = self._ended[-1][0] if self._ended else -1
        since = {ReplayCause.TRANSIENT: step, ReplayCause.PERSISTENT: min(self.last_good, step - 1) + 1}
        reported = replace(reported, step=step, since=since.get(reported.cause, -1))
        LOG.warning("%s", reported.sentence())
        if reported.suspect and self._checkpoint is not None and self._marks(reported.ranks):
            self._checkpoint.distrust(reported.since, self._next_vote(reported.step), reported.sentence())
        return reported

    def close(self) -> None:
        self._checksums.close()

    def _numbers(self, step: int, numbers: dict[str, Number]) -> list[GuardFinding]:
        for name, value in numbers.items():
            if value is not None:
                self._later.put(step, name, value)
        found = []
        for of_step, name, value in self._later.arrived():
            wrong = self._series[name].judge(value)
            if wrong:
                kind = (
                    GuardFindingKind.JUMP
                    if value == value and abs(value) != float("inf")
                    else GuardFindingKind.NOT_A_NUMBER
                )
                sure = "certain; the cause may be the data, another rank or this machine"
                found.append(GuardFinding(kind, of_step, of_step, (self._circle.rank,), True, wrong, sure))
        return found

    def _sums(self, step: int) -> list[GuardFinding]:
        found = []
        if step % self.checksum_every == 0:
            worst = self._checksums.worst()
            if self._checksums.unknown:
                self.unknown["checksum"] = self._checksums.unknown
            if worst is not None and worst.error > 1.0:
                since = self._sound.get(worst.shape, self._before) + 1
                what, sure = wrong_product(worst.name, worst.error, worst.precision)
                self._product = {"layer": worst.name, "weight_shape": worst.shape, **worst.product}
                found.append(
                    GuardFinding(GuardFindingKind.CHECKSUM, step, since, (self._circle.rank,), True, what, sure)
                )
            elif worst is not None:
                self._sound[worst.shape] = step
        if (step + 1) % self.checksum_every == 0:
            self._checksums.begin()
        return found

    def _vote(self, step: int) -> list[GuardFinding]:
        """Compare with the replicas, and collect what the others found meanwhile."""
        ballot = {
            f"{self._replica}{bucket}": value for bucket, value in digests(held(self._model, self._optimizer)).items()
        }
        gathered = self._circle.share([ballot, [finding_row(finding) for finding in self._unreported]])
        self._unreported.clear()
        result = count([row[0] for row in gathered])
        if result.unknown:
            self.unknown["vote"] = result.unknown
        others = [finding_of(row) for at, (_, rows) in enumerate(gathered) if at != self._circle.rank for row in rows]
        if result.minority:
            others.append(self._differ(step, result))
        elif not result.unknown:
            self.last_good = step
        return others

    def _differ(self, step: int, result: VoteResult) -> GuardFinding:
        last = f"they agreed at step {self.last_good}" if self.last_good >= 0 else "they have not agreed before"
        what = f"other bits than its replicas in {', '.join(result.buckets)}; {last}"
        sure = (
            "certain: most replicas agree bit for bit"
            if result.named
            else "certain that they differ; which of them is wrong is not known"
        )
        return GuardFinding(
            GuardFindingKind.REPLICA, step, self.last_good + 1, result.minority, result.named, what, sure
        )

    def _notify(self, finding: GuardFinding) -> GuardFinding | None:
        """Announce an event once, by the rank it is about and by rank 0; mark its steps each time."""
        new = self._events.add(finding)
        if new is not None:
            LOG.log(logging.WARNING if self._marks(finding.ranks) else logging.DEBUG, "%s", new.sentence())
            self._write_evidence(new)
        self._distrust(finding)
        return new

    def _write_evidence(self, finding: GuardFinding) -> None:
        """Writes evidence on the suspected rank, which has the values and the device."""
        if self._evidence is None or self._circle.rank not in finding.ranks:
            return
        device = next((tensor.device for tensor in self._model.parameters()), torch.device("cpu"))
        product = self._product if finding.kind is GuardFindingKind.CHECKSUM else None
        bundle.write(self._evidence, finding, self._circle.rank, device, product)

    def _distrust(self, finding: GuardFinding) -> None:
        if self._checkpoint is None or not self._marks(finding.ranks):
            return
        if finding.kind is GuardFindingKind.NOT_A_NUMBER:
            self._checkpoint.not_a_number(finding.step, finding.sentence())
        elif finding.kind is not GuardFindingKind.JUMP:
            self._checkpoint.distrust(finding.since, self._next_vote(finding.step), finding.sentence())

    def _marks(self, ranks: tuple[int, ...]) -> bool:
        """Whether this rank records untrusted steps: not all of a thousand, and not only one that may die."""
        return self._circle.rank == 0 or self._circle.rank in ranks

    def _next_vote(self, step: int) -> int:
        """The step of the next comparison: steps saved until then may be based on wrong values."""
        return (step // self.vote_every + 1) * self.vote_every - 1 if self.vote_every else step

"""Checkpoints that survive a node: copies in this node's memory, on partner nodes, and periodically in storage.

ckpt = Checkpoint(dir="/checkpoints/llama", replicas=2, every_steps=10, storage_every=1000)
state = {"model": model, "optimizer": optimizer, "random": Random(), "position": position}
step = ckpt.load(state) or 0
...
ckpt.save(step, state)
"""

import logging
import os
import secrets
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from holdfast.training.checkpoint import untrusted_steps as untrusted
from holdfast.training.checkpoint.agreement import Circle
from holdfast.training.checkpoint.candidates import Found, StepCandidate, candidates, sources
from holdfast.training.checkpoint.device.device import GpuMemory
from holdfast.training.checkpoint.format import shard
from holdfast.training.checkpoint.format.encoding import encode
from holdfast.training.checkpoint.format.message import EncodingError
from holdfast.training.checkpoint.keeper.peers import PeerRefused
from holdfast.training.checkpoint.keeper.placement import KeeperNode, Placement, chance_of_recovery, place
from holdfast.training.checkpoint.keeper.site import job_name, node_name
from holdfast.training.checkpoint.keeper_client import ANSWER_SECONDS, Held, Keeper
from holdfast.training.checkpoint.membership import SAVE_SECONDS, Membership
from holdfast.training.checkpoint.parts import forgotten_scaler
from holdfast.training.checkpoint.position import Position, untracked_loader
from holdfast.training.checkpoint.reshard import Resharding, describe, per_rank
from holdfast.training.checkpoint.restore import (
    MISFITS,
    CheckpointError,
    LoadRefused,
    State,
    check,
    decoded,
    in_one_line,
    prepared,
    put,
    snapshot,
)
from holdfast.training.checkpoint.storage import storage
from holdfast.training.checkpoint.storage.target import target_of
from holdfast.training.checkpoint.troubles import Troubles
from holdfast.training.checkpoint.untrusted_steps import FILE as UNTRUSTED_FILE
from holdfast.training.checkpoint.untrusted_steps import trusted
from holdfast.training.launch import lifetime

LOG = logging.getLogger("holdfast.checkpoint")
# Besides a keeper that is gone: what torch, NumPy and texts raise, in words, for a state that cannot be copied.
UNKEEPABLE = (OSError, ValueError, TypeError, RuntimeError, OverflowError)
SOON_STEPS = 20  # after a load: what is no number by then came with it


class Checkpoint:
    """All ranks make one, at the same place of their program; `load` is for all ranks together too, `save` is not."""

    def __init__(
        self,
        dir: str | Path,
        job: str = "",
        replicas: int = 2,  # nodes that hold each shard, this one among them
        every_steps: int = 1,  # `save` does nothing for other steps
        storage_every: int = 0,  # steps between copies in storage; 0 is never
        rack: str = "",  # partners are chosen in another one
        group: str = "",  # parallel group of this node; partners are chosen outside
        timeout_seconds: float = 10.0,  # how long a save waits where copying to partners is behind
        keeper_options: tuple[str, ...] = (),  # for a keeper that has to be started
        storage: str | Path = "",  # where steps are stored: a folder or an fsspec URL (s3://...); `dir` if not given
        storage_keep: int = 2,  # newest whole steps that stay in storage
        storage_keep_every: int = 0,  # multiples of this step stay for ever; 0 is none
        gpu_bytes: int = 0,  # for this rank's newest copy in the memory of another GPU of its node; 0 is none
    ) -> None:
        self.folder = Path(dir)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.job = job_name(job, self.folder)
        self.every_steps, self.storage_every, self.timeout_seconds = every_steps, storage_every, timeout_seconds
        self.loaded_from = ""  # GPU memory, own memory, partner or storage, after `load`
        self._troubles = Troubles()
        self._report = self._troubles.report
        self.circle = Circle()
        self.storage = str(storage) or str(self.folder)
        stored = ("--storage", self.storage, "--keep", str(storage_keep), "--keep-every", str(storage_keep_every))
        options = (*stored, *keeper_options)
        self._keeper = Keeper(self.job, self.folder, self.circle.rank, self.circle.world, options)
        self._membership = Membership(self._keeper)
        self._gpu = GpuMemory(gpu_bytes, self._report)
        self._members: dict[str, Any] = {}
        self._loaded: StepCandidate | None = None
        self._untracked: list[str] | None = None  # what was forgotten in the state; None before the first save
        self._replicas, self._here = (
            replicas,
            KeeperNode(node_name(), rack or os.environ.get("HOLDFAST_RACK", ""), group),
        )
        self._meet()
        lifetime.opened(self)

    @property
    def troubles(self) -> dict[str, str]:
        """What goes wrong now, by what it is about."""
        return self._troubles.all()

    def report(self, about: str, problem: str) -> None:
        """Log a problem once and list it in `troubles`."""
        self._report(about, problem)

    def save(self, step: int, state: State) -> bool:
        """Copy the state and return. A save that fails says so and is False; it never ends the training."""
        try:
            if step % self.every_steps:
                return False
            self._just_met = False
            self._membership.join(self._members, step - 1, SAVE_SECONDS)
            self._copy(step, state)
        except Exception as error:  # noqa: BLE001 - the parts of a state are others' code and raise what they like
            if isinstance(error, OSError) and not isinstance(error, PeerRefused):
                self._keeper.close()  # it is gone or no longer understood; the next save looks for it anew
            why = str(error) if isinstance(error, UNKEEPABLE) else repr(error)
            self._report("save", f"step {step} was not kept: {why}")
            return False
        finally:
            self._troubles.update(self._keeper.troubles)
        self._troubles.forget("save", "keeper")
        lifetime.saved()
        return True

    def load(self, state: State) -> int | None:
        """Bring the state back to the newest step that all ranks can have, and return that step; None is a start."""
        if not self.circle.all(self._just_met):  # this run has saved or loaded: what was found then is history
            self._meet()
        self._just_met, self._loaded, self.loaded_from, self._refused = False, None, "", ""
        rows = candidates(self._found)
        self._refuse_remains_of_another_world(rows)
        if rows and not (rows := trusted(rows, self._untrusted)):
            raise LoadRefused(
                f"every saved step is suspect: {self.folder / UNTRUSTED_FILE} lists the reasons; remove it to load one"
            )
        for candidate in rows:
            if self._take(candidate, state):
                self._loaded = candidate
                self._join_or_log(candidate.step)
                LOG.info("rank %d: step %d from %s", self.circle.rank, candidate.step, self.loaded_from)
                return candidate.step
            LOG.warning("some ranks cannot load step %d, trying an older one", candidate.step)
        if rows:
            why = f"; {self._refused}" if self._refused else ""
            raise LoadRefused(f"{self.folder}: none of {len(rows)} saved steps could be loaded by all ranks{why}")
        self._report_remains()
        self._join_or_log(-1)
        return None

    def status(self) -> dict[str, Any]:
        """What this node's keeper holds, and the last committed step."""
        return {**self._keeper.status(), "gpu": self._gpu.describe()}

    def flush(self, seconds: float = 120.0) -> list[int]:
        """Have this node's keeper write to storage now what it holds, and wait; the steps that are there."""
        try:
            return self._keeper.flush(seconds)
        except OSError as error:
            self._report("flush", str(error))
            return []

    def distrust(self, since: int, until: int, why: str, tier: str = "") -> None:
        """Steps of this run, and of the one it came from, that are not to be loaded again; of one tier or of all."""
        self._mark(
            since, until, {self._members["attempt"], *(row.attempt for row in candidates(self._found))}, tier, why
        )

    def _mark(self, since: int, until: int, runs: set[str], tier: str, why: str) -> None:
        try:
            untrusted.note(self.folder, untrusted.UntrustedStep(since, until, tuple(sorted(runs)), tier, why))
        except OSError as error:
            self._report("distrust", f"steps {since} to {until} are suspect and could not be marked: {error}")

    def not_a_number(self, step: int, why: str) -> None:
        """What was no number so soon after a load came with it: next time the next tier is asked, and no one for what
        this run saved since."""
        if self._loaded is not None and 0 <= step - self._loaded.step <= SOON_STEPS:
            tier = untrusted.STORAGE if self.loaded_from.startswith("storage") else untrusted.MEMORY
            self.distrust(self._loaded.step if tier == untrusted.STORAGE else 0, step, why, tier)
            self._mark(self._loaded.step + 1, step, {self._members["attempt"]}, untrusted.ANY, why)

    def communicating(self, now: bool) -> None:
        """This rank uses the network now, or no more: its keeper sends in between. `Progress.watch` calls it."""
        self._keeper.communicating(now)

    def close(self) -> None:
        self._gpu.close()
        self._keeper.close()

    def _meet(self) -> None:
        """Exchange what each rank has; all agree on the same placement and name for this run."""
        here = self._here
        held: list[Held] = []
        refusal = ""
        try:
            held = self._membership.attach()
        except PeerRefused as error:
            refusal = f"rank {self.circle.rank} on {here.name}: {error}"
        except OSError as error:
            self._report("keeper", f"rank {self.circle.rank} goes on without: {error}")
        about = self._keeper.about
        stored = self._stored_shards() if self.circle.rank == 0 else []
        mine = [here.name, here.rack, here.group, about.get("address", ""), [_row(copy) for copy in held], stored]
        marked = [untrusted.to_row(one) for one in untrusted.noted(self.folder)] if self.circle.rank == 0 else []
        rows = self.circle.share([*mine, secrets.token_hex(8), marked, refusal])
        if refusals := [row[8] for row in rows if row[8]]:  # going on would save over what another run needs
            raise LoadRefused("; ".join(refusals[:3]))
        self._untrusted = [untrusted.of_row(row) for row in rows[0][7]]
        self._found = [Found(row[0], row[3], tuple(map(Held.of, row[4])), tuple(map(tuple, row[5]))) for row in rows]
        nodes = {row[0]: KeeperNode(row[0], row[1], row[2]) for row in rows}
        self.placement: Placement = place(list(nodes.values()), self._replicas)
        self._members = {
            "attempt": rows[0][6],
            "addresses": {one.node: one.address for one in self._found if one.address},
            "partners": self.placement.partners(here.name),
            "counter": next((row[0] for row in rows if row[3]), rows[0][0]),  # one that has a keeper
            "stores": bool(self.storage_every),
        }
        self._membership.meet()
        if self.circle.rank == 0:
            self._describe()
        self._just_met = True

    def _describe(self) -> None:
        nodes = sum(len(circle) for circle in self.placement.circles)
        if nodes < self._replicas:
            self._report("placement", f"{self._replicas} replicas were asked for, but there are {nodes} nodes")
        for sentence in self.placement.shared():
            self._report(f"placement {sentence}", sentence)
        chances = [
            f"{lost}: {100 * chance_of_recovery(self.placement, lost):.1f} %" for lost in range(1, min(nodes, 4) + 1)
        ]
        LOG.info("probability that memory alone recovers after the loss of this many nodes: %s", ", ".join(chances))

    def _join_or_log(self, step: int) -> None:
        """Without a keeper the training goes on; the next save looks for one."""
        try:
            self._membership.join(self._members, step, ANSWER_SECONDS)
        except PeerRefused:
            raise
        except OSError as error:
            self._keeper.close()
            self._report("keeper", f"rank {self.circle.rank} goes on without: {error}")

    def _report_remains(self) -> None:
        """Training begins anew although something was saved: whoever pays for that should know why."""
        ranks = sorted({copy.rank for one in self._found for copy in one.held})
        parts = self._stored_names()
        if ranks or parts:
            held = f"memory has copies of ranks {', '.join(map(str, ranks))} only" if ranks else "memory has nothing"
            stored = f"storage has no whole step ({', '.join(parts[-3:])})" if parts else "storage has nothing"
            self._report("load", f"no step is whole, so this run begins anew: {held}, {stored}")

    def _copy(self, step: int, state: State) -> None:
        about = shard.About(self.job, self.circle.rank, self.circle.world, step)
        encoded = encode({name: snapshot(part) for name, part in state.items()})
        layout = shard.plan(about, encoded, self._data_notes(state))
        store = bool(self.storage_every) and step % self.storage_every == 0
        buffer, pages = self._keeper.reserve(layout.size, self.timeout_seconds, step)
        order = {
            "step": step,
            "attempt": self._members["attempt"],
            "store": store,
            "size": layout.size,
            "buffer": buffer,
        }
        try:
            if self._gpu.put(self._keeper, layout, encoded, order):
                return
            self._gpu.lock(pages, encoded)
            shard.write(layout, encoded, pages.map)
        except BaseException:
            self._keeper.close()  # which gives the buffer back
            raise
        self._keeper.seal(order)

    def _refuse_remains_of_another_world(self, rows: list[StepCandidate]) -> None:
        """Fewer ranks came, and not all shards with them: beginning anew would lose what another start can have."""
        copies = [copy for one in self._found for copy in one.held]
        newest = max(copies, key=lambda copy: copy.step, default=None)
        if rows or newest is None or newest.world == self.circle.world:
            return
        same = (newest.step, newest.attempt, newest.world)
        held = {copy.rank for copy in copies if (copy.step, copy.attempt, copy.world) == same}
        missing = ", ".join(str(rank) for rank in range(newest.world) if rank not in held)
        raise LoadRefused(
            f"{self.folder}: {newest.world} ranks saved step {newest.step}; the shards of ranks {missing} are in no "
            f"keeper of this run and not in storage; start it on the nodes that hold them, or end their keepers "
            "(holdfast job clean) to start from the beginning"
        )

    def _take(self, candidate: StepCandidate, state: State) -> bool:
        """Bring the state to this step, if all ranks can have what they need of it."""
        if candidate.world != self.circle.world:
            return self._take_resharded(candidate, state)
        got = self._obtain(candidate, self.circle.rank)
        if not self.circle.all(got is not None):
            return False
        assert got is not None
        if not self._all_can(candidate, lambda: put(prepared(got, state), state)):
            return False
        self._log_notes(got)
        return True

    def _all_can(self, candidate: StepCandidate, action: Callable[[], None]) -> bool:
        """Whether no rank's saved values stand in the way. A state of other parts ends the load on all ranks: the
        program changed, and an older step would not fit better."""
        problem, ends = "", False
        try:
            action()
        except (EncodingError, CheckpointError) as error:
            problem, ends = str(error), isinstance(error, LoadRefused)
        rows = [row for row in self.circle.share([problem, ends]) if row[0]]
        if not rows:
            return True
        cut = "" if candidate.world == self.circle.world else f" of {candidate.world} ranks for {self.circle.world}"
        reason = f"step {candidate.step}{cut}: {rows[0][0]}"
        if any(row[1] for row in rows):
            raise LoadRefused(next(row[0] for row in rows if row[1]))
        self._refused = self._refused or reason
        self._report("load", reason)
        return False

    def _log_notes(self, got: shard.Shard) -> None:
        for note in got.notes:
            self._report(_subject(note), f"reported when the step was saved: {note}")

    def _take_resharded(self, candidate: StepCandidate, state: State) -> bool:
        rank, world = self.circle.rank, self.circle.world
        shards = self._obtain_all(candidate, range(rank, candidate.world, world))
        if not self.circle.all(shards is not None):
            return False
        assert shards is not None
        own = per_rank(state)
        described: list[Any] = []
        held = shards
        if not self._all_can(candidate, lambda: described.extend(_described(held, own))):
            return False
        shared = self.circle.share(described)
        by_rank = {saved: row for part in shared for saved, row in part}
        rows = [by_rank[saved] for saved in sorted(by_rank)]
        problem, saved, plan = "", None, None
        try:
            plan = Resharding(rows, rank, world, state)
            more = self._obtain_all(candidate, sorted(plan.needed(list(shards)) - shards.keys()))
            if more is None:
                problem = "retry"
            else:
                shards = {**shards, **more}
                saved = decoded(plan.assemble(shards), plan.like, state)
                there = {name: None for name in own if name in rows[plan.template]["names"]}
                check({**there, **saved}, state)
        except (EncodingError, CheckpointError) as error:
            problem = str(error)
        problems = [one for one in self.circle.share(problem) if one]
        if any(one != "retry" for one in problems):
            reason = next(one for one in problems if one != "retry")
            raise LoadRefused(f"step {candidate.step} of {candidate.world} ranks for {world}: {reason}")
        if problems or plan is None or saved is None:
            return False
        if not self._all_can(candidate, lambda: _put_resharded(plan, saved, own, state)):
            return False
        for note in plan.notes:
            self._report(f"load {note.partition(':')[0]}", note)
        for got in shards.values():
            self._log_notes(got)
        self._drop_borrowed(candidate, shards)
        self.loaded_from = f"{self.loaded_from}, saved by {candidate.world} ranks"
        return True

    def _obtain_all(self, candidate: StepCandidate, ranks: Iterable[int]) -> dict[int, shard.Shard] | None:
        shards: dict[int, shard.Shard] = {}
        for rank in ranks:
            got = self._obtain(candidate, rank)
            if got is None:
                return None
            shards[rank] = got
        return shards

    def _obtain(self, candidate: StepCandidate, rank: int) -> shard.Shard | None:
        """A rank's shard of the step from the nearest place that has it whole."""
        own = rank == self.circle.rank
        if own and candidate.in_memory:
            near = self._gpu.get(self._keeper, candidate.step, candidate.attempt)
            if near is not None:
                self.loaded_from = "GPU memory"
                return near
        for address in sources(self._found, rank, candidate, self.circle.rank):
            try:
                held, pages = self._keeper.fetch(candidate.step, address, rank)
                if pages.digest(held.size) != held.digest:
                    raise EncodingError("the bytes differ from those that were saved")
                got = shard.read(pages.map, held.size)
            except (OSError, EncodingError) as error:
                self._report("load", f"step {candidate.step} from {address or 'own memory'}: {error}")
                if isinstance(error, OSError) and not isinstance(error, PeerRefused):
                    self._find_keeper()  # partners are asked by way of our own
                continue
            self.loaded_from = f"partner {address}" if address else "own memory"
            return got
        return self._from_storage(candidate, rank) if rank in candidate.in_storage else None

    def _drop_borrowed(self, candidate: StepCandidate, shards: Iterable[int]) -> None:
        """What came from other nodes for this load alone need not stay in this node's memory."""
        here = {copy.rank for copy in self._found[self.circle.rank].held if copy.step == candidate.step}
        for rank in shards:
            if rank not in here and rank in candidate.in_memory:
                with suppress(OSError):
                    self._keeper.drop(candidate.step, rank)

    def _find_keeper(self) -> None:
        try:
            self._membership.attach()
        except OSError as error:
            self._report("keeper", str(error))

    def _from_storage(self, candidate: StepCandidate, rank: int) -> shard.Shard | None:
        try:
            got, attempt = storage.read(self.storage, candidate.step, rank)
        except (OSError, EncodingError) as error:
            self._report("load", f"step {candidate.step} from storage: {error}")
            return None
        if attempt != candidate.attempt:
            self._report("load", f"step {candidate.step} from storage: it was written over by another run")
            return None
        if got.about.job != self.job:
            self._report(
                "job", f"step {candidate.step} in storage was saved by job {got.about.job}, this is {self.job}"
            )
        self.loaded_from = "storage"
        return got

    def _data_notes(self, state: State) -> list[str]:
        """What the copy should hold and does not; logged when it is saved and when it is loaded."""
        if self._untracked is None:
            found = (untracked_loader(state.values()), forgotten_scaler(state.values()))
            self._untracked = [note for note in found if note]
        positions = [part.problem for part in state.values() if isinstance(part, Position) and part.problem]
        notes = [*positions, *self._untracked]
        for note in notes:
            self._report(_subject(note), note)
        return notes

    def _stored_shards(self) -> list[tuple[int, str, int, list[int]]]:
        try:
            return storage.shards(self.storage, self._log_damaged)
        except OSError as error:
            self._report("storage", f"{self.storage} cannot be read: {error}")
            return []

    def _stored_names(self) -> list[str]:
        try:
            return target_of(self.storage).names("step-*")
        except OSError:
            return []

    def _log_damaged(self, sentence: str) -> None:
        self._report(f"storage {sentence.partition(':')[0]}", sentence)


def _subject(note: str) -> str:
    """What a note is about: one of the data must not hide one of the loss scale."""
    return "loss scale" if "GradScaler" in note else "data"


def _described(shards: dict[int, shard.Shard], own: set[str]) -> list[Any]:
    try:
        return [[saved, describe(got, own)] for saved, got in shards.items()]
    except MISFITS as error:
        raise EncodingError(f"not a state: {in_one_line(error)}") from error


def _put_resharded(plan: Resharding, saved: dict[str, Any], own: set[str], state: State) -> None:
    put({name: value for name, value in saved.items() if not plan.keeps_own(name)}, state)
    for name in own:
        try:
            state[name].load_resharded(plan.states(name), plan.rank, plan.world)
        except MISFITS as error:
            raise CheckpointError(f"{name}: {in_one_line(error)}") from error


def _row(copy: Held) -> list[object]:
    return [copy.rank, copy.step, copy.attempt, copy.world, copy.size, copy.digest]

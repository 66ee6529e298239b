"""Checkpoints that survive a node: copies in this node's memory, on partner nodes, and periodically in storage.

ckpt = Checkpoint(dir="/checkpoints/llama", replicas=2, every_steps=10, storage_every=1000)
state = {"model": model, "optimizer": optimizer, "random": Random(), "position": position}
step = ckpt.load(state) or 0
...
ckpt.save(step, state)
"""

import logging
import os
from pathlib import Path
from typing import Any

from holdfast.training.checkpoint import untrusted_steps as untrusted
from holdfast.training.checkpoint.agreement import Circle
from holdfast.training.checkpoint.candidates import StepCandidate, candidates
from holdfast.training.checkpoint.device.device import GpuMemory
from holdfast.training.checkpoint.discovery import Discovery
from holdfast.training.checkpoint.format import shard
from holdfast.training.checkpoint.format.encoding import encode
from holdfast.training.checkpoint.keeper.peers import PeerRefused
from holdfast.training.checkpoint.keeper.placement import KeeperNode
from holdfast.training.checkpoint.keeper.site import job_name, node_name
from holdfast.training.checkpoint.keeper_client import ANSWER_SECONDS, Keeper
from holdfast.training.checkpoint.membership import SAVE_SECONDS, Membership
from holdfast.training.checkpoint.parts import forgotten_scaler
from holdfast.training.checkpoint.position import Position, untracked_loader
from holdfast.training.checkpoint.restore import LoadRefused, State, snapshot
from holdfast.training.checkpoint.shard_reader import ShardReader
from holdfast.training.checkpoint.step_loader import StepLoader, subject_of
from holdfast.training.checkpoint.troubles import Troubles
from holdfast.training.checkpoint.untrusted_steps import FILE as UNTRUSTED_FILE
from holdfast.training.checkpoint.untrusted_steps import trusted
from holdfast.training.launch import lifetime

LOG = logging.getLogger("holdfast.checkpoint")
# Exceptions whose text explains why a state cannot be copied, from torch, NumPy and text encoding.
UNKEEPABLE = (OSError, ValueError, TypeError, RuntimeError, OverflowError)
SOON_STEPS = 20  # a NaN within this many steps after a load was probably loaded


class Checkpoint:
    """Saves and loads the state of a training.

    All ranks create one at the same place of their program. All ranks call `load` together; `save` has no such rule.
    """

    def __init__(
        self,
        dir: str | Path,
        job: str = "",
        replicas: int = 2,  # nodes that hold each shard, including this one
        every_steps: int = 1,  # `save` does nothing for other steps
        storage_every: int = 0,  # steps between copies in storage; 0: never
        rack: str = "",  # partners are chosen in another rack
        group: str = "",  # parallel group of this node; partners are chosen outside of it
        timeout_seconds: float = 10.0,  # longest wait of a save while copying to partners is behind
        keeper_options: tuple[str, ...] = (),  # command-line options for a keeper that this process starts
        storage: str | Path = "",  # where steps are stored: a folder or an fsspec URL (s3://...); default: `dir`
        storage_keep: int = 2,  # newest complete steps that stay in storage
        storage_keep_every: int = 0,  # multiples of this step are never removed; 0: none
        gpu_bytes: int = 0,  # for this rank's newest copy in the memory of another GPU of its node; 0: none
    ) -> None:
        self.folder = Path(dir)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.job = job_name(job, self.folder)
        self.every_steps, self.storage_every, self.timeout_seconds = every_steps, storage_every, timeout_seconds
        self._troubles = Troubles()
        self._report = self._troubles.report
        self.circle = Circle()
        self.storage = str(storage) or str(self.folder)
        stored = ("--storage", self.storage, "--keep", str(storage_keep), "--keep-every", str(storage_keep_every))
        options = (*stored, *keeper_options)
        self._keeper = Keeper(self.job, self.folder, self.circle.rank, self.circle.world, options)
        self._membership = Membership(self._keeper)
        self._gpu = GpuMemory(gpu_bytes, self._report)
        self._reader = ShardReader(self._keeper, self._membership, self._gpu, self.storage, self._report)
        self._loader = StepLoader(self.circle, self._reader, self._report)
        self._loaded: StepCandidate | None = None
        self._untracked: list[str] | None = None  # parts missing in the state; None before the first save
        here = KeeperNode(node_name(), rack or os.environ.get("HOLDFAST_RACK", ""), group)
        self._discovery = Discovery(
            self.circle, self._keeper, self._membership, here, replicas, self.folder, self.storage, self._report
        )
        self._meet()
        lifetime.opened(self)

    @property
    def troubles(self) -> dict[str, str]:
        """Current problems, by subject."""
        return self._troubles.all()

    @property
    def loaded_from(self) -> str:
        """The tier that `load` read: GPU memory, own memory, partner or storage."""
        return self._reader.source

    def report(self, about: str, problem: str) -> None:
        """Logs a problem once and lists it in `troubles`."""
        self._report(about, problem)

    def save(self, step: int, state: State) -> bool:
        """Copies the state and returns. A save that fails reports why and returns False; it never ends the training."""
        try:
            if step % self.every_steps:
                return False
            self._just_met = False
            self._membership.join(self._discovery.members, step - 1, SAVE_SECONDS)
            self._copy(step, state)
        except Exception as error:  # noqa: BLE001 - the parts of a state are foreign code and may raise anything
            if isinstance(error, OSError) and not isinstance(error, PeerRefused):
                self._keeper.close()  # it ended or sends invalid data; the next save looks for a new one
            why = str(error) if isinstance(error, UNKEEPABLE) else repr(error)
            self._report("save", f"step {step} was not kept: {why}")
            return False
        finally:
            self._troubles.update(self._keeper.troubles)
        self._troubles.forget("save", "keeper")
        lifetime.saved()
        return True

    def load(self, state: State) -> int | None:
        """Loads the newest step that all ranks can have, and returns it; None: start from the beginning."""
        if not self.circle.all(self._just_met):  # this run has saved or loaded since then, so exchange the steps again
            self._meet()
        self._just_met, self._loaded, self._reader.source, self._loader.refused = False, None, "", ""
        rows = candidates(self._discovery.found)
        self._discovery.refuse_remains_of_another_world(rows)
        if rows and not (rows := trusted(rows, self._discovery.untrusted)):
            raise LoadRefused(
                f"every saved step is suspect: {self.folder / UNTRUSTED_FILE} lists the reasons; remove it to load one"
            )
        for candidate in rows:
            if self._loader.load(candidate, state):
                self._loaded = candidate
                self._join_or_log(candidate.step)
                LOG.info("rank %d: step %d from %s", self.circle.rank, candidate.step, self.loaded_from)
                return candidate.step
            LOG.warning("some ranks cannot load step %d, trying an older one", candidate.step)
        if rows:
            why = f"; {self._loader.refused}" if self._loader.refused else ""
            raise LoadRefused(f"{self.folder}: none of {len(rows)} saved steps could be loaded by all ranks{why}")
        self._discovery.report_remains()
        self._join_or_log(-1)
        return None

    def status(self) -> dict[str, Any]:
        """Copies of this node's keeper, and the last committed step."""
        return {**self._keeper.status(), "gpu": self._gpu.describe()}

    def flush(self, seconds: float = 120.0) -> list[int]:
        """Waits while this node's keeper writes its copies to storage now; returns the steps in storage."""
        try:
            return self._keeper.flush(seconds)
        except OSError as error:
            self._report("flush", str(error))
            return []

    def distrust(self, since: int, until: int, why: str, tier: str = "") -> None:
        """Marks steps of this run, and of the one it was loaded from, as untrusted: in one tier or in all."""
        runs = {self._discovery.attempt, *(row.attempt for row in candidates(self._discovery.found))}
        self._mark(since, until, runs, tier, why)

    def _mark(self, since: int, until: int, runs: set[str], tier: str, why: str) -> None:
        try:
            untrusted.note(self.folder, untrusted.UntrustedStep(since, until, tuple(sorted(runs)), tier, why))
        except OSError as error:
            self._report("distrust", f"steps {since} to {until} are suspect and could not be marked: {error}")

    def not_a_number(self, step: int, why: str) -> None:
        """Handles a NaN. Soon after a load, the loaded copy is the likely cause.

        The next load then uses the next tier, and none of the steps that this run has saved since.
        """
        if self._loaded is not None and 0 <= step - self._loaded.step <= SOON_STEPS:
            tier = untrusted.STORAGE if self.loaded_from.startswith("storage") else untrusted.MEMORY
            self.distrust(self._loaded.step if tier == untrusted.STORAGE else 0, step, why, tier)
            self._mark(self._loaded.step + 1, step, {self._discovery.attempt}, untrusted.ANY, why)

    def communicating(self, now: bool) -> None:
        """Tells the keeper whether this rank uses the network, so that it sends in between. For `Progress.watch`."""
        self._keeper.communicating(now)

    def close(self) -> None:
        self._gpu.close()
        self._keeper.close()

    def _meet(self) -> None:
        self._discovery.meet(stores=bool(self.storage_every))
        self._reader.found = self._discovery.found
        self._just_met = True

    def _join_or_log(self, step: int) -> None:
        """Joins the run at the keeper. Without one the training continues; the next save looks for a keeper."""
        try:
            self._membership.join(self._discovery.members, step, ANSWER_SECONDS)
        except PeerRefused:
            raise
        except OSError as error:
            self._keeper.close()
            self._report("keeper", f"rank {self.circle.rank} continues without a keeper: {error}")

    def _copy(self, step: int, state: State) -> None:
        about = shard.About(self.job, self.circle.rank, self.circle.world, step)
        encoded = encode({name: snapshot(part) for name, part in state.items()})
        layout = shard.plan(about, encoded, self._data_notes(state))
        buffer, pages = self._keeper.reserve(layout.size, self.timeout_seconds, step)
        order = {
            "step": step,
            "attempt": self._discovery.attempt,
            "store": bool(self.storage_every) and step % self.storage_every == 0,
            "size": layout.size,
            "buffer": buffer,
        }
        try:
            if self._gpu.put(self._keeper, layout, encoded, order):
                return
            self._gpu.lock(pages, encoded)
            shard.write(layout, encoded, pages.map)
        except BaseException:
            self._keeper.close()  # returns the buffer
            raise
        self._keeper.seal(order)

    def _data_notes(self, state: State) -> list[str]:
        """Parts that the state should have and does not; logged when it is saved and when it is loaded."""
        if self._untracked is None:
            found = (untracked_loader(state.values()), forgotten_scaler(state.values()))
            self._untracked = [note for note in found if note]
        positions = [part.problem for part in state.values() if isinstance(part, Position) and part.problem]
        notes = [*positions, *self._untracked]
        for note in notes:
            self._report(subject_of(note), note)
        return notes

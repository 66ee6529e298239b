"""What the ranks of a run find when they meet: copies in memory, shards in storage, untrusted steps, partners."""

import logging
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

from holdfast.training.checkpoint import untrusted_steps as untrusted
from holdfast.training.checkpoint.agreement import Circle
from holdfast.training.checkpoint.candidates import Found, StepCandidate
from holdfast.training.checkpoint.keeper.peers import PeerRefused
from holdfast.training.checkpoint.keeper.placement import KeeperNode, Placement, chance_of_recovery, place
from holdfast.training.checkpoint.keeper_client import Held, Keeper
from holdfast.training.checkpoint.membership import Membership
from holdfast.training.checkpoint.restore import LoadRefused
from holdfast.training.checkpoint.storage import storage
from holdfast.training.checkpoint.storage.target import target_of

LOG = logging.getLogger("holdfast.checkpoint")


class Discovery:
    """Exchanges what each rank has; all ranks agree on one placement and one name of this run."""

    def __init__(
        self,
        circle: Circle,
        keeper: Keeper,
        membership: Membership,
        here: KeeperNode,
        replicas: int,
        folder: Path,
        target: str,
        report: Callable[[str, str], None],
    ) -> None:
        self._circle, self._keeper, self._membership = circle, keeper, membership
        self._here, self._replicas, self._folder, self._storage = here, replicas, folder, target
        self._report = report
        self.attempt = ""
        self.found: list[Found] = []
        self.untrusted: list[untrusted.UntrustedStep] = []
        self.members: dict[str, Any] = {}

    def meet(self, stores: bool) -> None:
        """`stores`: whether this run writes steps to storage."""
        here, rank = self._here, self._circle.rank
        held, refusal = self._attach()
        about = self._keeper.about
        stored = self._stored_shards() if rank == 0 else []
        mine = [here.name, here.rack, here.group, about.get("address", ""), [_row(copy) for copy in held], stored]
        marked = [untrusted.to_row(one) for one in untrusted.noted(self._folder)] if rank == 0 else []
        rows = self._circle.share([*mine, secrets.token_hex(8), marked, refusal])
        if refusals := [row[8] for row in rows if row[8]]:  # this run would overwrite what another run needs
            raise LoadRefused("; ".join(refusals[:3]))
        self.untrusted = [untrusted.of_row(row) for row in rows[0][7]]
        self.found = [Found(row[0], row[3], tuple(map(Held.of, row[4])), tuple(map(tuple, row[5]))) for row in rows]
        nodes = {row[0]: KeeperNode(row[0], row[1], row[2]) for row in rows}
        placement = place(list(nodes.values()), self._replicas)
        self.attempt = rows[0][6]
        self.members = {
            "attempt": self.attempt,
            "addresses": {one.node: one.address for one in self.found if one.address},
            "partners": placement.partners(here.name),
            "counter": next((row[0] for row in rows if row[3]), rows[0][0]),  # the first node with a keeper
            "stores": stores,
        }
        self._membership.meet()
        if rank == 0:
            self._describe(placement)

    def refuse_remains_of_another_world(self, rows: list[StepCandidate]) -> None:
        """Refuses to start from the beginning if the number of ranks changed and shards are missing.

        A start on other nodes may still have these shards.
        """
        copies = [copy for one in self.found for copy in one.held]
        newest = max(copies, key=lambda copy: copy.step, default=None)
        if rows or newest is None or newest.world == self._circle.world:
            return
        same = (newest.step, newest.attempt, newest.world)
        held = {copy.rank for copy in copies if (copy.step, copy.attempt, copy.world) == same}
        missing = ", ".join(str(rank) for rank in range(newest.world) if rank not in held)
        raise LoadRefused(
            f"{self._folder}: {newest.world} ranks saved step {newest.step}; the shards of ranks {missing} are in no "
            f"keeper of this run and not in storage; start it on the nodes that hold them, or end their keepers "
            "(holdfast job clean) to start from the beginning"
        )

    def report_remains(self) -> None:
        """Reports what was saved if the training starts from the beginning nevertheless."""
        ranks = sorted({copy.rank for one in self.found for copy in one.held})
        parts = self._stored_names()
        if ranks or parts:
            held = f"memory has copies of ranks {', '.join(map(str, ranks))} only" if ranks else "memory has nothing"
            stored = f"storage has no whole step ({', '.join(parts[-3:])})" if parts else "storage has nothing"
            self._report("load", f"no step is whole, so this run starts from the beginning: {held}, {stored}")

    def _attach(self) -> tuple[list[Held], str]:
        """The keeper's copies, and its reason if it refuses this rank."""
        try:
            return self._membership.attach(), ""
        except PeerRefused as error:
            return [], f"rank {self._circle.rank} on {self._here.name}: {error}"
        except OSError as error:
            self._report("keeper", f"rank {self._circle.rank} continues without a keeper: {error}")
            return [], ""

    def _describe(self, placement: Placement) -> None:
        nodes = sum(len(circle) for circle in placement.circles)
        if nodes < self._replicas:
            self._report("placement", f"{self._replicas} replicas are configured, but there are {nodes} nodes")
        for sentence in placement.shared():
            self._report(f"placement {sentence}", sentence)
        chances = [f"{lost}: {100 * chance_of_recovery(placement, lost):.1f} %" for lost in range(1, min(nodes, 4) + 1)]
        LOG.info("probability that memory alone recovers after the loss of this many nodes: %s", ", ".join(chances))

    def _stored_shards(self) -> list[tuple[int, str, int, list[int]]]:
        try:
            return storage.shards(self._storage, self._report_damaged)
        except OSError as error:
            self._report("storage", f"{self._storage} cannot be read: {error}")
            return []

    def _stored_names(self) -> list[str]:
        try:
            return target_of(self._storage).names("step-*")
        except OSError:
            return []

    def _report_damaged(self, sentence: str) -> None:
        self._report(f"storage {sentence.partition(':')[0]}", sentence)


def _row(copy: Held) -> list[object]:
    return [copy.rank, copy.step, copy.attempt, copy.world, copy.size, copy.digest]

"""Reads the shards of a step from the nearest place that has them whole: GPU memory, own memory, partner, storage."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress

from holdfast.training.checkpoint.candidates import Found, StepCandidate, sources
from holdfast.training.checkpoint.device.device import GpuMemory
from holdfast.training.checkpoint.format import shard
from holdfast.training.checkpoint.format.message import EncodingError
from holdfast.training.checkpoint.keeper.peers import PeerRefused
from holdfast.training.checkpoint.keeper_client import Keeper
from holdfast.training.checkpoint.membership import Membership
from holdfast.training.checkpoint.storage import storage


class ShardReader:
    """`source` names the place of the last shard that was read."""

    def __init__(
        self, keeper: Keeper, membership: Membership, gpu: GpuMemory, target: str, report: Callable[[str, str], None]
    ) -> None:
        self._keeper, self._membership, self._gpu, self._storage = keeper, membership, gpu, target
        self._report = report
        self.found: Sequence[Found] = ()
        self.source = ""

    def read_all(self, candidate: StepCandidate, ranks: Iterable[int]) -> dict[int, shard.Shard] | None:
        """The shards of these saved ranks; None if one of them cannot be read."""
        shards: dict[int, shard.Shard] = {}
        for rank in ranks:
            got = self.read(candidate, rank)
            if got is None:
                return None
            shards[rank] = got
        return shards

    def read(self, candidate: StepCandidate, rank: int) -> shard.Shard | None:
        """The shard of a saved rank; None if no place has it whole."""
        if rank == self._keeper.rank and candidate.in_memory:
            near = self._gpu.get(self._keeper, candidate.step, candidate.attempt)
            if near is not None:
                self.source = "GPU memory"
                return near
        for address in sources(self.found, rank, candidate, self._keeper.rank):
            got = self._from_keeper(candidate, rank, address)
            if got is not None:
                self.source = f"partner {address}" if address else "own memory"
                return got
        return self._from_storage(candidate, rank) if rank in candidate.in_storage else None

    def drop_borrowed(self, candidate: StepCandidate, shards: Iterable[int]) -> None:
        """Drops copies that this node's memory fetched from other nodes only for this load."""
        here = {copy.rank for copy in self.found[self._keeper.rank].held if copy.step == candidate.step}
        for rank in shards:
            if rank not in here and rank in candidate.in_memory:
                with suppress(OSError):
                    self._keeper.drop(candidate.step, rank)

    def _from_keeper(self, candidate: StepCandidate, rank: int, address: str) -> shard.Shard | None:
        try:
            held, pages = self._keeper.fetch(candidate.step, address, rank)
            if pages.digest(held.size) != held.digest:
                raise EncodingError("the bytes differ from those that were saved")
            return shard.read(pages.map, held.size)
        except (OSError, EncodingError) as error:
            self._report("load", f"step {candidate.step} from {address or 'own memory'}: {error}")
            if isinstance(error, OSError) and not isinstance(error, PeerRefused):
                self._find_keeper()  # copies of partners also come through our own keeper
            return None

    def _find_keeper(self) -> None:
        try:
            self._membership.attach()
        except OSError as error:
            self._report("keeper", str(error))

    def _from_storage(self, candidate: StepCandidate, rank: int) -> shard.Shard | None:
        try:
            got, attempt = storage.read(self._storage, candidate.step, rank)
        except (OSError, EncodingError) as error:
            self._report("load", f"step {candidate.step} from storage: {error}")
            return None
        if attempt != candidate.attempt:
            self._report("load", f"step {candidate.step} from storage: another run has overwritten it")
            return None
        if got.about.job != self._keeper.job:
            job = f"job {got.about.job}, this is {self._keeper.job}"
            self._report("job", f"step {candidate.step} in storage was saved by {job}")
        self.source = "storage"
        return got

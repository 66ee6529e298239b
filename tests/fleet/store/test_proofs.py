"""What meetings proved: kept as told, oldest first, and forgotten with the rest of history."""

from holdfast.fleet.store import Store
from holdfast.model.wire.probe import Proof


def proof(at: float, note: str = "") -> Proof:
    return Proof(one="n1", other="n2", at=at, bytes_per_second=45e9, note=note)


def test_proofs_are_reported_oldest_first_and_only_the_newest_when_there_are_many(store: Store) -> None:
    result = [proof(float(at)) for at in range(10)]
    store.save_proofs(result[:6])
    store.save_proofs([])
    store.save_proofs(result[6:])
    assert store.proofs() == result
    assert store.proofs(since=7.0) == result[7:]
    assert store.proofs(most=2) == result[8:]


def test_strange_words_are_kept_readable(store: Store) -> None:
    store.save_proofs([proof(1.0, "half \udc80 \0 pair")])
    assert [one.at for one in store.proofs()] == [1.0]


def test_old_proofs_are_forgotten(store: Store) -> None:
    store.save_proofs([proof(1.0), proof(50.0)])
    while store.retain(10.0):
        pass
    assert store.proofs() == [proof(50.0)]

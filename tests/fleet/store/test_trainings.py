"""What is counted of training jobs: one row a job, the newest first, forgotten with the rest of history."""

from holdfast.fleet.store import Store
from holdfast.model.records import Training


def counted(name: str, at: float, body: str = "{}") -> Training:
    return Training(name=name, owner="uid-1", at=at, body=body)


def test_a_job_is_written_over_and_others_are_not(store: Store) -> None:
    store.save_trainings([counted("llama", 1.0), counted("gpt", 2.0)])
    store.save_trainings([counted("llama", 3.0, '{"step": 7}')])
    assert store.trainings(most=10) == [counted("llama", 3.0, '{"step": 7}'), counted("gpt", 2.0)]
    assert store.trainings(most=1) == [counted("llama", 3.0, '{"step": 7}')]


def test_old_ones_are_forgotten(store: Store) -> None:
    store.save_trainings([counted("llama", 1.0), counted("gpt", 20.0)])
    store.retain(before=10.0)
    assert [one.name for one in store.trainings(most=10)] == ["gpt"]

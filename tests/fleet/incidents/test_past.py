"""What a seam found, told once it is over."""

from dataclasses import replace

import pytest

from holdfast.fleet.incidents.past import called, past
from holdfast.model.account import Account, Bill, Layer, Loss


def account(
    *losses: Loss, gpu_hours: float = 0.0, cost: float | None = None, lasted: float = 720.0, **who: str
) -> Account:
    layers = () if cost is None else (Layer(name="x", so_far=cost, if_it_goes_on=None, formula="", inputs=""),)
    return Account(
        kind="cooling.flow_low", confidence=0.9, since=0.0, lasted_seconds=lasted, losses=losses,
        bill=Bill(layers=layers, gpu_hours=gpu_hours), on_call=who,
    )  # fmt: skip


def loss(subject: str = "job/llama", share: float | None = 0.2) -> Loss:
    return Loss(subject=subject, gpus=8.0, share_so_far=share, share_now=share)


@pytest.mark.parametrize(
    ("expected", "expected_text"),
    [
        (account(loss(), gpu_hours=41.0, cost=96.4), "in 12 min it cost job llama 41 GPU-hours, 96 USD in all"),
        (account(loss(), gpu_hours=41.0), "in 12 min it cost job llama 41 GPU-hours"),
        (account(loss()), "it lasted 12 min and reached job llama, whose loss was not measured"),
        (
            account(loss(share=None), gpu_hours=41.0),
            "it lasted 12 min and reached job llama, whose loss was not measured",
        ),
        (account(), "it lasted 12 min and no job had slowed"),
        (account(loss(), loss("job/b", None), gpu_hours=1.0), "in 12 min it cost job llama 1 GPU-hours"),
    ],
)
def test_what_it_cost_or_that_no_one_knows(expected: Account, expected_text: str) -> None:
    assert past("cdu/c2", expected) == f"cdu/c2: coolant flow is low; {expected_text}"


@pytest.mark.parametrize(
    ("many", "named"), [(2, "jobs j0 and j1"), (3, "jobs j0, j1 and j2"), (6, "jobs j0, j1, j2 and 3 more")]
)
def test_at_most_three_jobs_are_named(many: int, named: str) -> None:
    losses = [loss(f"job/j{number}") for number in range(many)]
    assert f"it cost {named} 41 GPU-hours" in past("cdu/c2", account(*losses, gpu_hours=41.0))
    assert f"and reached {named}, whose loss" in past("cdu/c2", account(*losses))


def test_a_loss_of_nothing_is_not_an_unknown_loss() -> None:
    nothing = replace(loss("job/a"), share_so_far=0.0)
    assert "reached job a, which lost no work by it" in past("cdu/c2", account(nothing))
    assert "reached jobs a and b, whose loss was not measured" in past(
        "cdu/c2", account(nothing, replace(loss("job/b"), share_so_far=None))
    )


@pytest.mark.parametrize("lost", [{"share": 0.2}, {"down_hours": 0.5}, {"rework_hours": 0.5}])
def test_a_job_has_lost_hours_by_a_share_of_its_work_or_by_what_it_stood_or_made_again(lost: dict[str, float]) -> None:
    slowed = replace(loss("job/a", lost.pop("share", 0.0)), **lost)
    assert "it cost job a 1 GPU-hours" in past("cdu/c2", account(slowed, loss("job/b", 0.0), gpu_hours=1.0))


def test_who_was_on_call_is_reported() -> None:
    assert past("cdu/c2", account(facilities="ann")).endswith("; facilities on call: ann")


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [(59.0, "59 s"), (119.0, "1 min"), (3599.0, "59 min"), (5400.0, "1 h 30 min"), (36_000.0, "10 h")],
)
def test_how_long_it_lasted(seconds: float, expected: str) -> None:
    assert f"it lasted {expected} and" in past("cdu/c2", account(lasted=seconds))


@pytest.mark.parametrize(
    ("subject", "expected"),
    [("job/llama", "job llama"), ("path/prefill-decode-2", "the path prefill to decode-2"), ("cdu/c2", "cdu/c2")],
)
def test_how_a_victim_is_called(subject: str, expected: str) -> None:
    assert called(subject) == expected

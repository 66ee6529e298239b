"""The pure parts of the guard: sums of words, votes, limits, replays, what may be loaded."""

import json
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from holdfast.training.checkpoint.candidates import StepCandidate
from holdfast.training.checkpoint.untrusted_steps import FILE, MEMORY, UntrustedStep, note, noted, trusted
from holdfast.training.guard.checksum import error
from holdfast.training.guard.finding import (
    QUIET_STEPS,
    Events,
    GuardFinding,
    GuardFindingKind,
    finding_of,
    finding_row,
    wrong_product,
)
from holdfast.training.guard.hash import digests, held, word_sum
from holdfast.training.guard.jumps import JumpSeries
from holdfast.training.guard.replay import ReplayCause, judge
from holdfast.training.guard.vote import VoteResult, count


@given(length=st.integers(1, 40), start=st.integers(0, 3), bit=st.integers(0, 40 * 8 - 1))
def test_one_flipped_bit_gives_another_sum(length: int, start: int, bit: int) -> None:
    tensor = torch.arange(length + start, dtype=torch.uint8)[start:]
    before = int(word_sum(tensor))
    at = bit // 8 % length
    tensor[at] = int(tensor[at]) ^ (1 << bit % 8)
    assert int(word_sum(tensor)) != before


def test_where_the_memory_lies_does_not_matter() -> None:
    tensor = torch.randn(3, 5, 7)
    apart = torch.empty(1 + tensor.numel())[1:].view(3, 5, 7).copy_(tensor)
    assert int(word_sum(tensor)) == int(word_sum(apart))
    assert int(word_sum(torch.zeros(0))) == 0
    turned = torch.randn(7, 5).t()
    assert int(word_sum(turned)) == int(word_sum(turned.t()))


def test_parameters_and_optimizer_have_their_own_numbers() -> None:
    model = nn.Linear(3, 3)
    optimizer = torch.optim.AdamW(model.parameters())
    model(torch.ones(1, 3)).sum().backward()
    optimizer.step()
    before = digests(held(model, optimizer))
    assert set(before) == {"parameters whole", "optimizer of all whole"}
    optimizer.state[model.bias]["exp_avg"][1] += 1
    after = digests(held(model, optimizer))
    assert {name for name in before if before[name] != after[name]} == {"optimizer of all whole"}


@pytest.mark.parametrize(
    ("ballots", "expected"),
    [
        ([{"p": 1}, {"p": 1}, {"p": 1}], VoteResult()),
        ([{"p": 1}, {"p": 2}, {"p": 1}], VoteResult((1,), True, ("p",))),
        ([{"p": 1}, {"p": 2}], VoteResult((0, 1), False, ("p",))),
        ([{"p": 1}, {"p": 2}, {"p": 2}, {"p": 1}], VoteResult((0, 1, 2, 3), False, ("p",))),
        ([{"p": 1, "o": 5}, {"p": 1, "o": 5}, {"p": 1, "o": 6}], VoteResult((2,), True, ("o",))),
    ],
)
def test_the_minority_is_named_where_there_is_a_majority(ballots: list[dict[str, int]], expected: VoteResult) -> None:
    assert count(ballots) == expected


def test_what_is_fully_sharded_is_unknown() -> None:
    result = count([{"s 0": 1}, {"s 1": 2}])
    assert not result.minority
    assert result.unknown.startswith("only one rank holds s 0 and 1 more")


@given(st.lists(st.floats(1.0, 4.9), min_size=50, max_size=300))
def test_values_of_one_size_are_no_jump(values: list[float]) -> None:
    series = JumpSeries("loss")
    assert [message for value in values if (message := series.judge(value))] == []


def test_a_new_level_is_accepted_in_time_and_reported_once() -> None:
    series = JumpSeries("loss")
    message = [series.judge(value) for value in [1.0] * 30 + [50.0] * 60]
    assert len([one for one in message if one]) == 1


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_rounding_is_no_error_and_a_flip_of_an_exponent_is(dtype: torch.dtype) -> None:
    torch.manual_seed(5)
    for scale in (1e-3, 1.0, 1e3):
        layer = nn.Linear(256, 512).to(dtype)
        given_ = (torch.randn(64, 256) * scale).to(dtype)
        output = layer(given_)
        assert float(error(layer, given_, output)) < 0.5
        output = output.detach().clone()
        output[3, 7] = output[3, 7] * 2**16 + scale
        assert float(error(layer, given_, output)) > 1.0


class Fp8(nn.Linear):
    """Rounds its factors to FP8; what it takes and gives is BF16."""

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        factors = (tensor.to(torch.float8_e4m3fn).to(tensor.dtype) for tensor in (input, self.weight))
        return nn.functional.linear(*factors, self.bias)


def test_rounding_of_fp8_that_no_type_shows_is_no_error_and_a_flip_is() -> None:
    """Weights of one sign and one large input: its rounding goes the same way in all products of the row."""
    torch.manual_seed(5)
    layer = Fp8(64, 2048).to(torch.bfloat16)
    given_ = torch.randn(64, 64).to(torch.bfloat16)
    with torch.no_grad():
        layer.weight.abs_().mul_(8.0)
        given_[:, 5] = 1.06 * 40
    output = layer(given_)
    assert float(error(layer, given_, output)) < 0.9
    assert float(error(_plain(layer), given_, output)) > 1.0, "without the allowance it would be a false alarm"
    output = output.detach().clone()
    output[3, 7] = output[3, 7] * 2**16 + 1.0
    assert float(error(layer, given_, output)) > 1.0


def _plain(layer: nn.Linear) -> nn.Linear:
    plain = nn.Linear(layer.in_features, layer.out_features).to(layer.weight.dtype)
    plain.load_state_dict(layer.state_dict())
    return plain


def test_a_forward_of_its_own_in_fp32_is_judged_as_fp32() -> None:
    layer, given_ = Fp8(64, 64), torch.randn(8, 64)
    assert float(error(layer, given_, layer(given_))) > 1.0


@pytest.mark.parametrize("wild", [-2.5e38, 3e37, float("inf"), float("nan")])
def test_the_largest_flip_is_an_error_too(wild: float) -> None:
    torch.manual_seed(6)
    layer, given_ = nn.Linear(256, 512), torch.randn(64, 256)
    output = layer(given_).detach().clone()
    output[3, 7] = wild
    assert float(error(layer, given_, output)) > 1.0


def test_numbers_too_large_for_their_kind_are_no_error_of_the_product() -> None:
    layer, given_ = nn.Linear(256, 512), torch.full((4, 256), 1e38)
    assert float(error(layer, given_, layer(given_))) < 1.0


A, B, C = b"a", b"b", b"c"


@pytest.mark.parametrize(
    ("own", "elsewhere", "cause", "ranks"),
    [
        ([(A, A), (B, B), (C, C)], [A, B, C], ReplayCause.DATA, ()),
        ([(A, A), (B, C), (C, C)], [A, B, C], ReplayCause.TRANSIENT, (1,)),
        ([(A, A), (B, B), (C, C)], [B, C, C], ReplayCause.PERSISTENT, (1,)),
        ([(A, A), (B, B), (C, C)], [A, B, A], ReplayCause.PERSISTENT, (0, 2)),
        ([(A, A), (B, B)], [B, A], ReplayCause.PERSISTENT, (0, 1)),
        ([(A, A)], [A], ReplayCause.UNKNOWN, ()),
    ],
)
def test_who_disagrees_with_both_neighbours_lies(
    own: list[tuple[bytes, bytes]], elsewhere: list[bytes], cause: ReplayCause, ranks: tuple[int, ...]
) -> None:
    answer = judge(own, elsewhere)
    assert (answer.cause, answer.ranks) == (cause, ranks)


def test_findings_travel_whole() -> None:
    finding = GuardFinding(GuardFindingKind.CHECKSUM, 4, 3, (2,), True, "layer 0", "likely")
    assert finding_of(finding_row(finding)) == finding
    assert "take the machine of rank 2 out" in finding.sentence()
    with pytest.raises(ValueError, match="not a finding"):
        finding_of([1, 2])


def checksum(step: int, rank: int = 2, since: int = 0) -> GuardFinding:
    return GuardFinding(GuardFindingKind.CHECKSUM, step, since, (rank,), True, f"layer {step % 3}", "likely")


def test_an_event_is_one_finding_with_a_count_and_is_announced_at_1_10_and_100() -> None:
    events = Events()
    announced = [new.count for step in range(150) if (new := events.add(checksum(20 * step, since=step))) is not None]
    assert announced == [1, 10, 100]
    assert [(one.count, one.step, one.since) for one in events.findings] == [(150, 2980, 0)]
    assert "at step 2980 (seen 150 times): " in events.findings[0].sentence()
    assert events.findings[0].sure == "certain: it was seen again"


def test_another_rank_kind_or_time_is_another_event() -> None:
    events = Events()
    assert events.add(checksum(10)) and events.add(checksum(10, rank=3))
    assert events.add(GuardFinding(GuardFindingKind.REPLICA, 10, 0, (2,), True, "bits"))
    assert events.add(checksum(10 + QUIET_STEPS)) is None
    assert events.add(checksum(10 + 2 * QUIET_STEPS + 1)) is not None
    hardware = [
        events.add(GuardFinding(GuardFindingKind.HARDWARE, 10, 0, (2,), True, text))
        for text in ("Xid 79", "Xid 48", "Xid 79")
    ]
    assert [one is not None for one in hardware] == [True, True, False]


@pytest.mark.parametrize(
    ("error_", "what", "sure"),
    [
        (1.2, "differs by 1.2 times the maximum that rounding of bfloat16 can make", "likely"),
        (3.99, "differs by 4.0 times", "likely"),
        (4.0, "differs by 4.0 times", "almost certain"),
        (1e12, "a number that its inputs cannot give", "certain: no rounding"),
    ],
)
def test_a_wrong_product_is_reported_in_words_with_how_sure_it_is(error_: float, what: str, sure: str) -> None:
    message = wrong_product("mlp.0", error_, "bfloat16")
    assert what in message[0] and "layer mlp.0" in message[0]
    assert message[1].startswith(sure)


def test_a_tier_that_is_suspect_leaves_the_other() -> None:
    here, nowhere = frozenset({0}), frozenset[int]()
    again = StepCandidate(8, "new", 1, here, here)
    rows = [StepCandidate(9, "run", 1, here, nowhere), StepCandidate(8, "run", 1, here, here), again]
    left = trusted(rows, [UntrustedStep(0, 9, ("run",), MEMORY, "nan")])
    assert left == [StepCandidate(8, "run", 1, nowhere, here), again]
    assert trusted(rows, [UntrustedStep(8, 9, ("run", "new"), "", "lies")]) == []


@given(st.text(max_size=200))
def test_strange_lines_among_the_suspects_are_passed_over(text: str) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        known = UntrustedStep(1, 2, ("run",), "", "why")
        (folder / FILE).write_text(text + "\n" + json.dumps(text) + "\n")
        note(folder, known)
        assert noted(folder)[-1] == known

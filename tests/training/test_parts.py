"""Parts of a state that are easy to forget are named, and those that are there are not."""

import gc

import pytest
import torch

from holdfast.training.checkpoint.parts import forgotten_scaler


@pytest.fixture
def training():
    weights = torch.nn.Parameter(torch.ones(2))
    optimizer = torch.optim.SGD([weights], 0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
    yield weights, optimizer, scaler
    del scaler
    gc.collect()


def use(weights, optimizer, scaler):
    scaler.scale((2 * weights).sum()).backward()
    scaler.step(optimizer)
    scaler.update()


def test_a_scaler_that_is_used_and_not_in_the_state_is_named(training):
    _, optimizer, scaler = training
    assert forgotten_scaler([optimizer]) == ""  # it was never used
    use(*training)
    assert "put the scaler into the state" in forgotten_scaler([optimizer])
    assert forgotten_scaler([optimizer, scaler]) == ""
    assert forgotten_scaler([optimizer, scaler.state_dict()]) == ""
    assert forgotten_scaler([{"files": b""}]) == ""  # a trainer's own files hold it

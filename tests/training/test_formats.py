"""Who reads what: each cell of the table in docs/checkpoint.md."""

from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed.checkpoint as dcp
from safetensors.torch import save_file
from test_reshard import LAYOUTS, local, rank_of, saved_by, shard_of, state_of, values
from torch import nn
from torch.distributed.checkpoint.format_utils import dcp_to_torch_save

from holdfast.training import CheckpointError, Random, load_from
from holdfast.training.checkpoint.format.shard import Shard
from holdfast.training.checkpoint.storage import storage
from holdfast.training.checkpoint.storage.target import step_name


def trained(seed: int = 1) -> tuple[nn.Module, torch.optim.Optimizer]:
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(3, 5), nn.BatchNorm1d(5), nn.Linear(5, 2))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01 * seed)
    model(torch.randn(4, 3)).sum().backward()
    optimizer.step()
    return model, optimizer


def assert_equal(one: nn.Module, other: nn.Module) -> None:
    for name, tensor in one.state_dict().items():
        assert torch.equal(tensor, other.state_dict()[name]), name


def stored(folder: Path, shards: dict[int, Shard]) -> Path:
    for got in shards.values():
        storage.write(folder, got, "run")
    return folder / step_name(9)


@pytest.mark.parametrize("layout", [name for name in LAYOUTS])
@pytest.mark.parametrize("world", [1, 3, 4])
def test_torch_reads_a_whole_step_of_any_layout(tmp_path: Path, layout: str, world: int) -> None:
    step = stored(tmp_path, saved_by(world, LAYOUTS[layout]))
    into = state_of({name: torch.zeros_like(value) for name, value in values(1).items()}, LAYOUTS["plain"], 1, 0.0)
    dcp.load(into, checkpoint_id=step, no_dist=True)
    for name, tensor in values(1).items():
        assert torch.equal(into["model"][name], tensor)
        assert torch.equal(into["optimizer"]["state"][0][name], tensor)
    assert into["optimizer"]["lr"] == 0.5 and into["note"] == "text"


def test_torch_reads_model_and_optimizer_with_their_values(tmp_path: Path) -> None:
    model, optimizer = trained()
    state = {"model": model, "optimizer": optimizer, "random": Random()}
    step = stored(tmp_path, {0: shard_of(0, 1, state)})
    other, other_optimizer = trained(seed=2)
    into: dict[str, Any] = {"model": other.state_dict(), "optimizer": other_optimizer.state_dict()}
    dcp.load(into, checkpoint_id=step, no_dist=True)
    other.load_state_dict(into["model"])
    other_optimizer.load_state_dict(into["optimizer"])
    assert_equal(other, model)
    assert other_optimizer.param_groups[0]["lr"] == 0.01
    assert torch.equal(
        other_optimizer.state_dict()["state"][0]["exp_avg"], optimizer.state_dict()["state"][0]["exp_avg"]
    )


def test_torchs_converter_makes_a_torch_save_file_of_a_step(tmp_path: Path) -> None:
    model, optimizer = trained()
    step = stored(tmp_path, {0: shard_of(0, 1, {"model": model, "optimizer": optimizer})})
    dcp_to_torch_save(step, tmp_path / "whole.pt")
    saved = torch.load(tmp_path / "whole.pt", weights_only=False)
    assert torch.equal(saved["model"]["0.weight"], model.state_dict()["0.weight"])
    assert saved["optimizer"]["param_groups"] == optimizer.state_dict()["param_groups"]


def test_a_step_that_is_not_whole_has_no_index_for_torch(tmp_path: Path) -> None:
    shards = saved_by(3, LAYOUTS["fsdp"])
    step = stored(tmp_path, {rank: shards[rank] for rank in (0, 2)})
    assert not (step / ".metadata").exists()
    storage.write(tmp_path, shards[1], "another run")
    assert not (step / ".metadata").exists()
    storage.write(tmp_path, shards[1], "run")
    assert (step / ".metadata").exists()


def test_what_ranks_have_for_themselves_has_a_name_for_each(tmp_path: Path) -> None:
    shards = {rank: shard_of(rank, 2, {"own": torch.full((2,), float(rank))}) for rank in range(2)}
    step = stored(tmp_path, shards)
    into = {"rank-00001.own": torch.zeros(2)}
    dcp.load(into, checkpoint_id=step, no_dist=True)
    assert into["rank-00001.own"].tolist() == [1.0, 1.0]


def written(kind: str, folder: Path, model: nn.Module, optimizer: torch.optim.Optimizer) -> Path:
    path = folder / "checkpoint"
    tensors = {name: tensor.contiguous() for name, tensor in model.state_dict().items()}
    if kind == "safetensors file":
        path = path.with_suffix(".safetensors")
        save_file(tensors, path)
    elif kind == "safetensors folder":
        path.mkdir()
        names = sorted(tensors)
        for at, part in enumerate((names[:3], names[3:])):
            save_file({name: tensors[name] for name in part}, path / f"model-{at}.safetensors")
    elif kind == "torch.save of the model":
        torch.save(model.state_dict(), path)
    elif kind == "torch.save of the parts":
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3}, path)
    else:
        dcp.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, checkpoint_id=path, no_dist=True)
    return path


KINDS = ["safetensors file", "safetensors folder", "torch.save of the model", "torch.save of the parts", "dcp"]


@pytest.mark.parametrize("kind", KINDS)
def test_holdfast_reads_what_others_wrote(tmp_path: Path, kind: str) -> None:
    model, optimizer = trained()
    path = written(kind, tmp_path, model, optimizer)
    other, other_optimizer = trained(seed=2)
    both = kind in ("torch.save of the parts", "dcp")
    load_from(path, {"model": other, "optimizer": other_optimizer} if both else {"model": other})
    assert_equal(other, model)
    assert (other_optimizer.param_groups[0]["lr"] == 0.01) == both


@pytest.mark.parametrize("kind", ["safetensors file", "torch.save of the model", "torch.save of the parts"])
def test_each_rank_of_a_sharded_model_takes_its_part(tmp_path: Path, kind: str) -> None:
    model, optimizer = trained()
    path = written(kind, tmp_path, model, optimizer)
    for rank in range(2):
        with rank_of(rank, 2):
            other = nn.Sequential(nn.Linear(3, 5), nn.BatchNorm1d(5), nn.Linear(5, 2))
            weight = LAYOUTS["fsdp"](torch.zeros(5, 3), 2)
            other[0].weight = nn.Parameter(weight)
            load_from(path, {"model": other})
            expected = LAYOUTS["fsdp"](model.state_dict()["0.weight"], 2)
            assert torch.equal(local(other.state_dict()["0.weight"]), local(expected))


def test_what_is_missing_or_not_there_is_reported(tmp_path: Path) -> None:
    model, _ = trained()
    save_file({"0.weight": torch.zeros(5, 3)}, tmp_path / "half.safetensors")
    with pytest.raises(CheckpointError, match="8 tensors of the model are not in it"):
        load_from(tmp_path / "half.safetensors", {"model": model})
    with pytest.raises(CheckpointError, match="no checkpoint is there"):
        load_from(tmp_path / "nothing", {"model": model})
    with pytest.raises(CheckpointError, match="the state to load has 2"):
        load_from(tmp_path / "half.safetensors", {"model": model, "teacher": model})

"""NCCL settings that let a job survive more or leave a trace, as rows of nccl_tuning.toml."""

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources


@dataclass(frozen=True, slots=True)
class NcclSetting:
    name: str
    value: str
    survives: str


@cache
def settings() -> tuple[NcclSetting, ...]:
    text = resources.files(__package__).joinpath("nccl_tuning.toml").read_text("utf-8")
    return tuple(NcclSetting(**row) for row in tomllib.loads(text)["setting"])


def environment() -> dict[str, str]:
    return {one.name: one.value for one in settings()}

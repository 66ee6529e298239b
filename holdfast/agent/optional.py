"""Checks that need a tool a site may do without: part of the suite where the tool is there or somebody asks for it."""

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from holdfast.agent.census import Census
from holdfast.model.settings import Settings


@dataclass(frozen=True, slots=True)
class Tool:
    command: Callable[[Settings], str]
    expected_by: str  # the signal by which a manifest says that nodes of this kind have it


TOOLS: Mapping[str, Tool] = {"dcgm.diag": Tool(lambda settings: settings.roots.dcgmi, "dcgm_version")}


def left_out(settings: Settings, check: str, stage: str, census: Callable[[Settings], Census]) -> str:
    """Why this check is not part of the stage here, or ''. One that was asked for is, and unknown without its tool."""
    tool = TOOLS.get(check)
    if tool is None or check in settings.checks or check in settings.stages.get(stage, ()):
        return ""
    command = tool.command(settings)
    if shutil.which(command) or any(tool.expected_by in values for values in census(settings).expect.values()):
        return ""
    return f"{command} is not installed, and neither the configuration nor the manifest asks for it"

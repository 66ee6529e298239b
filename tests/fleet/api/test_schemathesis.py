"""Whatever the document allows, and much that it does not: never a server error."""

import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from .conftest import Controller


@pytest.mark.slow
@pytest.mark.parametrize("examples", [8, pytest.param(100, marks=pytest.mark.soak)])
def test_generated_requests_find_no_server_error(controller: "Controller", tmp_path: Path, examples: int) -> None:
    if importlib.util.find_spec("schemathesis") is None:
        pytest.skip("schemathesis is not installed: pip install schemathesis")
    agent = controller.enrol(f"generated-{examples}")
    for token in (controller.admin, agent.credential):
        command = [sys.executable, "-m", "schemathesis.cli", "run", f"{controller.url}/schema/openapi.json"]
        command += ["--checks", "not_a_server_error", "--max-examples", str(examples), "--seed", "1"]
        # How fast a busy machine answers is not the question here.
        command += ["--suppress-health-check", "all", "--request-timeout", "60"]
        command += ["--header", f"Authorization: Bearer {token}", "--exclude-path", "/v1/stream"]
        ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert ended.returncode == 0, ended.stdout[-4000:] + ended.stderr[-2000:]

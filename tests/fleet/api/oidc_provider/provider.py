"""A real OIDC provider in a process of its own, for the tests of signing in."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MODULES = Path(__file__).parents[4] / "console" / "node_modules"
NODE = shutil.which("node", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")  # `make node` may put it there
PROVIDER = "provider.mjs"


def missing() -> str:
    """Why it cannot run here; '' if it can."""
    there = NODE is not None and (MODULES / "oidc-provider").is_dir()
    return "" if there else "Node.js or the page's packages are not installed: make node"


@contextmanager
def serving(folder: Path, port: int, callback: str) -> Iterator[None]:
    """Node.js from PyPI is a wrapper around the program, so the whole group ends, not the wrapper alone."""
    assert NODE is not None
    shutil.copy(Path(__file__).with_name(PROVIDER), folder)
    (folder / "node_modules").symlink_to(MODULES)
    command = [NODE, PROVIDER, str(port), callback]
    with subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True
    ) as provider:
        try:
            assert provider.stdout is not None
            assert any("ready" in line for line in provider.stdout)
            yield
        finally:
            os.killpg(provider.pid, signal.SIGKILL)

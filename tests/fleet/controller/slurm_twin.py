"""A real agent on a twin node of a real Slurm, and a reset that mends the twin."""

import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from holdfast.lab.twin.node import make_node

from .slurm_site import Site, slurm_site

HOLDFAST = Path(sys.executable).with_name("holdfast")
# Stands for the hardware: what reboots a node mends the twin, and of other nodes there is nothing to mend.
RESET = """\
#!/bin/sh
test -e {root}/$1/holdfast.toml || exit 0
sleep 1 # so long that the fault is whole before it is mended
exec {holdfast} twin inject {root}/$1 gpu_off_bus --gpu 3 --clear
"""
NOT_ON_A_TWIN = ("dcgm.diag", "node.inventory", "node.topology")  # no DCGM, and no manifest was learnt
CONFIG = """\
demo = true
[actions]
reset_gpu = "command"
reboot = "command"
[command.commands]
reset_gpu = ["{root}/reset", "{{node}}"]
reboot = ["{root}/reset", "{{node}}"]
"""


@contextmanager
def twin_site(directory: Path, nodes: int, policy: str = "") -> Iterator[Site]:
    with slurm_site(directory, nodes, CONFIG, policy) as site:
        reset = site.slurm.root / "reset"
        reset.write_text(RESET.format(root=site.slurm.root, holdfast=HOLDFAST))
        reset.chmod(0o755)
        yield site


@contextmanager
def agent_on_twin(site: Site, node: str, start: Sequence[str] = (str(HOLDFAST), "agent", "--config")) -> Iterator[Path]:
    home: Path = site.slurm.root / node
    shutil.rmtree(home)  # a second try finds what the first one left
    make_node(home, name=node)
    token = home / "join.token"
    token.write_text(site.controller.token())
    with (home / "holdfast.toml").open("a") as config:
        config.write(f'\n[controller]\nurl = "{site.controller.url}"\njoin_token_file = "{token}"\n')
        config.write("".join(f'[checks."{check}"]\nenabled = false\n' for check in NOT_ON_A_TWIN))
    with (home / "agent.log").open("w") as log:
        command = [*start, str(home / "holdfast.toml")]
        process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        yield home
    finally:
        process.terminate()
        process.wait(20)

"""The locked packages: every one by version and hash, all that the project asks for, and no index."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
LOCKED = ROOT / "deploy" / "locked"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
ASKED = {
    "agent": PROJECT["dependencies"],
    "controller": PROJECT["dependencies"]
    + PROJECT["optional-dependencies"]["controller"]
    + PROJECT["optional-dependencies"]["facility"],
    "build": ["setuptools>=68"],
}


def entries(role: str) -> dict[str, list[str]]:
    """Of each package the lines of its entry."""
    found: dict[str, list[str]] = {}
    for block in re.split(r"\n(?=\S)", (LOCKED / f"{role}.txt").read_text().strip()):
        found[canonicalize_name(block.partition("==")[0])] = block.split("\n")
    return found


@pytest.mark.parametrize("role", ASKED)
def test_every_package_is_named_with_its_hashes_and_no_place(role: str) -> None:
    for name, (first, *hashes) in entries(role).items():
        assert re.match(r"[a-zA-Z0-9._-]+==\S+( ;.*)? \\$", first), name
        assert hashes, name
        assert all(re.fullmatch(r" {4}--hash=sha256:[0-9a-f]{64}( \\)?", one) for one in hashes), name
    assert "://" not in (LOCKED / f"{role}.txt").read_text()


@pytest.mark.parametrize("role", ASKED)
def test_all_that_the_project_asks_for_is_locked_at_a_version_that_fits(role: str) -> None:
    locked = entries(role)
    for one in map(Requirement, ASKED[role]):
        version = locked[canonicalize_name(one.name)][0].partition("==")[2].split()[0]
        assert one.specifier.contains(version), one


def test_images_and_the_installer_use_them() -> None:
    image = (ROOT / "deploy" / "Containerfile").read_text()
    assert re.findall(r"--require-hashes -r \S*locked/(\w+)\.txt", image) == ["build", "agent", "controller"]
    assert "--no-deps" in image
    assert (
        '--require-hashes \\\n                    -r "$here/locked/$role.txt"'
        in (ROOT / "deploy" / "install").read_text()
    )

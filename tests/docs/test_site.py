"""The documentation builds without a broken link, and every page is found from its contents."""

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]


def test_every_page_is_in_the_contents() -> None:
    listed = {
        page for part in yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"] for page in next(iter(part.values()))
    }
    assert {page.name for page in (ROOT / "docs").glob("*.md")} == listed


@pytest.mark.slow
def test_the_site_builds_strictly(tmp_path: Path) -> None:
    pytest.importorskip("material", reason="mkdocs-material is not installed")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path / "site")]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stdout + built.stderr
    assert (tmp_path / "site" / "index.html").is_file()

"""The documentation builds without a broken link, and every page is found from its contents."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
_ELSEWHERE = re.compile(
    r"""<(?:script|img|iframe|source)[^>]*\ssrc=["'](?:https?:)?//|<link[^>]*\srel=["'](?:stylesheet|preconnect|preload)["'][^>]*href=["'](?:https?:)?//"""
)


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
    pages = list((tmp_path / "site").rglob("*.html"))
    assert (tmp_path / "site" / "index.html") in pages
    assert [
        page.name for page in pages if _ELSEWHERE.search(page.read_text())
    ] == []  # nothing is loaded from elsewhere
    styles = "".join(style.read_text() for style in (tmp_path / "site").rglob("*.css"))
    assert not re.search(r"(?:@import|url\()\s*[\"']?https?:", styles)


def test_the_drawings_are_made_by_their_script() -> None:
    assert (
        subprocess.run([sys.executable, ROOT / "scripts" / "draw_concepts.py", "--check"], check=False).returncode == 0
    )

"""The configuration of this machine's package clients (apt, pip, npm), read at run time and carried into another root.

A fresh machine reaches the same mirrors and indexes, by the same proxies and certificates, as the one it stands on.
"""

import configparser
import io
import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

PIP_FILES = ("/etc/xdg/pip/pip.conf", "/etc/pip.conf", "~/.pip/pip.conf", "~/.config/pip/pip.conf")
CARRIED = re.compile(
    r"(npm_config_\w+|(http|https|ftp|all|no)_proxy|ssl_cert_(file|dir)|node_extra_ca_certs|requests_ca_bundle"
    r"|curl_ca_bundle|git_ssl_cainfo)",
    re.IGNORECASE,
)
LOCAL_AUTHORITIES = Path("/usr/local/share/ca-certificates")
# Folders that every root has itself: never covered by those of this machine.
SYSTEM = ("bin", "boot", "dev", "etc", "lib", "lib32", "lib64", "proc", "run", "sbin", "sys", "tmp", "usr", "var")
PATH = re.compile(r"(?:file:(?://)?)?(/[^\s'\",;=:]+)")


@dataclass(frozen=True, slots=True)
class Clients:
    """The settings of apt, pip and npm, as text and files."""

    sources: str  # lines of sources.list: Debian's repositories only
    apt: str  # apt.conf: how they are fetched
    pip: str  # pip.conf, with PIP_* merged in
    npmrc: tuple[Path, ...]  # the user's and the global one, if they exist
    environment: Mapping[str, str]
    folders: tuple[Path, ...]  # local indexes that they refer to; bound read-only
    files: tuple[Path, ...]  # certificates they refer to

    def write(self, root: Path) -> None:
        """Into a root that has ca-certificates."""
        _put(root / "etc/apt/sources.list", self.sources)
        _put(root / "etc/apt/apt.conf.d/90fresh-machine", self.apt)
        _put(root / "etc/pip.conf", self.pip)
        for source, target in zip(self.npmrc, ("root/.npmrc", "etc/npmrc"), strict=False):
            if source.is_file():
                _put(root / target, source.read_text())
        for file in self.files:
            if not (root / file.relative_to("/")).exists():
                (root / file.relative_to("/")).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(file, root / file.relative_to("/"))
        if LOCAL_AUTHORITIES.is_dir():
            shutil.copytree(LOCAL_AUTHORITIES, root / LOCAL_AUTHORITIES.relative_to("/"), dirs_exist_ok=True)


def read(suites: Iterable[str]) -> Clients:
    pip = pip_configuration(PIP_FILES, os.environ)
    npmrc = (Path("~/.npmrc").expanduser(), _npm_global())
    environment = {name: value for name, value in os.environ.items() if CARRIED.fullmatch(name)}
    environment["NPM_CONFIG_GLOBALCONFIG"] = "/etc/npmrc"
    sources = debian_sources(set(suites))
    found = [pip, sources, *environment.values(), *(file.read_text() for file in npmrc if file.is_file())]
    folders, files = referred("\n".join(found))
    return Clients(sources, apt_options(), pip, npmrc, environment, folders, files)


def debian_sources(suites: set[str]) -> str:
    """The repositories of Debian itself as this machine's apt names them; others would not be on a fresh machine."""
    fields = "$(ORIGIN)|$(REPO_URI)|$(RELEASE)|$(COMPONENT)"
    found = _output("apt-get", "indextargets", "--format", fields, "Created-By: Packages")
    rows = [line.split("|") for line in found.splitlines()]
    lines = [f"deb {uri} {suite} {part}" for origin, uri, suite, part in rows if origin == "Debian" and suite in suites]
    if not lines:
        raise SystemExit(
            f"fresh-machine: apt knows no repository of Debian {sorted(suites)}: run `apt-get update` first"
        )
    return "\n".join(dict.fromkeys(lines)) + "\n"


def apt_options() -> str:
    """How apt fetches: proxies, timeouts, checks. Hooks and caches are the machine's own."""
    lines = _output("apt-config", "dump").splitlines()
    own = ("Acquire::IndexTargets", "Acquire::CompressionTypes", "Acquire::cdrom", "Acquire::Changelogs")
    return "\n".join(line for line in lines if line.startswith("Acquire::") and not line.startswith(own)) + "\n"


def pip_configuration(files: Iterable[str], environment: Mapping[str, str]) -> str:
    """All of pip's files and variables as one file; later ones win, as in pip."""
    merged = configparser.RawConfigParser()
    merged.read([str(Path(file).expanduser()) for file in (*files, environment.get("PIP_CONFIG_FILE", os.devnull))])
    for name, value in environment.items():
        if name.startswith("PIP_") and name != "PIP_CONFIG_FILE":
            if not merged.has_section("global"):
                merged.add_section("global")
            merged.set("global", name.removeprefix("PIP_").lower().replace("_", "-"), value)
    text = io.StringIO()
    merged.write(text)
    return text.getvalue()


def referred(text: str) -> tuple[tuple[Path, ...], tuple[Path, ...]]:
    """Folders and files of this machine that a configuration names. An index's files lie beside its `simple` folder."""
    folders, files = set(), set()
    for found in PATH.findall(text):
        path = Path(found)
        if path.is_file():
            files.add(path)
        elif path.is_dir() and len(path.parts) > 1 and path.parts[1] not in SYSTEM:
            folders.add(path.parent if path.name == "simple" and len(path.parts) > 3 else path)
    return tuple(sorted(folders)), tuple(sorted(files))


def _npm_global() -> Path:
    found = _output("npm", "config", "get", "globalconfig").strip() if shutil.which("npm") else ""
    return Path(found if found.startswith("/") else "/etc/npmrc")


def _output(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def _put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)

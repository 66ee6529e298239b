"""Shared storage, probed from a child process: a mount that hangs blocks only the child.

At most one child is out per mount. A child that cannot even be killed stays out, and its age is the signal.
"""

import contextlib
import os
import subprocess
import time
import weakref
from dataclasses import dataclass

from holdfast.formats.host import proc as formats
from holdfast.model import subject
from holdfast.model.signal import Reading
from holdfast.model.subject import Subject
from holdfast.node.sources.host.view import HostView, host_view
from holdfast.runtime.source import ReadingBuilder

PROBE = ("stat", "--file-system", "--")
_POLL_SECONDS = 0.005
_OF_ONE = ("storage_answer_seconds", "storage_hung_seconds", "storage_error", "storage_mounted")


@dataclass(slots=True)
class _Ask:
    child: subprocess.Popen[bytes]
    since: float  # monotonic: a set clock must not age a healthy mount


class SharedStorageSource:
    name = "shared_storage"
    every = 30.0
    carries: tuple[str, ...] = (*_OF_ONE, "storage_mounts")

    def __init__(
        self,
        node: str,
        mounts: tuple[str, ...] = (),
        answer_within: float = 10.0,
        proc: str = "/proc",
        probe: tuple[str, ...] = PROBE,
    ) -> None:
        self.deadline = answer_within + 5.0
        self._node_name = node
        self._listed = mounts  # these must be mounted; others are tested while they are mounted
        self._found: set[str] = set()
        self._answer_within = answer_within
        self._proc = proc
        self._probe = probe
        self._out: dict[str, _Ask] = {}
        weakref.finalize(self, _abandon, self._out)

    def read(self, now: float) -> Reading:
        builder = ReadingBuilder()
        node = subject.node(self._node_name)
        view = host_view(self._proc)
        found = [path for path in formats.shared(view.table) if path not in self._listed]
        refused = self._ask_all([*self._listed, *found], view)
        answered = self._gather()
        table = host_view(self._proc).table if answered else view.table  # the test may have mounted it (autofs)
        found = [path for path in found if path in table]  # a pod's volume may have disappeared during the test
        self._report_gone(builder, self._found - set(found))
        self._found = set(found)
        paths = [*self._listed, *found]
        if refused or not (view.table or paths):
            builder.miss(node, next(iter(refused.values()), f"{self._proc}/mounts cannot be read"), "storage_mounts")
        else:
            builder.add(node, "storage_mounts", float(len(paths)))
        for path in paths:
            about = subject.storage(self._node_name, path)
            if path in refused:
                builder.miss(about, refused[path], *_OF_ONE)
            elif path in answered or path in self._out:
                self._report(builder, about, path, answered.get(path))
                self._report_mounted(builder, about, path, table)
        listed = [subject.storage(self._node_name, path) for path in self._listed]
        return builder.build(self.name, now, [node, *listed])

    def _report_gone(self, builder: ReadingBuilder, gone: set[str]) -> None:
        for path in gone:
            builder.miss(subject.storage(self._node_name, path), f"{path} is no longer mounted", *_OF_ONE)
            if path in self._out:
                self._out[path].child.kill()

    def _ask_all(self, paths: list[str], view: HostView) -> dict[str, str]:
        """Start a child for each mount without one; path -> why that failed."""
        refused = {}
        for path in paths:
            way = view.way_to(path)
            why = "" if path in self._out else self._ask(path, way) if way else view.why_no_way(path)
            if why:
                refused[path] = why
        return refused

    def _ask(self, path: str, way: str) -> str:
        """Start a child; '' or why that failed."""
        command = [*self._probe, way]
        try:
            child = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
            )
        except OSError as error:
            return f"{command[0]} cannot be started: {error.strerror}"
        self._out[path] = _Ask(child, time.monotonic())
        return ""

    def _gather(self) -> dict[str, tuple[float, str]]:
        """Wait for new children until their deadline; path -> (seconds, error text). Older children are only polled."""
        answered = {}
        while True:
            for path, ask in list(self._out.items()):
                if ask.child.poll() is not None:
                    answered[path] = (time.monotonic() - ask.since, _complaint(ask))
                    del self._out[path]
            youngest = max((ask.since for ask in self._out.values()), default=0.0)
            if time.monotonic() - youngest >= self._answer_within:
                return answered
            time.sleep(_POLL_SECONDS)

    def _report(self, builder: ReadingBuilder, about: Subject, path: str, answer: tuple[float, str] | None) -> None:
        if answer is None:
            waited = time.monotonic() - self._out[path].since
            builder.add(about, "storage_hung_seconds", round(waited, 3))
            reason = f"has not answered for {waited:.0f} s"
            builder.miss(about, reason, "storage_answer_seconds", "storage_error")
            return
        builder.add(about, "storage_hung_seconds", 0.0)
        builder.add(about, "storage_answer_seconds", round(answer[0], 3))
        builder.add(about, "storage_error", answer[1])

    def _report_mounted(
        self, builder: ReadingBuilder, about: Subject, path: str, table: dict[str, formats.Mount]
    ) -> None:
        """A directory below a mounted file system counts as the mount; one on '/' is an empty mount point."""
        if not table:
            builder.miss(about, f"{self._proc}/mounts cannot be read", "storage_mounted")
            return
        mount = formats.mount_of(path, table)
        builder.add(about, "storage_mounted", float(mount is not None and mount.path != "/"))


def _complaint(ask: _Ask) -> str:
    """The child's error message; '' when it succeeded."""
    output = b""
    if ask.child.stderr:
        with ask.child.stderr as pipe, contextlib.suppress(BlockingIOError):
            os.set_blocking(pipe.fileno(), False)  # a grandchild may still hold the other end
            output = os.read(pipe.fileno(), 4096)
    if ask.child.returncode == 0:
        return ""
    return output.decode(errors="replace").strip().rsplit(": ", 1)[-1] or f"ended with code {ask.child.returncode}"


def _abandon(out: dict[str, _Ask]) -> None:
    """Terminate hung children; those stuck in the kernel end when their mount answers."""
    for ask in out.values():
        ask.child.kill()

"""`--forks N`: the tests are collected once, and N forks of that process share the files out among themselves.

A worker of pytest-xdist collects everything for itself and tells of each test in five messages: for ten thousand tests
of a millisecond that takes longer than the tests. A fork that dies fails the test it was at.
"""

import os
import struct
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import groupby
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

import pytest
from _pytest.terminal import TerminalReporter

_CONTEXT = get_context("fork")
_NUMBER = struct.Struct("I")
_WORTH_TELLING_SECONDS = 0.005  # what `--durations` hides
Group = list[pytest.Item]


class Forks:
    def __init__(self, count: int, begin: Callable[[], None] = lambda: None) -> None:
        self._count, self._begin = count, begin  # each fork begins with it, before its first test

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        if session.testsfailed or session.config.option.collectonly:
            return None  # pytest's own loop says why nothing runs
        files = [list(items) for _, items in groupby(session.items, key=lambda item: item.path)]
        queue, numbers = os.pipe()
        os.set_blocking(numbers, False)
        for number in range(len(files)):
            os.write(numbers, _NUMBER.pack(number))
        os.close(numbers)
        config = session.config
        temporary = config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]
        sys.stdout.flush()
        forks: dict[Connection, BaseProcess] = {}
        try:
            for number in range(self._count):
                here, there = _CONTEXT.Pipe(duplex=False)
                work = partial(_work, session, files, queue, there, temporary / f"{number}", self._begin)
                process = _CONTEXT.Process(target=work)
                process.start()
                there.close()
                forks[here] = process
            os.close(queue)
            _listen(session, forks)
        finally:
            for process in forks.values():
                process.terminate()
                process.join()
        return True


def _listen(session: pytest.Session, forks: dict[Connection, BaseProcess]) -> None:
    """Hands on what the forks tell until each has said that it is done."""
    waiting, at = dict(forks), dict.fromkeys(forks, "before the first test")
    while waiting:
        for connection in wait(list(waiting)):
            assert isinstance(connection, Connection)
            try:
                kind, result = connection.recv()
            except EOFError:
                kind, result = "died", _death(at[connection], waiting[connection])
            if kind == "test":
                at[connection] = result
            else:
                _hand_on(session.config, kind, result)
            if kind in ("done", "died"):
                del waiting[connection]
            if session.shouldfail:
                raise session.Failed(session.shouldfail)


def _hand_on(config: pytest.Config, kind: str, expected: Any) -> None:
    if kind == "warning":
        config.hook.pytest_warning_recorded.call_historic(kwargs=expected)
    elif kind == "passed":
        config.hook.pytest_runtest_logreport(
            report=pytest.TestReport(**expected, keywords={}, outcome="passed", longrepr=None)
        )
    elif kind == "report":
        report = config.hook.pytest_report_from_serializable(config=config, data=expected)
        config.hook.pytest_runtest_logreport(report=report)
    elif kind == "died":
        config.hook.pytest_runtest_logreport(report=expected)


def _death(test: str, process: BaseProcess) -> pytest.TestReport:
    process.join()
    result = (
        f"the fork that ran this test ended with exit status {process.exitcode}; the tests it had left were not run"
    )
    return pytest.TestReport(test, (test.partition("::")[0], None, test), {}, "failed", result, "call")


def _work(
    session: pytest.Session,
    files: Sequence[Group],
    queue: int,
    tell: Connection,
    temporary: Any,
    begin: Callable[[], None],
) -> None:
    """What a fork does; it must share neither the file that captures output nor the folder of temporary files."""
    config = session.config
    manager = config.pluginmanager
    capture = manager.getplugin("capturemanager")
    capture.stop_global_capturing()
    begin()
    capture.start_global_capturing()
    temporary.mkdir()
    config._tmp_path_factory._basetemp = temporary  # type: ignore[attr-defined]
    manager.unregister(name="terminalreporter")
    manager.register(Silent(config, open(os.devnull, "w")), "terminalreporter")  # noqa: SIM115  open as long as it lives
    manager.register(Tell(tell, config))
    try:
        items = _taken(files, queue)
        item = next(items, None)
        while item is not None:
            following = next(items, None)
            config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            item = None if session.shouldstop else following
        tell.send(("done", None))
    finally:
        capture.stop_global_capturing()  # what goes wrong here itself is to be read


def _taken(files: Sequence[Group], queue: int) -> Iterator[pytest.Item]:
    while number := os.read(queue, _NUMBER.size):
        yield from files[_NUMBER.unpack(number)[0]]


class Silent(TerminalReporter):
    """The terminal of a fork, for plugins that ask for one."""

    def pytest_runtest_logstart(self, nodeid: str, location: Any) -> None: ...

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None: ...

    def pytest_runtest_logfinish(self, nodeid: str) -> None: ...

    def pytest_warning_recorded(self, warning_message: Any, nodeid: str) -> None: ...


class Tell:
    """A plugin of a fork: what the terminal is to show, in few words."""

    def __init__(self, connection: Connection, config: pytest.Config) -> None:
        self._connection, self._config = connection, config

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._connection.send(("test", nodeid))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if not report.passed or hasattr(report, "wasxfail"):
            data = self._config.hook.pytest_report_to_serializable(config=self._config, report=report)
            self._connection.send(("report", data))
        elif report.when == "call" or report.duration > _WORTH_TELLING_SECONDS:
            names = ("nodeid", "location", "when", "duration")
            self._connection.send(("passed", {name: getattr(report, name) for name in names}))

    def pytest_warning_recorded(self, warning_message: Any, when: str, nodeid: str, location: Any) -> None:
        one = warning_message
        plain = warnings.WarningMessage(str(one.message), one.category, one.filename, one.lineno)
        output = {"warning_message": plain, "when": when, "nodeid": nodeid, "location": location}
        self._connection.send(("warning", output))

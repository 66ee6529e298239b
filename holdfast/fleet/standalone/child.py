"""Starts a command that must not outlive who started it: `python -m holdfast.fleet.standalone.child PARENT COMMAND...`.

The kernel ends it when its parent dies, even by kill -9. The wish survives the exec below, and one who died before it
was made is noticed by its number.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main(parent: int, command: list[str]) -> None:
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    if os.getppid() == parent:
        os.execv(command[0], command)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])

"""Starts a command that ends when its parent ends: `python -m holdfast.runtime.child PARENT COMMAND...`.

The kernel ends the command when the parent dies, even by kill -9. The setting survives the exec below. The process id
of the parent shows whether it died before the setting was made.
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

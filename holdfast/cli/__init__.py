"""The command line. `main` is the console script; the gate answers before anything heavy is imported."""

import sys

INTERRUPTED = 130


def main() -> None:
    arguments = sys.argv[1:]
    if arguments[:1] == ["gate"]:
        from holdfast.cli.gate.gate import main as gate

        raise SystemExit(gate(arguments[1:]))
    try:
        from holdfast.cli.app import run
        from holdfast.cli.shared.terminal import protect_streams

        protect_streams()
        raise SystemExit(run(arguments))
    except KeyboardInterrupt:  # while a command is imported
        raise SystemExit(INTERRUPTED) from None

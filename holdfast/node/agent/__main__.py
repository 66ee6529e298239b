"""Entry point of `holdfast agent`. The daemon does not keep the command line in memory."""

import argparse
import logging
import sys

from holdfast.model.settings import SettingsError
from holdfast.node.agent.assemble import load_settings
from holdfast.node.agent.daemon import Agent, run_until_signalled
from holdfast.node.agent.state import StateError
from holdfast.runtime import logs

USAGE_ERROR = 64


def main() -> int:
    parser = argparse.ArgumentParser(prog="holdfast agent")
    parser.add_argument("--config", default="")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    level = logging.DEBUG if options.verbose else logging.INFO
    logs.to_stderr(level)
    try:
        agent = Agent(load_settings(options.config))
    except SettingsError as error:
        return _refuse(str(error), USAGE_ERROR)
    except StateError as error:
        return _refuse(str(error), 1)
    run_until_signalled(agent)
    return 0


def _refuse(sentence: str, code: int) -> int:
    sys.stderr.write(f"holdfast: {sentence}\n")
    return code


if __name__ == "__main__":
    raise SystemExit(main())

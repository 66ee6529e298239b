"""Entry point of `holdfast controller`."""

import argparse
import json
import logging
import sys
import time

from holdfast.fleet.controller.server import serve
from holdfast.fleet.controller.settings import load
from holdfast.fleet.store import StoreError
from holdfast.model.settings import SettingsError
from holdfast.runtime import logs

USAGE_ERROR = 64


class JsonFormatter(logging.Formatter):
    """One JSON object per line, for collectors such as Loki or Elasticsearch."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(record.created))}.{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line)


def main() -> int:
    parser = argparse.ArgumentParser(prog="holdfast controller")
    parser.add_argument("--config", required=True)
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--log-format", choices=("text", "json"), default="text")
    options = parser.parse_args()
    level = logging.DEBUG if options.verbose else logging.INFO
    logs.to_stderr(level, JsonFormatter() if options.log_format == "json" else None)
    for chatty in ("alembic", "httpx", "httpcore"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
    try:
        serve(load(options.config), _print)
    except SettingsError as error:
        return _refuse(str(error), USAGE_ERROR)
    except StoreError as error:
        return _refuse(str(error), 1)
    return 0


def _print(address: str) -> None:
    sys.stdout.write(f"{address}\n")
    sys.stdout.flush()


def _refuse(sentence: str, code: int) -> int:
    sys.stderr.write(f"holdfast: {sentence}\n")
    return code


if __name__ == "__main__":
    raise SystemExit(main())

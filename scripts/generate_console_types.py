"""Write console/src/openapi.ts, the types of the API for the page, from the OpenAPI document. Needs Node.

Run it after a change of holdfast/fleet/api/views/common.py; `--check` only says whether it is due.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import msgspec

from holdfast.fleet.api.app import Front
from holdfast.fleet.api.service import Service

CONSOLE = Path(__file__).parent.parent / "console"
TYPES = CONSOLE / "src" / "openapi.ts"


def generate() -> str:
    """The document is made of routes and types alone, so no server needs to run."""
    document = Front(cast(Service, SimpleNamespace(console=""))).litestar.openapi_schema.to_schema()
    with tempfile.TemporaryDirectory() as directory:
        source, made = Path(directory) / "openapi.json", Path(directory) / "openapi.ts"
        source.write_bytes(msgspec.json.encode(document))
        command = [str(CONSOLE / "node_modules" / ".bin" / "openapi-typescript"), str(source), "--output", str(made)]
        # If the distribution's Node.js is too old, `make node` installed one in the folder of this Python.
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env={**os.environ, "PATH": path})
        return made.read_text()


def main() -> int:
    made = generate()
    if "--check" in sys.argv[1:]:
        due = not TYPES.is_file() or TYPES.read_text() != made
        if due:
            print(f"{TYPES.name} is not what the API says now; run scripts/generate_console_types.py")
        return int(due)
    TYPES.write_text(made)
    print(f"wrote {TYPES}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

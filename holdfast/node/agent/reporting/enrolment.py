"""Enrolment: exchanges a join token for this node's credential, stored in a private file."""

import logging
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec

from holdfast.node.agent.reporting.connection import ControllerLink, HttpAnswer
from holdfast.runtime import codec

log = logging.getLogger("holdfast.node.agent")

LONGEST_SECRET = 4096


class NotEnrolled(Exception):
    """There is no credential and none could be obtained; the message says why."""


class _Granted(msgspec.Struct):
    credential: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Enrolment:
    node: str
    pool: str
    place: Mapping[str, str]
    twin: bool
    credential_file: Path
    join_token_file: str

    def credential(self, link: ControllerLink) -> str:
        """The one on disk, else a new one. Raises NotEnrolled or LinkDown."""
        return self._kept() or self.enrol(link)

    def enrol(self, link: ControllerLink) -> str:
        """Request a new credential and store it. The token file is read each time, because it may have been
        replaced."""
        if not self.join_token_file:
            raise NotEnrolled("this node has no valid credential and no join token is configured")
        try:
            token = Path(self.join_token_file).read_text(encoding="utf-8")[:LONGEST_SECRET].strip()
        except (OSError, UnicodeDecodeError) as error:
            raise NotEnrolled(f"the join token cannot be read: {error}") from None
        asked = {"node": self.node, "join_token": token, "pool": self.pool, "place": self.place, "twin": self.twin}
        answer = link.post("/v1/enrol", msgspec.json.encode(asked))
        return self._granted(answer, f"the controller did not enrol {self.node}")

    def renew(self, link: ControllerLink, credential: str) -> str:
        """Exchange a credential that is still valid for a new one. Raises NotEnrolled or LinkDown."""
        return self._granted(link.post("/v1/credential", b"", credential), "the credential was not renewed")

    def _granted(self, answer: HttpAnswer, otherwise: str) -> str:
        try:
            granted = codec.decode(answer.body, _Granted).credential if answer.status < 300 else ""
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            granted = ""
        if not granted or not granted.isprintable():
            raise NotEnrolled(f"{otherwise}: {answer.message}")
        self._keep(granted)
        return granted

    def forget(self) -> None:
        with suppress(OSError):
            self.credential_file.unlink()

    def _kept(self) -> str:
        try:
            secret = self.credential_file.read_text(encoding="utf-8")[:LONGEST_SECRET].strip()
        except (OSError, UnicodeDecodeError):
            return ""
        return secret if secret.isprintable() else ""

    def _keep(self, secret: str) -> None:
        """Write a temporary file and rename it. It is never readable by other users."""
        beside = self.credential_file.with_name(f".{self.credential_file.name}.{os.getpid()}")
        with suppress(OSError):
            beside.unlink()
        try:
            handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(handle, "w") as file:
                file.write(secret + "\n")
            beside.replace(self.credential_file)
        except OSError as error:
            log.warning("the credential is kept in memory only: %s: %s", self.credential_file, error.strerror)

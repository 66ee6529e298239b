"""Admission of nodes to a job: every step is signed, and each side proves that it is alive.

1. A node claims a place: `member/N` = its name and a number that it just drew.
2. The leader answers under that number with the session that it drew: an old recording cannot answer.
3. The node signs its name with the session: an old recording cannot join.
"""

import hmac
import secrets
from collections.abc import Callable
from hashlib import sha256

import msgspec
from torch._C._distributed_c10d import TCPStore

from holdfast.runtime import codec

_MOST_CLAIMS = 4096  # any client that reaches the store can raise the count
_NONCE_CHARACTERS = 32
_MAC_CHARACTERS = 64


class Signer:
    """Signs messages with the job's secret, because the store has no authentication.

    The key and the session are signed too, so a message is valid only under its key and in its run.
    """

    def __init__(self, secret: bytes, session: str = "") -> None:
        self._secret, self._session = secret, session

    def of_session(self, session: str) -> "Signer":
        return Signer(self._secret, session)

    def seal(self, key: str, value: bytes) -> str:
        return self._mac(key, value) + value.decode()

    def open(self, key: str, sealed: bytes) -> bytes | None:
        """The message, or None if it is not signed with this secret, key and session."""
        mac, value = sealed[:_MAC_CHARACTERS], sealed[_MAC_CHARACTERS:]
        return value if hmac.compare_digest(mac, self._mac(key, value).encode()) else None

    def _mac(self, key: str, value: bytes) -> str:
        fields = (self._session.encode(), key.encode(), value)
        whole = b"".join(len(one).to_bytes(8, "big") + one for one in fields)
        return hmac.new(self._secret, b"holdfast supervisors" + whole, sha256).hexdigest()


class NodeClaim(msgspec.Struct, frozen=True):
    node: str
    nonce: str


def new_nonce() -> str:
    return secrets.token_hex(_NONCE_CHARACTERS // 2)


class LeaderAdmission:
    """The leader's side. One thread calls `step`; others read `names`."""

    def __init__(self, signer: Signer, session: str, notify: Callable[[str], None]) -> None:
        self._signer, self._session, self._notify = signer, session, notify
        self._open: dict[int, NodeClaim | None] = {}
        self._seen = 0
        self.names: tuple[str, ...] = ()

    def step(self, store: TCPStore) -> None:
        count = min(store.add("joined", 0), _MOST_CLAIMS)
        self._open |= dict.fromkeys(range(self._seen + 1, count + 1))
        self._seen = max(self._seen, count)
        for number, claim in list(self._open.items()):
            if claim is None:
                self._welcome(store, number)
            elif self._proved(store, number, claim):
                del self._open[number]
                self.names = tuple(dict.fromkeys([*self.names, claim.node]))

    def _welcome(self, store: TCPStore, number: int) -> None:
        key = f"member/{number}"
        if not store.check([key]):
            return
        opened = self._signer.open(key, store.get(key))
        if opened is None:
            del self._open[number]
            store.set(f"refused/{number}", "")
            self._notify("a node with another job secret asked to join and was refused")
            return
        claim = codec.decode(opened, NodeClaim)
        welcome = f"welcome/{claim.nonce}"
        store.set(welcome, self._signer.seal(welcome, self._session.encode()))
        self._open[number] = claim

    def _proved(self, store: TCPStore, number: int, claim: NodeClaim) -> bool:
        key = f"hello/{number}"
        if not store.check([key]):
            return False
        return self._signer.of_session(self._session).open(key, store.get(key)) == claim.node.encode()

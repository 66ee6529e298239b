"""Messages between supervisors, signed with the job's secret. The store itself has no authentication."""

import hmac
from hashlib import sha256

_MAC_CHARACTERS = 64


class Signer:
    """The key and the session are part of what is signed: a message counts nowhere else and in no other run."""

    def __init__(self, secret: bytes, session: str = "") -> None:
        self._secret, self._session = secret, session

    def of_session(self, session: str) -> "Signer":
        return Signer(self._secret, session)

    def seal(self, key: str, value: bytes) -> str:
        return self._mac(key, value) + value.decode()

    def open(self, key: str, sealed: bytes) -> bytes | None:
        """None where another secret, key or session signed it, or none."""
        mac, value = sealed[:_MAC_CHARACTERS], sealed[_MAC_CHARACTERS:]
        return value if hmac.compare_digest(mac, self._mac(key, value).encode()) else None

    def _mac(self, key: str, value: bytes) -> str:
        fields = (self._session.encode(), key.encode(), value)
        whole = b"".join(len(one).to_bytes(8, "big") + one for one in fields)
        return hmac.new(self._secret, b"holdfast supervisors" + whole, sha256).hexdigest()

"""The floor under ingest: raw ASGI and msgspec on the same server; reports are decoded and acknowledged, none kept."""

import socket
import sys
from typing import Any

import msgspec
import uvicorn

from holdfast.model.wire.order import Ack
from holdfast.model.wire.report import Report

_decode = msgspec.json.Decoder(list[Report]).decode
_encode = msgspec.json.Encoder().encode


async def app(scope: Any, receive: Any, send: Any) -> None:
    parts = []
    while True:
        message = await receive()
        parts.append(message.get("body", b""))
        if not message.get("more_body", False):
            break
    body = _encode(Ack(accepted=tuple(True for _ in _decode(b"".join(parts)))))
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def main(certificate: str = "", key: str = "") -> None:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", 0))
    listener.listen(4_096)
    print(f"{'https' if key else 'http'}://127.0.0.1:{listener.getsockname()[1]}", flush=True)
    config = uvicorn.Config(
        app,
        ssl_certfile=certificate or None,
        ssl_keyfile=key or None,
        log_config=None,
        access_log=False,
        lifespan="off",
    )
    uvicorn.Server(config).run([listener])


if __name__ == "__main__":
    main(*sys.argv[1:3])

"""Processor time of what keepers do with the bytes of one save, each part alone: hashes, AES-GCM, TCP on loopback.

    python bench/checkpoint_parts.py [--megabytes 256]

Processor time of the thread, the least of five: other work on the machine changes it little.
"""

import argparse
import json
import os
import socket
import threading
import time
from collections.abc import Callable

from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from measure import RESULTS

from holdfast.training.checkpoint.keeper.memory import Pages
from holdfast.training.checkpoint.keeper.wire import CHUNK, TAG

ROUNDS = 5


def timed(call: Callable[[], object]) -> float:
    begun = time.thread_time()
    call()
    return time.thread_time() - begun


def encrypt(key: AESGCM, view: memoryview, frame: bytearray) -> None:
    for at in range(0, len(view), CHUNK):
        key.encrypt_into(bytes(12), view[at : at + CHUNK], b"data", memoryview(frame))


def tcp(view: memoryview) -> tuple[float, float]:
    received: list[float] = []

    def receive(source: socket.socket) -> None:
        into, left = bytearray(CHUNK), len(view)
        begun = time.thread_time()
        while left:
            left -= source.recv_into(into)
        received.append(time.thread_time() - begun)

    listener = socket.create_server(("127.0.0.1", 0))
    with listener, socket.create_connection(listener.getsockname()) as sender, listener.accept()[0] as receiver:
        thread = threading.Thread(target=receive, args=(receiver,))
        thread.start()
        sent = timed(lambda: sender.sendall(view))
        thread.join()
    return sent, received[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=256)
    size = parser.parse_args().megabytes * 2**20
    pages = Pages.new("bench", size)
    view, frame, key = memoryview(pages.map), bytearray(CHUNK + TAG), AESGCM(os.urandom(32))
    for at in range(0, size, CHUNK):
        view[at : at + CHUNK] = os.urandom(CHUNK)
    sent, received = zip(*(tcp(view) for _ in range(ROUNDS)), strict=True)
    seconds = {
        "both_hashes": min(timed(lambda: pages.fingerprint(size)) for _ in range(ROUNDS)),
        "one_hash": min(timed(lambda: pages.digest(size)) for _ in range(ROUNDS)),
        "encryption": min(timed(lambda: encrypt(key, view, frame)) for _ in range(ROUNDS)),
        "tcp_send": min(sent),
        "tcp_receive": min(received),
    }
    result = {"megabytes": size >> 20, **{f"{name}_seconds": round(one, 4) for name, one in seconds.items()}}
    (RESULTS / "checkpoint_parts.json").write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result))


if __name__ == "__main__":
    main()

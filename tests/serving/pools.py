"""Two pools of processes: `send` is the prefill pool, `receive` a decode pool. Blocks go over sockets, timed by us."""

import socket
import sys
import threading
import time

from holdfast import serving

BLOCK = 32 << 10
PORT = 7_070
SENDERS = 2
EVERY_SECONDS = 0.25


def receive(address: str) -> None:
    """Takes blocks, and says of each that it has come."""
    with socket.create_server((address, PORT), backlog=16) as listener:
        print("ready", flush=True)
        while True:
            connection, _ = listener.accept()
            threading.Thread(target=_take, args=(connection,), daemon=True).start()


def _take(connection: socket.socket) -> None:
    with connection:
        while True:
            left = BLOCK
            while left:
                got = len(connection.recv(left))
                if not got:
                    return
                left -= got
            connection.sendall(b"k")


def send(url: str, token: str, addresses: list[str]) -> None:
    serving.start(url, token, every=0.5)
    for number, address in enumerate(addresses, start=1):
        for _ in range(SENDERS):
            threading.Thread(target=_feed, args=(f"decode{number}", address), daemon=True).start()
    print("ready", flush=True)
    sys.stdin.read()  # until whoever started us is gone


def _feed(pool: str, address: str) -> None:
    block = bytes(BLOCK)
    with socket.create_connection((address, PORT), timeout=60) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while True:
            began = time.monotonic()
            request = serving.Request("prefill", pool)
            with request.waiting(), serving.Transfer("prefill", pool, BLOCK):
                connection.sendall(block)
                connection.recv(1)
            time.sleep(0.02)  # the decode itself
            request.done()
            time.sleep(max(0.0, EVERY_SECONDS - (time.monotonic() - began)))


if __name__ == "__main__":
    if sys.argv[1] == "receive":
        receive(sys.argv[2])
    else:
        send(sys.argv[2], sys.argv[3], sys.argv[4:])

"""A TCP proxy in front of a storage server that can be killed, slow or full in the middle of a request."""

import socket
import threading
from contextlib import suppress

FULL = b"HTTP/1.1 507 Insufficient Storage\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
BLOCK = 65536
HEAD = 4096


class FaultyProxy:
    def __init__(self, port: int) -> None:
        self._port = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.mode, self.bucket = "pass", ""
        self._next, self._after_bytes = "", 0
        self._healthy = threading.Event()
        self._healthy.set()
        self._open: set[socket.socket] = set()
        threading.Thread(target=self._accept, daemon=True).start()

    def fail_during_an_upload(self, mode: str, after_bytes: int) -> None:
        """Once so many bytes of uploads have passed from now on."""
        self._next, self._after_bytes = mode, after_bytes

    def heal(self) -> None:
        self.mode = "pass"
        self._cut()
        self._healthy.set()

    def close(self) -> None:
        self._listener.close()
        self.heal()

    def _cut(self) -> None:
        for one in list(self._open):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def _fail(self) -> None:
        self.mode, self._next = self._next, ""
        if self.mode == "killed":
            self._cut()
        elif self.mode == "slow":
            self._healthy.clear()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            if self.mode == "killed":
                client.close()
                continue
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with suppress(OSError), client, socket.create_connection(("127.0.0.1", self._port)) as server:
            self._open |= {client, server}
            threading.Thread(target=self._back, args=(server, client), daemon=True).start()
            while raw := client.recv(BLOCK):
                if self._next and (raw.startswith(b"PUT") or len(raw) > HEAD):  # a request without a body is no upload
                    self._count(len(raw))
                self._healthy.wait()
                if self.mode == "full" and raw.startswith((b"PUT", b"POST")):
                    client.sendall(FULL)
                    return
                server.sendall(raw)
        self._open -= {client}

    def _count(self, size: int) -> None:
        self._after_bytes -= size
        if self._after_bytes <= 0:
            self._fail()

    def _back(self, server: socket.socket, client: socket.socket) -> None:
        with suppress(OSError):
            while raw := server.recv(BLOCK):
                self._healthy.wait()
                client.sendall(raw)
        with suppress(OSError):
            client.shutdown(socket.SHUT_RDWR)

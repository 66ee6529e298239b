"""Network interface of an address: collectives must use the fabric under test, not the host name's."""

import fcntl
import socket
import struct

SIOCGIFADDR = 0x8915


def interface_of(address: str) -> str:
    """The interface with this address. Raises ValueError if there is none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        for _, name in socket.if_nameindex():
            try:
                answer = fcntl.ioctl(probe.fileno(), SIOCGIFADDR, struct.pack("256s", name.encode()[:15]))
            except OSError:
                continue  # an interface without an address
            if socket.inet_ntoa(answer[20:24]) == address:
                return name
    raise ValueError(f"no interface of {socket.gethostname()} has the address {address}")

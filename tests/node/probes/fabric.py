"""Hosts in network namespaces behind two bridges and a trunk: links that can be limited one by one."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

LIMIT = ["rate", "40mbit", "burst", "64kb", "latency", "50ms"]


@dataclass(frozen=True)
class Fabric:
    """The first half of the hosts is on the eastern bridge (h1 and h2 of four), the others on the western one."""

    prefix: str
    hosts: Path

    def space(self, name: str) -> str:
        return f"{self.prefix}{name}"

    def tc(self, space: str, *words: str) -> None:
        run("ip", "netns", "exec", self.space(space), "tc", *words)

    def limit_host(self, name: str) -> None:
        """Both ways, as a worn cable is slow both ways."""
        self.tc(name, "qdisc", "add", "dev", "eth0", "root", "tbf", *LIMIT)
        self.tc("sw", "qdisc", "add", "dev", f"p{name}", "root", "tbf", *LIMIT)

    def limit_sending(self, name: str) -> None:
        self.tc(name, "qdisc", "add", "dev", "eth0", "root", "tbf", *LIMIT)

    def lose(self, name: str, percent: int) -> None:
        """So much of what a host sends, and of what it receives, is dropped at random."""
        for hook, direction in (("input", "iifname"), ("output", "oifname")):
            for words in (
                "add table inet loss",
                f"add chain inet loss {hook} {{ type filter hook {hook} priority 0 ; }}",
                f"add rule inet loss {hook} {direction} != lo numgen random mod 100 < {percent} drop",
            ):
                run("ip", "netns", "exec", self.space(name), "nft", words)

    def set_mtu(self, name: str, size: int) -> None:
        run("ip", "-n", self.space(name), "link", "set", "eth0", "mtu", str(size))

    def limit_pair(self, one: str, other: str) -> None:
        for here, there in ((one, other), (other, one)):
            self.tc(here, "qdisc", "add", "dev", "eth0", "root", "handle", "1:", "htb", "default", "1")
            self.tc(here, "class", "add", "dev", "eth0", "parent", "1:", "classid", "1:1", "htb", "rate", "40gbit")
            self.tc(here, "class", "add", "dev", "eth0", "parent", "1:", "classid", "1:2", "htb", "rate", "40mbit")
            match = ["match", "ip", "dst", f"{address(there)}/32", "flowid", "1:2"]
            self.tc(here, "filter", "add", "dev", "eth0", "parent", "1:", "protocol", "ip", "u32", *match)

    def limit_trunk(self) -> None:
        for end in ("trunk0", "trunk1"):
            self.tc("sw", "qdisc", "add", "dev", end, "root", "tbf", *LIMIT)


def address(name: str) -> str:
    return f"10.97.0.{name[1:]}"


def run(*words: str) -> None:
    subprocess.run(words, check=True, capture_output=True)


@contextmanager
def fabric(folder: Path, hosts: int = 4) -> Iterator[Fabric]:
    prefix = f"hf{os.getpid() % 10000}"
    made = Fabric(prefix, folder / "hosts.txt")
    sides = {f"h{number}": "east" if 2 * number <= hosts else "west" for number in range(1, hosts + 1)}
    try:
        run("ip", "netns", "add", made.space("sw"))
        switch = ("ip", "-n", made.space("sw"), "link")
        for side in ("east", "west"):
            run(*switch, "add", side, "type", "bridge")
            run(*switch, "set", side, "up")
        run(*switch, "add", "trunk0", "type", "veth", "peer", "name", "trunk1")
        run(*switch, "set", "trunk0", "master", "east", "up")
        run(*switch, "set", "trunk1", "master", "west", "up")
        for name, side in sides.items():
            host = made.space(name)
            run("ip", "netns", "add", host)
            run(*switch, "add", f"p{name}", "type", "veth", "peer", "name", "eth0", "netns", host)
            run(*switch, "set", f"p{name}", "master", side, "up")
            run("ip", "-n", host, "addr", "add", f"{address(name)}/24", "dev", "eth0")
            run("ip", "-n", host, "link", "set", "eth0", "up")
            run("ip", "-n", host, "link", "set", "lo", "up")
        lines = [f"{name} {address(name)} leaf={side} ip netns exec {made.space(name)}" for name, side in sides.items()]
        made.hosts.write_text("\n".join(lines) + "\n")
        yield made
    finally:
        for name in (*sides, "sw"):
            subprocess.run(["ip", "netns", "del", made.space(name)], check=False, capture_output=True)

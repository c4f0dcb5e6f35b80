"""Hosts as network namespaces: two, and a server that both have a link to. They exist while the program runs."""

import os
import shutil
import subprocess
import sys


def missing():
    """Why there can be no hosts; nothing if there can."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    if not shutil.which("ip"):
        return "iproute2 is missing"
    try:
        with Hosts():
            return None
    except subprocess.CalledProcessError as error:
        return f"{' '.join(error.cmd)}: {error.stderr.strip()}"


def run(host, command, **environment):
    """Runs a command on a host, which has to end well; what it says."""
    inside = ["ip", "netns", "exec", host] if host else []
    ended = subprocess.run([*inside, *(str(word) for word in command)], capture_output=True, text=True,
                           env=os.environ | environment)
    if ended.returncode != 0:
        sys.exit(f"{' '.join(str(word) for word in command)}: {ended.returncode}\n{ended.stdout}{ended.stderr}")
    return ended.stdout + ended.stderr


class Hosts:
    """`one`, `two` and `server`. The server is at 10.77.1.1 for the first and at 10.77.2.1 for the second; its address on a
    network of its own, 10.77.0.1, is the same for both."""

    ADDRESS = "10.77.0.1"

    def __init__(self):
        start = f"oriole-{os.getpid()}"
        self.server, self.one, self.two = (f"{start}-{which}" for which in ("server", "one", "two"))

    def ip(self, *words):
        subprocess.run(["ip", *words], check=True, capture_output=True, text=True)

    def __enter__(self):
        try:
            for name in (self.server, self.one, self.two):
                self.ip("netns", "add", name)
                self.ip("-n", name, "link", "set", "lo", "up")
            self.ip("-n", self.server, "addr", "add", f"{self.ADDRESS}/32", "dev", "lo")
            for number, host in enumerate((self.one, self.two), 1):
                far = f"host{number}"
                self.ip("-n", self.server, "link", "add", far, "type", "veth", "peer", "name", "uplink", "netns", host)
                self.ip("-n", self.server, "addr", "add", f"10.77.{number}.1/24", "dev", far)
                self.ip("-n", self.server, "link", "set", far, "up")
                self.ip("-n", host, "addr", "add", f"10.77.{number}.2/24", "dev", "uplink")
                self.ip("-n", host, "link", "set", "uplink", "up")
                self.ip("-n", host, "route", "add", "default", "via", f"10.77.{number}.1")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for name in (self.server, self.one, self.two):
            subprocess.run(["ip", "netns", "del", name], capture_output=True)

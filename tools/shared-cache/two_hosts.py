#!/usr/bin/env python3
"""Two hosts that share one cache: what the first compiles, the second finds, under other names and whatever happens to the server.

    two_hosts.py PATH-OF-ORIOLE [--modules N] [--servers redis,s3,...] [--buildgrid PATH-OF-BGD] [--moto PATH-OF-MOTO_SERVER]

Each host and the server is a network namespace of its own on this machine, so that it needs root. The second host renames
every kernel and parameter. At least 98 of 100 functions have to be found, and each cubin has to be that of a compile
without a cache. Then the server is killed, stopped for a while and slowed down while the second host compiles, and its
values are corrupted: cubins stay right, and no build takes longer than the waits that are documented.
A server that is not installed is skipped, and named.
"""

import argparse
import concurrent.futures
import re
import shutil
import sys
import tempfile
import time
from pathlib import Path

import modules
import network
import servers

# Look-ups of a server on a loaded machine: the law is about what is found, not about how quickly.
PATIENT = ["--cache-url-wait", "20000"]
# Modules of a build in which the server fails.
FAULTY = 200
COUNTS = re.compile(r"cache \w+: (\d+) hits, (\d+) misses, (\d+) damaged, (\d+) stored")


class Build:
    """Modules compiled by one host: bytes by name, the sums of its cache, and how long it took."""

    def __init__(self, oriole, texts, folder, host=None, options=(), server=None, when=None):
        folder.mkdir(parents=True)
        self.counts = [0, 0, 0, 0]
        self.bytes = {}
        start = time.monotonic()

        def compiled(numbered):
            number, (name, text) = numbered
            if when and when[0] == number:
                when[1]()
            source, made = folder / f"{name}.ptx", folder / f"{name}.cubin"
            source.write_text(text)
            said = network.run(host, [oriole, "compile", source, "-o", made, "--arch", "sm_90", "-v", "--cache-dir",
                                      folder / "near", *options], **(server.environment if server else {}))
            counts = COUNTS.search(said)
            return name, made.read_bytes(), [int(count) for count in counts.groups()] if counts else [0] * 4

        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for name, made, counts in pool.map(compiled, enumerate(texts.items())):
                self.bytes[name] = made
                self.counts = [one + other for one, other in zip(self.counts, counts)]
        self.seconds = time.monotonic() - start

    def hits(self):
        """The part of functions that was found. The file as a whole is looked up first, and is another one on each host."""
        return self.counts[0] / max(1, self.counts[0] + self.counts[1] - len(self.bytes))

    def same(self, other, what):
        wrong = [name for name, made in self.bytes.items() if made != other.bytes[name]]
        if wrong:
            sys.exit(f"{what}: {len(wrong)} cubins differ from those without a cache: {wrong[:3]}")


def shared(given, server, hosts, plain, folder):
    """The law: what one host sends, the other finds. The row of the table."""
    url = ["--cache", "write", "--cache-url", server.url, *PATIENT]
    first = Build(given.oriole, modules.texts(given.modules, "one"), folder / "one", hosts.one, url, server)
    second = Build(given.oriole, modules.texts(given.modules, "two"), folder / "two", hosts.two, url, server)
    second.same(plain, server.name)
    print(f"{server.name:8} {first.counts[3]:7} {second.counts[0]:7} {second.counts[1]:7} {100 * second.hits():8.2f} % "
          f"{first.seconds:8.1f} {second.seconds:8.1f}", flush=True)
    if second.hits() < 0.98:
        sys.exit(f"{server.name}: the second host found {100 * second.hits():.2f} %")


def faults(given, server, hosts, plain, folder):
    """What happens to a server in the middle of a build changes no cubin."""
    texts = modules.texts(min(given.modules, FAULTY), "two")
    url = ["--cache", "write", "--cache-url", server.url]
    middle = len(texts) // 2

    def build(what, when):
        made = Build(given.oriole, texts, folder / what, hosts.two, url, server, when)
        made.same(plain, f"{server.name}, {what}")
        print(f"{server.name:8} {what:10} {made.counts[0]:7} hits {made.counts[1]:7} misses {made.counts[2]:5} damaged "
              f"{made.seconds:8.1f} s", flush=True)
        # A process waits once for a look-up, and once at its end.
        if made.seconds > plain.seconds * 2 + len(texts) * 0.3:
            sys.exit(f"{server.name}, {what}: {made.seconds:.1f} s, {plain.seconds:.1f} s without a cache")
        return made

    if server.corrupt:
        server.corrupt(hosts)
        if build("corrupted", None).counts[0]:
            sys.exit(f"{server.name}: corrupted values were used")
    if server.change_pace:
        server.change_pace()
        build("slow", None)
        server.change_pace()
    build("stopped", (middle, server.stop))
    server.go_on()
    build("killed", (middle, server.kill))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("oriole", type=lambda name: Path(name).resolve())
    parser.add_argument("--modules", type=int, default=1000)
    parser.add_argument("--servers", type=lambda text: text.split(","), default=list(servers.ALL))
    parser.add_argument("--buildgrid", default="bgd", help="BuildGrid's program")
    parser.add_argument("--moto", default="moto_server", help="Moto's server")
    given = parser.parse_args()
    if why := network.missing():
        print(f"SKIPPED: two hosts ({why})")
        return
    folder = Path(tempfile.mkdtemp(prefix="oriole-two-hosts-"))
    try:
        plain = Build(given.oriole, modules.texts(given.modules, "two"), folder / "plain")
        print(f"{given.modules} modules, {plain.seconds:.1f} s without a cache")
        print("server      sent    hits  misses     hits     first s second s")
        for name in given.servers:
            with network.Hosts() as hosts:
                server = servers.start(name, given, hosts, folder / f"server-{name}")
                if not server:
                    continue
                try:
                    shared(given, server, hosts, plain, folder / f"law-{name}")
                    if server.fails:
                        faults(given, server, hosts, plain, folder / f"faults-{name}")
                finally:
                    server.kill()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()

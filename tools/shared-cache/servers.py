"""Servers of values, each with the URL by which hosts ask it: programs where they are installed, and small ones of our own."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import network

HERE = Path(__file__).resolve().parent

BUILDGRID = """server:
  - !channel
    address: "0.0.0.0:50051"
    insecure-mode: true
authorization:
  method: none
monitoring:
  enabled: false
storages:
  - !lru-storage &cas
    size: 512M
caches:
  - !lru-action-cache &ac
    storage: *cas
    max-cached-refs: 100000
    allow-updates: true
    cache-failed-actions: false
instances:
  - name: ""
    services:
      - !cas
        storage: *cas
      - !bytestream
        storage: *cas
      - !action-cache
        cache: *ac
thread-pool-size: 20
"""


class Server:
    """A server that runs. `fails` says that faults are tried on it. Where it is known how, `corrupt` changes its values, and
    `change_pace` makes it slow, or quick again. Hosts ask it with the variables of `environment`."""

    def __init__(self, name, url, process, fails=False, corrupt=None, change_pace=None, environment=None):
        self.name, self.url, self.process, self.fails = name, url, process, fails
        self.corrupt, self.change_pace = corrupt, change_pace
        self.environment = environment or {}

    def stop(self):
        self.process.send_signal(signal.SIGSTOP)

    def go_on(self):
        self.process.send_signal(signal.SIGCONT)

    def kill(self):
        if self.process:
            self.process.kill()
            self.process.wait()


def installed(program):
    """The path of a program from any folder; nothing if it is not there."""
    found = shutil.which(program)
    return found and os.path.abspath(found)


def answers(host, port):
    """Whether something listens there, asked from the host itself."""
    probe = f"import socket; socket.create_connection(({network.Hosts.ADDRESS!r}, {port}), 1)"
    return subprocess.run(["ip", "netns", "exec", host, sys.executable, "-c", probe], capture_output=True).returncode == 0


def started(hosts, command, port, folder):
    """A program on the host of the server, once it listens. It has no standard input, and its words go into a file."""
    folder.mkdir(parents=True)
    with open(folder / "log", "w") as log:
        process = subprocess.Popen(["ip", "netns", "exec", hosts.server, *(str(word) for word in command)], cwd=folder,
                                   stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    end = time.monotonic() + 60
    while not answers(hosts.server, port):
        if process.poll() is not None or time.monotonic() > end:
            process.kill()
            sys.exit(f"{command[0]} does not start:\n{(folder / 'log').read_text()[-2000:]}")
        time.sleep(0.2)
    return process


def of_redis(given, hosts, folder):
    program = installed("redis-server")
    if not program:
        return None
    command = [program, "--port", "6379", "--save", "", "--appendonly", "no", "--protected-mode", "no"]
    process = started(hosts, command, 6379, folder)

    def corrupt(hosts):
        network.run(hosts.server, [sys.executable, HERE / "corrupt_redis.py", network.Hosts.ADDRESS])

    return Server("redis", f"redis://{network.Hosts.ADDRESS}:6379/1", process, True, corrupt)


def of_web(given, hosts, folder, secure):
    folder.mkdir(parents=True)
    more, environment = [], {}
    if secure:
        if not shutil.which("openssl"):
            return None
        certificate = folder / "certificate.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=oriole test",
                        "-addext", "basicConstraints=critical,CA:FALSE", "-addext", f"subjectAltName=IP:{network.Hosts.ADDRESS}", "-keyout", folder / "key.pem", "-out",
                        certificate], check=True, capture_output=True)
        environment = {"SSL_CERT_FILE": str(certificate)}
        more = [certificate, folder / "key.pem"]
    process = started(hosts, [sys.executable, HERE / "web_server.py", "8080", *more], 8080, folder / "run")
    name = "https" if secure else "http"

    def corrupt(hosts):
        process.send_signal(signal.SIGUSR1)
        time.sleep(0.5)

    def change_pace():
        process.send_signal(signal.SIGUSR2)
        time.sleep(0.5)

    return Server(name, f"{name}://{network.Hosts.ADDRESS}:8080/values", process, True, corrupt, change_pace, environment)


def of_s3(given, hosts, folder):
    program = installed(given.moto)
    if not program:
        return None
    process = started(hosts, [program, "-H", "0.0.0.0", "-p", "5000"], 5000, folder)
    make = "import http.client, sys; c = http.client.HTTPConnection(sys.argv[1], 5000); c.request('PUT', '/bucket'); " \
        "sys.exit(c.getresponse().status != 200)"
    network.run(hosts.server, [sys.executable, "-c", make, network.Hosts.ADDRESS])
    options = "disable_config_load&access_key_id=a&secret_access_key=b&region=us-east-1"
    return Server("s3", f"s3://bucket/oriole?endpoint=http://{network.Hosts.ADDRESS}:5000&{options}", process)


def of_grpc(given, hosts, folder):
    program = installed(given.buildgrid)
    if not program:
        return None
    folder.mkdir(parents=True)
    (folder / "buildgrid.yml").write_text(BUILDGRID)
    process = started(hosts, [program, "server", "start", folder / "buildgrid.yml"], 50051, folder / "run")
    return Server("grpc", f"grpc://{network.Hosts.ADDRESS}:50051", process, True)


def of_folder(given, hosts, folder):
    values = folder / "values"
    values.mkdir(parents=True)
    return Server("fs", f"fs://{values}", None)


ALL = {
    "redis": of_redis,
    "http": lambda given, hosts, folder: of_web(given, hosts, folder, False),
    "https": lambda given, hosts, folder: of_web(given, hosts, folder, True),
    "s3": of_s3,
    "grpc": of_grpc,
    "fs": of_folder,
}


def start(name, given, hosts, folder):
    server = ALL[name](given, hosts, folder)
    if not server:
        print(f"SKIPPED: {name} (its server is not installed)")
    return server

#!/usr/bin/env python3
"""A server with GET and PUT that keeps values in memory: web_server.py PORT [CERTIFICATE KEY]. SIGUSR1 changes
one bit of each; SIGUSR2 makes each answer late by 100 ms, or quick again."""

import http.server
import signal
import ssl
import sys
import time

VALUES = {}
LATE = False


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # An answer is two writes.
    disable_nagle_algorithm = True

    def answer(self, status, body=b""):
        if LATE:
            time.sleep(0.1)
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        value = VALUES.get(self.path)
        self.answer(404) if value is None else self.answer(200, value)

    def do_PUT(self):
        VALUES[self.path] = self.rfile.read(int(self.headers["Content-Length"]))
        self.answer(200)

    def log_message(self, *_):
        pass


def corrupt(*_):
    for path, value in list(VALUES.items()):
        VALUES[path] = value[:-1] + bytes([value[-1] ^ 1])


def change_pace(*_):
    global LATE
    LATE = not LATE


signal.signal(signal.SIGUSR1, corrupt)
signal.signal(signal.SIGUSR2, change_pace)
server = http.server.ThreadingHTTPServer(("0.0.0.0", int(sys.argv[1])), Handler)
if len(sys.argv) > 2:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[2], sys.argv[3])
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
server.serve_forever()

#!/usr/bin/env python3
"""Changes one bit of each value of a Redis: corrupt_redis.py ADDRESS."""

import socket
import sys

link = socket.create_connection((sys.argv[1], 6379), 5).makefile("rwb")


def ask(*words):
    words = [word if isinstance(word, bytes) else word.encode() for word in words]
    link.write(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words))
    link.flush()
    return answer()


def answer():
    line = link.readline().strip()
    kind, rest = line[:1], line[1:]
    if kind == b"*":
        return [answer() for _ in range(int(rest))]
    if kind == b"$":
        value = link.read(int(rest) + 2)
        return value[:-2]
    return rest


ask("SELECT", "1")
for key in ask("KEYS", "*"):
    value = ask("GET", key)
    ask("SET", key, value[:-1] + bytes([value[-1] ^ 1]))

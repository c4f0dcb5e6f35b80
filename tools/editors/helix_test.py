#!/usr/bin/env python3
"""Checks the configuration for Helix that docs/editors/helix.md gives: that it is TOML with the tables that Helix reads, and
that the very command it names is a language server that takes its settings.

    tools/editors/helix_test.py [ORIOLE]

The command is looked up with the folder of ORIOLE before the path, as it would be where `oriole` is installed. Where the tables
for Helix were installed with it, those are read."""

import json
import os
import pathlib
import subprocess
import sys

try:
    import tomllib
except ImportError:
    print("SKIPPED: Python before 3.11 reads no TOML")
    sys.exit(0)

ROOT = pathlib.Path(__file__).resolve().parents[2]


def program() -> pathlib.Path:
    if len(sys.argv) > 1:
        return pathlib.Path(sys.argv[1]).resolve()
    built = [ROOT / "target" / profile / "oriole" for profile in ("release", "debug")]
    built = [path for path in built if path.exists()]
    if not built:
        sys.exit("there is no oriole: build it (cargo build -p oriole-cli) or name it")
    return max(built, key=lambda path: path.stat().st_mtime)


def send(server: subprocess.Popen, message: dict) -> None:
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    server.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
    server.stdin.flush()


def receive(server: subprocess.Popen) -> dict:
    length = 0
    while line := server.stdout.readline().strip():
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    return json.loads(server.stdout.read(length))


def answer(server: subprocess.Popen, number: int, told: list) -> dict:
    """The answer to a request; what the server says meanwhile is kept."""
    while True:
        message = receive(server)
        if message.get("id") == number and "method" not in message:
            assert "error" not in message, message
            return message["result"]
        if message.get("method") == "window/showMessage":
            told.append(message["params"]["message"])


def main() -> None:
    oriole = program()
    installed = oriole.parent.parent / "share/oriole/editors/languages.toml"
    text = (installed if installed.exists() else ROOT / "docs/editors/languages.toml").read_text()
    page = (ROOT / "docs/editors/helix.md").read_text()
    config = tomllib.loads(text)
    assert "languages.toml" in page, "the page names the file"
    (language,) = config["language"]
    assert language["file-types"] == ["ptx"] and language["scope"] == "source.ptx", language
    (name,) = language["language-servers"]
    (grammar,) = config["grammar"]
    assert grammar["name"] == language["name"], grammar
    package = ROOT / grammar["source"]["subpath"]
    assert (package / "src/parser.c").exists() and (package / "queries/highlights.scm").exists(), package
    server = config["language-server"][name]
    command = [server["command"], *server["args"]]

    path = f"{oriole.parent}{os.pathsep}{os.environ.get('PATH', '')}"
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, "PATH": path}) as child:
        told: list = []
        # As Helix does: the configuration goes with the first request, diagnostics are pushed.
        parameters = {"processId": None, "rootUri": None, "initializationOptions": server["config"],
                      "capabilities": {"general": {"positionEncodings": ["utf-8", "utf-32", "utf-16"]}}}
        send(child, {"id": 1, "method": "initialize", "params": parameters})
        result = answer(child, 1, told)
        assert result["serverInfo"]["name"] == "oriole", result
        assert result["capabilities"]["positionEncoding"] == "utf-8", result
        send(child, {"method": "initialized", "params": {}})
        uri = "file:///w/control.ptx"
        kernel = (ROOT / "test-data/kernels/control.ptx").read_text()
        item = {"uri": uri, "languageId": language["name"], "version": 1, "text": kernel}
        send(child, {"method": "textDocument/didOpen", "params": {"textDocument": item}})
        whole = {"start": {"line": 0, "character": 0}, "end": {"line": 60, "character": 0}}
        send(child, {"id": 2, "method": "textDocument/inlayHint",
                     "params": {"textDocument": {"uri": uri}, "range": whole}})
        labels = [hint["label"] for hint in answer(child, 2, told)]
        assert labels and any("live" in label for label in labels), labels
        assert not any("stall" in label for label in labels), "the configuration switches stalls off"
        send(child, {"id": 3, "method": "shutdown"})
        answer(child, 3, told)
        send(child, {"method": "exit"})
        assert child.wait(20) == 0
        assert told == [], told
    print(f"helix: {installed if installed.exists() else 'languages.toml'} names `{' '.join(command)}`, which serves PTX and takes its settings")


if __name__ == "__main__":
    main()

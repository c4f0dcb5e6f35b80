#!/usr/bin/env bash
# Opens pages of the given program in headless Chromium. Where no browser or npm can be had it says so and leaves.
set -euo pipefail
program=$(realpath "${1:?which program}")
cd "$(dirname "$0")"
if [ -z "${CHROMIUM:-}" ] && ! command -v chromium >/dev/null; then
    { [ "$(id -u)" = 0 ] && timeout 300 sh -c 'apt-get update && apt-get install -y chromium' >/dev/null 2>&1; } || true
fi
if [ -z "${CHROMIUM:-}" ] && ! command -v chromium >/dev/null; then
    echo "SKIPPED: pages in a browser (chromium is missing)"
    exit 0
fi
if ! command -v npm >/dev/null || ! timeout 300 npm ci --no-audit --no-fund --loglevel=error; then
    echo "SKIPPED: pages in a browser (npm or its registry is missing)"
    exit 0
fi
node test.mjs "$program"

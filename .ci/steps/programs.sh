#!/usr/bin/env bash
# Random programs: 20,000 on the interpreter and on the simulator at each level (docs/how-to/random-programs.md).
# ORIOLE_PROGRAMS is how many, ORIOLE_FIRST_PROGRAM the first seed. It reads the whole compiler, and runs on request only.
# reads:
. "$(dirname "$0")/../common.sh"
cargo build --release --quiet --package oriole-cli
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 tools/programs/run.py --oriole target/release/oriole --jobs "$(nproc)" \
    --first "${ORIOLE_FIRST_PROGRAM:-1}" --count "${ORIOLE_PROGRAMS:-20000}" --folder "$folder"

#!/usr/bin/env bash
# Pages in a browser: Chromium from Debian, its driver from npm.
# reads: tools/page-test crates/explore crates/cli/src/view.rs crates/cli/src/view crates/cli/src/diff.rs
. "$(dirname "$0")/../common.sh"
tools/page-test/run.sh "$program"

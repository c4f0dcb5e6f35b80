#!/usr/bin/env bash
# Builds the program as it is released for Linux on x86_64, statically with musl, but unoptimized, and holds it against the program
# that the tests are of: the same bytes of every kernel in test-data/kernels, at -O3 and -O0. Its copies and comparisons of memory must be
# those of crates/memory-functions, not musl's, which are slow: the compiler calls both by the same names, so that the linker decides.
#
#   tools/static/check.sh PROGRAM
#
# Where musl-gcc (apt: musl-tools) or Rust's library for musl cannot be had, it says SKIPPED and ends well.
set -euo pipefail
program=$(realpath "$1")
cd "$(dirname "$0")/../.."
target=x86_64-unknown-linux-musl
skipped() { echo "SKIPPED: the static program ($1)"; exit 0; }
[ "$(uname -sm)" = "Linux x86_64" ] || skipped "this is not Linux on x86_64"
command -v musl-gcc >/dev/null || \
    { [ "$(id -u)" = 0 ] && timeout 150 apt-get install -y --no-install-recommends musl-tools >/dev/null 2>&1; } || true
command -v musl-gcc >/dev/null || skipped "musl-gcc is missing"
have() { ls "$(rustc --print target-libdir --target $target)"/libstd-*.rlib >/dev/null 2>&1; }
have || timeout 300 rustup target add $target >/dev/null 2>&1 || true
have || skipped "Rust's library for $target is missing"

cargo build --quiet --package oriole-cli --target $target --config "target.$target.rustflags=['-Crelocation-model=static']"
static=${CARGO_TARGET_DIR:-target}/$target/debug/oriole
# musl's memcpy comes with another name for its memmove, __memcpy_fwd or __memcpy_fwd_alias_1.
if nm $static | grep __memcpy_fwd >/dev/null; then
    echo "$static has musl's memcpy" >&2
    exit 1
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
count=0
for kernel in test-data/kernels/*.ptx; do
    for level in -O3 -O0; do
        "$program" compile $level "$kernel" -o "$folder/expected.cubin" > "$folder/said" 2>&1
        $static compile $level "$kernel" -o "$folder/found.cubin" > "$folder/said" 2>&1
        cmp "$folder/expected.cubin" "$folder/found.cubin"
        count=$((count + 1))
    done
done
echo "ok the static program makes the same bytes of $count compiles"

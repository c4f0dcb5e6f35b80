#!/usr/bin/env bash
# Packs every crate, and compiles what is in the packages: a file that a crate reads from a folder beside its own, or that its
# package leaves out, is there in the checkout only, and whoever takes the crate from a registry could not build it.
#
# All packages together are one workspace in which each stands for its name in the registry, so that the crates of others are those
# that were compiled for the checkout, and none is compiled twice. Only the compiler's front end runs.
#
#   tools/packages/check.sh
set -euo pipefail
cd "$(dirname "$0")/../.."
folder=target/packages/unpacked
rm -rf target/packages
mkdir -p $folder
# Developers' commands are no package.
cargo package --quiet --workspace --exclude xtask --no-verify --allow-dirty --target-dir target/packages
for package in target/packages/package/*.crate; do
    # With the time of now: cargo would take what has that of the package, years ago, for compiled already.
    tar -xmf "$package" -C $folder
done
count=$(ls -d $folder/*/ | wc -l)
[ "$count" = "$(ls -d crates/*/ | wc -l)" ] || { echo "$count packages are too few" >&2; exit 1; }
{
    printf '[workspace]\nresolver = "3"\nmembers = ["*"]\n\n[patch.crates-io]\n'
    for package in $folder/*/; do
        name=$(sed -n 's/^name = "\(.*\)"/\1/p' "$package/Cargo.toml" | head -1)
        # One that no other needs would be a patch without use.
        if grep -qE "^\[.*dependencies\.$name\]" $folder/*/Cargo.toml; then
            printf '%s = { path = "%s" }\n' "$name" "$(basename "$package")"
        fi
    done
} > $folder/Cargo.toml
cp Cargo.lock $folder
cargo check --quiet --workspace --manifest-path $folder/Cargo.toml --target-dir target
rm -r target/packages
echo "ok $count crates compile from their packages"

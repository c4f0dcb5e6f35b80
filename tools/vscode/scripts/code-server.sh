#!/usr/bin/env bash
# Fetches what `window.mjs` needs into a folder: code-server, which is Visual Studio Code behind a browser, and the driver of
# Chromium. It is here because the package's own script wants a search program from elsewhere and the headers of libraries for
# signing in, and neither is used here: only modules are built without which the editor does not start.
#
#   scripts/code-server.sh FOLDER
#
# It needs npm, a C++ compiler and Node.js 20, and prints what to set.
set -euo pipefail
folder=$(mkdir -p "${1:?which folder}" && cd "$1" && pwd)
cd "$folder"
[ -f package.json ] || echo '{ "private": true }' > package.json
quiet=(--no-audit --no-fund --loglevel=error)
npm install --ignore-scripts "${quiet[@]}" code-server@4.99.4 playwright-core@1.56.1 >&2
npm rebuild --loglevel=error argon2 >&2
cd node_modules/code-server/lib/vscode
npm install --omit=dev --ignore-scripts "${quiet[@]}" >&2
(cd extensions && npm install --omit=dev --ignore-scripts "${quiet[@]}" >&2)
npm rebuild --loglevel=error @vscode/spdlog native-watchdog @parcel/watcher >&2
printf 'CODE_SERVER=%q PLAYWRIGHT=%q\n' "$folder/node_modules/code-server/out/node/entry.js" "$folder/node_modules/playwright-core"

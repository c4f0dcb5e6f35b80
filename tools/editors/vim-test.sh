#!/usr/bin/env bash
# Opens a kernel in Vim with the files of docs/editors/vim and compares the groups of some words. Without Vim it says SKIPPED.
set -euo pipefail
root="$(cd "$(dirname "$0")/../.." && pwd)"
if ! vim --version 2>/dev/null | grep -q '+syntax'; then
    echo "SKIPPED: no vim with colours"
    exit 0
fi
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
cat > "$folder/k.ptx" <<'PTX'
.visible .entry k(.param .u64 out)
{
    .reg .b32 %r<2>; // registers
again:
    @%p1 bra again;
    mov.u32 %r1, %tid.x;
    ld.global.u32 %r1, [%rd1+0x10];
}
PTX
cat > "$folder/test.vim" <<'VIM'
let found = [&filetype]
for word in ['\.entry', 'k(', '\.param', '\.u64', '%r<', '\/\/', 'again:', 'bra', 'mov', '%tid', 'global', '0x10']
  call cursor(1, 1)
  call search('\V' . substitute(word, '^\\', '', ''), 'c')
  call add(found, synIDattr(synID(line('.'), col('.'), 1), 'name'))
endfor
call writefile([join(found, ' ')], $OUT)
qall!
VIM
OUT="$folder/out" timeout 60 vim -N -u NONE -i NONE -es --cmd "set runtimepath^=$root/docs/editors/vim" \
    -c 'filetype plugin on' -c 'syntax on' -c "edit $folder/k.ptx" -S "$folder/test.vim" < /dev/null > /dev/null 2>&1 || true
wanted="ptx ptxDirective ptxKernel ptxSpace ptxType ptxRegister ptxComment ptxLabel ptxOpcode ptxOpcode ptxSpecial ptxSpace ptxNumber"
found="$(cat "$folder/out" 2>/dev/null || echo nothing)"
if [ "$found" != "$wanted" ]; then
    printf 'FAILED: vim has these groups:\n%s\nwanted:\n%s\n' "$found" "$wanted"
    exit 1
fi
echo "vim: colours of PTX are right"

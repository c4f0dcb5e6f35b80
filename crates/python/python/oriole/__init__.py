"""Oriole: an open, incremental PTX to SASS compiler.

>>> import oriole
>>> result = oriole.compile(open("k.ptx").read(), "sm_90a")
>>> open("k.cubin", "wb").write(result.cubin)

The compiler works without the interpreter's lock, so threads compile side by side.
"""

from __future__ import annotations

import os
import shutil
import sysconfig
from typing import Iterable, Mapping, Optional

from oriole import _native
from oriole._native import Diagnostic, Function, Result

__all__ = ["CompileError", "Diagnostic", "Function", "Result", "check", "compile", "program"]


class CompileError(Exception):
    """The text does not compile. `diagnostics` says why; `str()` shows it with excerpts of the text."""

    def __init__(self, text: str, diagnostics: list[Diagnostic]) -> None:
        super().__init__(text)
        self.diagnostics = diagnostics


def compile(
    ptx: str,
    arch: Optional[str] = None,
    *,
    level: int = 3,
    max_registers: Optional[int] = None,
    fmad: bool = True,
    knobs: Optional[Mapping[str, str]] = None,
    switches: Iterable[str] = (),
    threads: int = 1,
    name: str = "<ptx>",
) -> Result:
    """Compiles PTX to a cubin.

    `arch` is a chip such as "sm_90a", by default what the text's `.target` says. `level` is the optimization level from 0
    to 3, `max_registers` a bound on the registers of a thread, `fmad` whether products and sums are contracted. `knobs` and
    `switches` are those of `oriole compile`. `name` is what the text is called in messages.

    Raises CompileError if the text does not compile, and ValueError if an option is wrong.
    """
    values = {"fmad": "true" if fmad else "false"}
    if max_registers is not None:
        values["maxrregcount"] = str(max_registers)
    values.update(knobs or {})
    if threads < 1:
        raise ValueError(f"threads: {threads} is no number of threads")
    result, found = _native.compile(ptx, arch, level, values, list(switches), threads, name)
    if result is None:
        diagnostics, text = found
        raise CompileError(text, diagnostics)
    return result


def check(ptx: str, arch: Optional[str] = None) -> list[Diagnostic]:
    """Checks PTX as far as the language goes, and for a chip if one is named; nothing is compiled."""
    return _native.check(ptx, arch)


def program(name: str = "ptxas") -> str:
    """The path of a program of this package, `oriole` or `ptxas`: what TRITON_PTXAS_PATH wants, for example."""
    path = os.path.join(sysconfig.get_path("scripts"), name)
    if os.access(path, os.X_OK):
        return path
    found = shutil.which(name)
    if name == "oriole" and found:
        return found
    raise FileNotFoundError(f"the program {name} is not installed beside this interpreter")

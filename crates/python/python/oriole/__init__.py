"""Oriole: an open, incremental PTX to SASS compiler.

>>> import oriole
>>> result = oriole.compile(open("k.ptx").read(), "sm_90a")
>>> open("k.cubin", "wb").write(result.cubin)

The compiler works without the interpreter's lock, so threads compile side by side.

A kernel runs without a GPU, on numpy arrays or anything else with the buffer protocol:

>>> x, y = numpy.arange(256, dtype="f4"), numpy.zeros(256, "f4")
>>> oriole.run(ptx, "saxpy", 2.0, x, y, 256, grid=2, block=128)
>>> assert (y == 2 * x).all()
"""

from __future__ import annotations

import os
import shutil
import sysconfig
from dataclasses import dataclass, field
from typing import Any, Iterable, Mapping, Optional, Sequence, Union

from oriole import _native
from oriole._arguments import launched
from oriole._native import (
    CheckFinding,
    CheckPlace,
    Diagnostic,
    Function,
    Profile,
    ProfileFinding,
    ProfileLine,
    Result,
    Verification,
)

__all__ = [
    "CheckFinding",
    "CheckPlace",
    "CompileError",
    "Diagnostic",
    "Fault",
    "Function",
    "Profile",
    "ProfileFinding",
    "ProfileLine",
    "Result",
    "Run",
    "Session",
    "Verification",
    "check",
    "compile",
    "disassemble",
    "profile",
    "program",
    "run",
    "verify",
]

Shape = Union[int, Sequence[int]]


class CompileError(Exception):
    """The text does not compile. `diagnostics` says why; `str()` shows it with excerpts of the text."""

    def __init__(self, text: str, diagnostics: list[Diagnostic]) -> None:
        super().__init__(text)
        self.diagnostics = diagnostics


class Fault(Exception):
    """A launch stopped early: an access outside of every array, a trap, a deadlock, a limit.

    `line` is the line of the PTX, `block` and `thread` are coordinates, `address` is what was accessed; each is None where it is
    not known. The arrays have their contents at that moment. `findings` are those of the checks that were asked for.
    """

    def __init__(self, found: "_native.Fault", findings: Sequence[CheckFinding] = ()) -> None:
        super().__init__(found.message)
        self.findings = list(findings)
        self.line = found.line
        self.block = found.block
        self.thread = found.thread
        self.address = found.address


@dataclass(frozen=True)
class Run:
    """A launch that came to its end."""

    #: Instructions that were executed: of threads in PTX, of warps in machine code.
    instructions: int
    #: The simulator's estimate; 0 of PTX.
    cycles: int
    #: Places in machine code whose result depends on the speed of the hardware.
    hazards: list[str]
    #: What `printf` printed, a string for each call; nothing of machine code.
    output: list[str]
    #: What the checks found, the gravest first. Notes are costs of time; all others are mistakes.
    findings: list[CheckFinding] = field(default_factory=list)
    #: So much memory was accessed that not all of it was checked for races.
    is_partial: bool = False


def _given(max_registers: Optional[int], fmad: bool, knobs: Optional[Mapping[str, str]]) -> dict[str, str]:
    values = {"fmad": "true" if fmad else "false"}
    if max_registers is not None:
        values["maxrregcount"] = str(max_registers)
    values.update(knobs or {})
    return values


def _result(compiled: "tuple[Optional[Result], Optional[tuple[list[Diagnostic], str]]]") -> Result:
    result, found = compiled
    if result is None:
        _refuse(found)
    return result


def _refuse(found: "Optional[tuple[list[Diagnostic], str]]") -> None:
    if found is not None:
        diagnostics, text = found
        raise CompileError(text, diagnostics)


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
    to 4, `max_registers` a bound on the registers of a thread, `fmad` whether products and sums are contracted. `knobs` and
    `switches` are those of `oriole compile`. `name` is what the text is called in messages.

    Raises CompileError if the text does not compile, and ValueError if an option is wrong.
    """
    if threads < 1:
        raise ValueError(f"threads: {threads} is no number of threads")
    values = _given(max_registers, fmad, knobs)
    return _result(_native.compile(ptx, arch, level, values, list(switches), threads, name))


def check(ptx: str, arch: Optional[str] = None) -> list[Diagnostic]:
    """Checks PTX as far as the language goes, and for a chip if one is named; nothing is compiled."""
    return _native.check(ptx, arch)


def _shape(shape: Shape, what: str) -> tuple[int, int, int]:
    axes = [shape] if isinstance(shape, int) else list(shape)
    if not 1 <= len(axes) <= 3 or any(axis < 1 for axis in axes):
        raise ValueError(f"{what}: {shape} is not one to three positive numbers")
    x, y, z = axes + [1] * (3 - len(axes))
    return x, y, z


def _code(code: Union[str, bytes, Result]) -> tuple[Optional[str], Optional[bytes]]:
    """A text, or a cubin."""
    if isinstance(code, Result):
        code = code.cubin
    return (code, None) if isinstance(code, str) else (None, code)


def _launch(
    ptx: Optional[str],
    cubin: Optional[bytes],
    entry: str,
    arguments: Sequence[Any],
    grid: Shape,
    block: Shape,
    cluster: Optional[Shape],
    shared_bytes: int,
    step_limit: Optional[int],
    name: str,
) -> tuple[dict[str, Any], list[Any]]:
    """What the native half takes of a launch, and the arrays to write results into."""
    parameters, found = _native.parameters(ptx, cubin, entry, name)
    _refuse(found)
    given, arrays = launched(arguments, parameters)
    launch = {
        "entry": entry,
        "grid": _shape(grid, "grid"),
        "block": _shape(block, "block"),
        "cluster": None if cluster is None else _shape(cluster, "cluster"),
        "shared_bytes": shared_bytes,
        "arguments": given,
        "step_limit": step_limit,
    }
    return launch, arrays


def run(
    code: Union[str, bytes, Result],
    entry: str,
    *arguments: Any,
    grid: Shape = 1,
    block: Shape = 1,
    cluster: Optional[Shape] = None,
    shared_bytes: int = 0,
    on: str = "interp",
    arch: Optional[str] = None,
    level: int = 3,
    late: bool = False,
    step_limit: Optional[int] = None,
    checks: Iterable[str] = (),
    name: str = "<ptx>",
) -> Run:
    """Runs a kernel without a GPU and writes its results into the arrays that were passed.

    PTX runs in an interpreter that follows the language's definition, or with `on="sim"` is compiled for `arch` at `level`
    and runs in a simulator of the chip. A cubin, of this compiler or of another, always runs in the simulator; `late`
    delays each result as long as its control words allow.

    An argument is an array (numpy or anything else with the buffer protocol; its elements one after the other), of which the
    kernel gets the address, or a number, which is converted to the type of the parameter. The same array may be passed
    several times.

    `checks` are names of checks that look for mistakes while PTX runs in the interpreter: "races", "bounds", "uninit",
    "banks", "aligned", "divergence", or "all". What they find is in `findings` of the result, or of the Fault.

    Raises CompileError if the text has errors, Fault if the launch stops early, and TypeError or ValueError if an
    argument does not fit.
    """
    checks = [checks] if isinstance(checks, str) else list(checks)
    if checks and (on != "interp" or not isinstance(code, str)):
        raise ValueError("checks: they are made while PTX runs in the interpreter")
    if on not in ("interp", "sim"):
        raise ValueError(f"on: {on!r} is neither 'interp' nor 'sim'")
    ptx, cubin = _code(code)
    launch, arrays = _launch(ptx, cubin, entry, arguments, grid, block, cluster, shared_bytes, step_limit, name)
    findings: list[CheckFinding] = []
    is_partial = False
    if ptx is not None and on == "sim":
        cubin = compile(ptx, arch, level=level, name=name).cubin
    if cubin is not None:
        outcome, found = _native.simulate(cubin, launch, late)
    elif checks:
        outcome, findings, is_partial, found = _native.interpret_checked(ptx, launch, checks, name)
    else:
        outcome, found = _native.interpret(ptx, launch, name)
    _refuse(found)
    after = outcome.buffers
    for array in arrays:
        array.take(after[array.number] if array.number < len(after) else None)
    if outcome.fault is not None:
        raise Fault(outcome.fault, findings)
    return Run(outcome.instructions, outcome.cycles, outcome.hazards, outcome.output, findings, is_partial)


def profile(
    code: Union[str, bytes, Result],
    entry: str,
    *arguments: Any,
    grid: Shape = 1,
    block: Shape = 1,
    cluster: Optional[Shape] = None,
    shared_bytes: int = 0,
    blocks: Optional[int] = None,
    arch: Optional[str] = None,
    level: int = 3,
    step_limit: Optional[int] = None,
    name: str = "<ptx>",
) -> Profile:
    """Why is a kernel slow? Runs it in the simulator, and replays the run on a model of the GPU.

    PTX is compiled for `arch` at `level`; places are then lines of the PTX. Places of a cubin are lines of its source if it has them,
    else addresses. Arguments are those of `run`; arrays keep their contents. `blocks` is the size of the grid whose time is asked
    for, where the launch is a small part of it.

    `findings` are the faults, the most costly first; `lines` has counters of each place, the hottest first; `str()` is a report.
    All times are those of the model.

    Raises CompileError if the text has errors, Fault if the launch stops early, and TypeError or ValueError if an
    argument does not fit.
    """
    ptx, cubin = _code(code)
    launch, _ = _launch(ptx, cubin, entry, arguments, grid, block, cluster, shared_bytes, step_limit, name)
    found, outcome, errors = _native.profile(ptx, cubin, launch, blocks, arch, level, name)
    _refuse(errors)
    if outcome is not None and outcome.fault is not None:
        raise Fault(outcome.fault)
    return found


def disassemble(cubin: Union[bytes, Result], entry: Optional[str] = None) -> str:
    """The machine code of a cubin, of this compiler or of another, or that of one kernel, with control words.

    Raises ValueError if it is no cubin for a known chip, or has no such kernel.
    """
    listings = _native.disassemble(cubin.cubin if isinstance(cubin, Result) else cubin)
    chosen = [text for name, text in listings if entry in (None, name)]
    if entry is not None and not chosen:
        raise ValueError(f"there is no kernel `{entry}`")
    return "\n".join(chosen)


def verify(
    ptx: str,
    cubin: Union[bytes, Result, None] = None,
    entry: Optional[str] = None,
    *,
    arch: Optional[str] = None,
    level: int = 3,
    seeds: int = 4,
    name: str = "<ptx>",
) -> list[Verification]:
    """Does machine code do what its PTX says? Both run on launches that are made for each kernel, `seeds` of them.

    Without a cubin the text is compiled. The verdict of each kernel is "same", "different" or "undecided"; `message` says why,
    `line` and `address` where. What a handler of a signal raises ends it early, as `KeyboardInterrupt` does.

    Raises CompileError if the text has errors.
    """
    if cubin is None:
        cubin = compile(ptx, arch, level=level, name=name)
    code = cubin.cubin if isinstance(cubin, Result) else cubin
    found, errors = _native.verify(ptx, code, entry, seeds, name)
    _refuse(errors)
    if entry is not None and not found:
        raise ValueError(f"there is no kernel `{entry}`")
    return found


class Session:
    """Texts that change: after an edit only results that depend on it are computed again.

    >>> session = oriole.Session("sm_90a")
    >>> file = session.open(text)
    >>> session.compile(file)
    >>> session.edit(file, 120, 123, "sub")
    >>> session.compile(file)

    The bytes are those of `compile` of the new text. Threads may share a session: a change cancels compiles that are in
    progress, which raise RuntimeError.
    """

    def __init__(
        self,
        arch: Optional[str] = None,
        *,
        level: int = 3,
        max_registers: Optional[int] = None,
        fmad: bool = True,
        knobs: Optional[Mapping[str, str]] = None,
        switches: Iterable[str] = (),
        threads: int = 1,
    ) -> None:
        if threads < 1:
            raise ValueError(f"threads: {threads} is no number of threads")
        values = _given(max_registers, fmad, knobs)
        self._session = _native.Session(arch, level, values, list(switches), threads)
        self._texts: dict[int, str] = {}

    def open(self, text: str) -> int:
        """Opens a text and returns its number."""
        file = self._session.open(text)
        self._texts[file] = text
        return file

    def text(self, file: int) -> str:
        """The current text of a file."""
        return self._texts[file]

    def edit(self, file: int, start: int, end: int, text: str) -> None:
        """Replaces the characters from `start` to `end`, as `text[start:end]` counts them."""
        old = self._texts[file]
        start, end, _ = slice(start, end).indices(len(old))
        end = max(start, end)
        before, removed = len(old[:start].encode()), len(old[start:end].encode())
        self._session.edit(file, before, before + removed, text)
        self._texts[file] = old[:start] + text + old[end:]

    def replace(self, file: int, text: str) -> None:
        """Replaces a whole text; equal parts are detected."""
        self._texts[file]
        self._session.replace(file, text)
        self._texts[file] = text

    def close(self, file: int) -> None:
        """Closes a file."""
        del self._texts[file]
        self._session.close(file)

    def compile(self, file: int, *, name: str = "<ptx>") -> Result:
        """Compiles a file. Raises CompileError if it has errors, KeyError if it is not open."""
        self._texts[file]
        return _result(self._session.compile(file, name))


def program(name: str = "ptxas") -> str:
    """The path of a program of this package, `oriole` or `ptxas`: what TRITON_PTXAS_PATH wants, for example."""
    path = os.path.join(sysconfig.get_path("scripts"), name)
    if os.access(path, os.X_OK):
        return path
    found = shutil.which(name)
    if name == "oriole" and found:
        return found
    raise FileNotFoundError(f"the program {name} is not installed beside this interpreter")

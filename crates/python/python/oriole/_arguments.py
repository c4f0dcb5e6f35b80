"""Arguments of a kernel: arrays and numbers of Python as the bytes that a launch takes, and results back into arrays.

Anything with the buffer protocol is an array (numpy, array.array, bytearray); nothing is imported for it.
"""

from __future__ import annotations

import struct
from typing import Any, Optional, Sequence

INTEGERS = {1: "b", 2: "h", 4: "i", 8: "q"}
FLOATS = {2: "e", 4: "f", 8: "d"}


class Array:
    """An array that the kernel reads, and writes if it is writable."""

    def __init__(self, view: memoryview, number: int) -> None:
        self.view = view
        self.number = number

    @property
    def bytes(self) -> bytes:
        return self.view.tobytes()

    def take(self, after: Optional[bytes]) -> None:
        if after is not None and not self.view.readonly:
            self.view[:] = after


def view_of(value: Any, number: int) -> Optional[memoryview]:
    """The bytes of an array or of a number with a type; None of a plain number."""
    try:
        view = memoryview(value)
    except (TypeError, ValueError, BufferError):
        # Types of elements that the buffer protocol does not have, such as bfloat16.
        if not hasattr(value, "view"):
            return None
        view = memoryview(value.view("uint8"))
    if not view.c_contiguous:
        raise ValueError(f"argument {number}: the elements are not one after the other")
    if view.nbytes == 0:
        return memoryview(b"")
    try:
        return view.cast("B")
    except (TypeError, ValueError):
        return memoryview(value.view("uint8")).cast("B")


def number(value: Any, size: int, ty: Optional[str], at: int) -> bytes:
    """A number as the bytes of a parameter."""
    if isinstance(value, bool):
        value = int(value)
    if isinstance(value, int):
        if ty in ("f16", "f32", "f64"):
            return struct.pack("<" + FLOATS[size], value)
        if not -(1 << 8 * size - 1) <= value < 1 << 8 * size:
            raise ValueError(f"argument {at}: {value} does not fit {size} bytes")
        return (value % (1 << 8 * size)).to_bytes(size, "little")
    if isinstance(value, float):
        if size not in FLOATS or ty is not None and ty[0] in "us":
            raise TypeError(f"argument {at}: the parameter is a number without a fraction ({ty or size})")
        return struct.pack("<" + FLOATS[size], value)
    raise TypeError(f"argument {at}: {type(value).__name__} is neither a number nor an array")


def launched(values: Sequence[Any], parameters: Sequence[tuple[int, Optional[str]]]) -> tuple[list, list[Array]]:
    """What the native half takes, and the arrays to write results into."""
    if len(values) != len(parameters):
        raise TypeError(f"the kernel has {len(parameters)} parameters, not {len(values)}")
    given: list[dict] = []
    arrays: list[Array] = []
    places: dict[tuple[int, int], int] = {}
    for at, (value, (size, ty)) in enumerate(zip(values, parameters)):
        entry = {"kind": "scalar", "bytes": b"", "alias": 0}
        view = view_of(value, at)
        if view is None:
            entry["bytes"] = number(value, size, ty, at)
        elif getattr(value, "ndim", None) == 0 and view.nbytes != size and hasattr(value, "item"):
            entry["bytes"] = number(value.item(), size, ty, at)
        elif getattr(value, "ndim", None) == 0 or isinstance(value, bytes) and len(value) == size != 8:
            entry["bytes"] = view.tobytes()
        else:
            if size != 8:
                raise TypeError(f"argument {at}: an array for a parameter of {size} bytes; an address has 8")
            span = _span(value, view)
            other = places.get(span) if span else None
            if other is not None:
                entry.update(kind="alias", alias=other)
            else:
                for known in places:
                    if span and known[0] < span[1] and span[0] < known[1]:
                        raise ValueError(f"argument {at}: the array overlaps argument {places[known]}")
                if span:
                    places[span] = at
                entry.update(kind="buffer", bytes=view.tobytes())
                arrays.append(Array(view, at))
        given.append(entry)
    return given, arrays


def _span(value: Any, view: memoryview) -> Optional[tuple[int, int]]:
    """The memory of an array: its first address and its end. None of an empty one."""
    interface = getattr(value, "__array_interface__", None)
    if view.nbytes == 0:
        return None
    start = interface["data"][0] if interface else id(value)
    # Without an address the object stands for its memory.
    return (start, start + view.nbytes) if interface else (start, start + 1)

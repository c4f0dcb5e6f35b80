#!/usr/bin/env python3
"""Runs launch records on a real GPU through the CUDA driver and compares with what they expect.

  run.py LAUNCHES.jsonl... --cubins DIR [--cubins DIR ...] [--alike] [--jobs N] [--seconds S] [--json] [--only-wrong]

Each DIR holds one cubin a launch: NAME.cubin, or STEM.cubin of the launch's PTX file. Several DIRs are shown side by
side (Oriole's and ptxas's, say). Launches run in processes of their own: one that does not end in S seconds is stopped
with its process, and one that faults takes no other with it. Needs nothing but Python and libcuda; where there is no GPU
it says so and exits 0. A launch that the driver cannot make, whatever the cubin, is skipped with the reason. With --alike the
other DIRs' cubins must leave what the first DIR's does, where a launch expects nothing; what that one itself leaves otherwise a second
time is told as a race, and where it fails the others are not asked. Exit status: 0
nothing wrong (or no GPU), 1 a launch failed or a result differs, 2 bad usage.
"""
import argparse
import concurrent.futures
import ctypes
import json
import math
import multiprocessing
import os
import queue
import sys

import textures
import vectors
from contents import contents, difference, encode
from needs import lacking


def load_driver():
    for name in ("libcuda.so.1", "libcuda.so", "nvcuda.dll"):
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    return None


# Of a thread, so that kernels which call themselves find room: the driver gives them 1 KiB and cannot know how deep they go.
STACK_SIZE, STACK_BYTES = 0, 16 * 1024


class Driver:
    """The few calls of the CUDA driver that a launch needs; every failure is an exception with the driver's name."""

    def __init__(self, library):
        self.library = library
        self.call("cuInit", 0)
        count = ctypes.c_int()
        self.call("cuDeviceGetCount", ctypes.byref(count))
        if count.value == 0:
            raise RuntimeError("no device")
        device = ctypes.c_int()
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        name = ctypes.create_string_buffer(128)
        self.call("cuDeviceGetName", name, 128, device)
        self.name = name.value.decode()
        version = ctypes.c_int()
        self.call("cuDriverGetVersion", ctypes.byref(version))
        self.version = version.value
        context = ctypes.c_void_p()
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxSetCurrent", context)
        self.call("cuCtxSetLimit", STACK_SIZE, ctypes.c_size_t(STACK_BYTES))

    def call(self, name, *arguments):
        status = getattr(self.library, name)(*arguments)
        if status != 0:
            text = ctypes.c_char_p()
            self.library.cuGetErrorName(status, ctypes.byref(text))
            raise RuntimeError(f"{name}: {text.value.decode() if text.value else status}")


class Attribute(ctypes.Structure):
    """CUlaunchAttribute with the dimensions of a cluster; the value is a union of 64 bytes."""

    _fields_ = [("id", ctypes.c_uint), ("pad", ctypes.c_uint), ("cluster", ctypes.c_uint * 3),
                ("rest", ctypes.c_char * 52)]


class Config(ctypes.Structure):
    """CUlaunchConfig."""

    _fields_ = [("grid", ctypes.c_uint * 3), ("block", ctypes.c_uint * 3), ("shared", ctypes.c_uint),
                ("stream", ctypes.c_void_p), ("attributes", ctypes.POINTER(Attribute)), ("count", ctypes.c_uint)]


CLUSTER_DIMENSION = 4
NON_PORTABLE_CLUSTER_SIZE_ALLOWED = 14


def launch_clusters(driver, function, launch, shared, pointers):
    cluster = launch["cluster"]
    if math.prod(cluster) > 8:
        driver.call("cuFuncSetAttribute", function, NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1)
    triple = ctypes.c_uint * 3
    attribute = Attribute(CLUSTER_DIMENSION, 0, triple(*cluster))
    config = Config(triple(*launch["grid"]), triple(*launch["block"]), shared, None, ctypes.pointer(attribute), 1)
    driver.call("cuLaunchKernelEx", ctypes.byref(config), function, pointers, None)


# Element types of tensor maps in the driver's order, and bytes of an element.
ELEMENTS = {"u8": (0, 1), "u16": (1, 2), "u32": (2, 4), "s32": (3, 4), "u64": (4, 8), "s64": (5, 8), "f16": (6, 2),
            "f32": (7, 4), "f64": (8, 8), "bf16": (9, 2), "f32.ftz": (10, 4)}


def tensor_map(driver, fields, buffers):
    """The 128 bytes as the driver makes them."""
    rank, address = len(fields["dims"]), buffers[fields["alias"]][0].value + fields.get("offset", 0)
    longs = lambda values: (ctypes.c_uint64 * max(len(values), 1))(*values)
    words = lambda values: (ctypes.c_uint32 * len(values))(*values)
    ints = lambda values: (ctypes.c_int * len(values))(*values)
    # The driver wants the map at a multiple of 64.
    room = ctypes.create_string_buffer(128 + 64)
    place = (ctypes.addressof(room) + 63) // 64 * 64
    kind = ELEMENTS[fields["type"]][0]
    tensor = [kind, rank, ctypes.c_uint64(address), longs(fields["dims"]), longs(fields["strides"])]
    steps = words(fields.get("element_strides", [1] * rank))
    swizzle = [0, 32, 64, 128].index(fields.get("swizzle", 0))
    rest = [steps, 0, swizzle, 0, 1 if fields.get("fill") == "nan" else 0]
    if "image" in fields:
        image = fields["image"]
        shape = [ints(image["lower"]), ints(image["upper"]), image["channels"], image["pixels"]]
        driver.call("cuTensorMapEncodeIm2col", ctypes.c_void_p(place), *tensor, *shape, *rest)
    else:
        driver.call("cuTensorMapEncodeTiled", ctypes.c_void_p(place), *tensor, words(fields["box"]), *rest)
    return ctypes.create_string_buffer(ctypes.string_at(place, 128), 128)


def run(driver, launch, cubin):
    """Bytes of every buffer after the launch, by argument number."""
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    image = ctypes.create_string_buffer(cubin, len(cubin))
    driver.call("cuModuleLoadData", ctypes.byref(module), image)
    driver.call("cuModuleGetFunction", ctypes.byref(function), module, launch["entry"].encode())
    shared = launch.get("shared_bytes", 0)
    if shared > 48 * 1024:
        driver.call("cuFuncSetAttribute", function, 8, shared)
    buffers, objects, values = {}, {}, []
    for index, argument in enumerate(launch["args"]):
        if "buffer" in argument:
            data = contents(argument["buffer"])
            pointer = ctypes.c_uint64()
            driver.call("cuMemAlloc_v2", ctypes.byref(pointer), max(len(data), 1))
            if data:
                driver.call("cuMemcpyHtoD_v2", pointer, data, len(data))
            buffers[index] = (pointer, len(data))
            values.append(pointer)
        elif "texture" in argument or "surface" in argument:
            objects[index] = textures.Object(driver, argument)
            values.append(objects[index].handle)
        elif "alias" in argument:
            values.append(buffers[argument["alias"]][0])
        elif "tensor_map" in argument:
            values.append(tensor_map(driver, argument["tensor_map"], buffers))
        else:
            raw = encode(argument["scalar"]["type"], argument["scalar"]["value"])
            values.append(ctypes.create_string_buffer(raw, len(raw)))
    pointers = (ctypes.c_void_p * max(len(values), 1))(*[ctypes.addressof(value) for value in values])
    if "cluster" in launch:
        launch_clusters(driver, function, launch, shared, pointers)
    else:
        driver.call("cuLaunchKernel", function, *launch["grid"], *launch["block"], shared, None, pointers, None)
    driver.call("cuCtxSynchronize")
    results = {}
    for index, (pointer, length) in buffers.items():
        out = ctypes.create_string_buffer(max(length, 1))
        if length:
            driver.call("cuMemcpyDtoH_v2", out, pointer, length)
        results[index] = out.raw[:length]
        driver.call("cuMemFree_v2", pointer)
    results.update((index, made.texels()) for index, made in objects.items())
    driver.call("cuModuleUnload", module)
    return results


def find_cubin(folder, launch):
    names = [launch.get("name", launch["entry"])]
    if "ptx" in launch:
        names.append(os.path.splitext(os.path.basename(launch["ptx"]))[0])
    for name in names:
        path = os.path.join(folder, name + ".cubin")
        if os.path.exists(path):
            with open(path, "rb") as file:
                return file.read()
    return None


def launches(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    try:
        records = [json.loads(text)]
    except ValueError:
        records = [json.loads(line) for line in text.splitlines() if line.strip()]
    for launch in records:
        if "lacking" not in launch:
            launch["lacking"] = lacking(launch, source(path, launch))
    return records


def source(path, launch):
    """The PTX of a launch, empty where the file is not at hand."""
    try:
        with open(os.path.join(os.path.dirname(path), launch["ptx"]), encoding="utf-8") as file:
            return file.read()
    except (KeyError, OSError):
        return launch.get("ptx_text", "")


def serve(connection):
    """The life of a process that runs launches: it says what the device is, then answers each launch with its results."""
    library = load_driver()
    try:
        if library is None:
            raise RuntimeError("the CUDA driver library was not found")
        driver = Driver(library)
    except RuntimeError as error:
        connection.send((None, str(error)))
        return
    connection.send((f"{driver.name}, driver {driver.version // 1000}.{driver.version % 1000 // 10}", None))
    while True:
        task = connection.recv()
        if task is None:
            return
        try:
            connection.send((run(driver, *task), None))
        except (RuntimeError, KeyError, OverflowError) as error:
            connection.send((None, f"{type(error).__name__ if not isinstance(error, RuntimeError) else ''}{error}"))


class Runner:
    """A process that runs launches, replaced where a launch failed (a fault poisons the context) or did not end."""

    def __init__(self, seconds):
        self.seconds, self.process = seconds, None
        self.device, self.error = self.start()

    def start(self):
        self.connection, other = multiprocessing.get_context("spawn").Pipe()
        self.process = multiprocessing.get_context("spawn").Process(target=serve, args=(other,), daemon=True)
        self.process.start()
        other.close()
        try:
            return self.connection.recv() if self.connection.poll(60) else (None, "the driver does not answer")
        except EOFError:
            return None, "the process that asks the driver ended"

    def stop(self):
        self.process.kill()
        self.process.join()

    def run(self, launch, cubin):
        """Results and None, or None and what went wrong."""
        try:
            self.connection.send((launch, cubin))
            answer = self.connection.recv() if self.connection.poll(self.seconds) else (None, "hangs")
        except (EOFError, OSError):
            answer = (None, "the process ended")
        if answer[0] is None:
            self.stop()
            self.start()
        return answer


def judged(launch, answer):
    """A word for a launch's end, and what there is to say of it."""
    results, error = answer
    if error is not None:
        return ("refused" if "Module" in error else "hangs" if error == "hangs" else "failed"), error
    if "vector" in launch:
        detail = vectors.difference(launch["vector"], results[len(launch["args"]) - 1])
    else:
        detail = difference(launch, results)
    return "wrong" if detail else "right" if "vector" in launch or launch.get("expect") else "ran", detail


def unlike(first, second):
    """How two sets of results differ, in words of 32 bits, or None."""
    for index, one in first.items():
        other = second[index]
        places = [place for place in range(0, len(one), 4) if one[place:place + 4] != other[place:place + 4]]
        if places:
            here = slice(places[0], places[0] + 4)
            return f"argument {index}: {len(places)} words, the first at {places[0]}: {one[here].hex()} and {other[here].hex()}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("launches", nargs="+")
    parser.add_argument("--cubins", action="append", required=True)
    parser.add_argument("--alike", action="store_true")
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--only-wrong", action="store_true")
    options = parser.parse_args()
    first = Runner(options.seconds)
    if first.device is None:
        print(f"no GPU here: {first.error}")
        return 0
    print(first.device)
    free = queue.Queue()
    for index in range(options.jobs):
        free.put(first if index == 0 else None)

    def all_folders(launch):
        if launch["lacking"]:
            return launch, [("skipped", launch["lacking"])] * len(options.cubins), {}
        runner = free.get() or Runner(options.seconds)
        try:
            cells, results, first = [], {}, None
            for column, folder in enumerate(options.cubins):
                cubin = find_cubin(folder, launch)
                if cubin is None:
                    cells.append(("no cubin", None))
                    continue
                answer = runner.run(launch, cubin)
                cells.append(judged(launch, answer))
                if options.alike and cells[-1][0] == "ran" and column == 0:
                    first = answer[0]
                    again = runner.run(launch, cubin)[0]
                    if again is None or unlike(first, again):
                        cells[-1] = ("races", None)
                elif cells[-1][0] == "ran" and first is not None:
                    detail = unlike(first, answer[0])
                    cells[-1] = ("other" if detail else "alike", detail)
                if options.alike and column == 0 and cells[-1][0] not in ("right", "ran"):
                    break
                if answer[0] is not None and cells[-1][0] not in ("right", "alike"):
                    results[folder] = {key: value.hex() for key, value in answer[0].items()}
            return launch, cells, results
        finally:
            free.put(runner)

    wrong, counts = 0, [{} for _ in options.cubins]
    every = [launch for path in options.launches for launch in launches(path)]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for launch, cells, results in pool.map(all_folders, every):
            name, here = launch.get("name", launch["entry"]), 0
            for column, (verdict, _) in enumerate(cells):
                counts[column][verdict] = counts[column].get(verdict, 0) + 1
                here += verdict not in ("right", "ran", "alike", "races", "skipped", "no cubin")
            wrong += here
            texts = [verdict if detail is None else f"{verdict} ({detail})" for verdict, detail in cells]
            if options.only_wrong and not here:
                continue
            if options.json:
                print(json.dumps({"name": name, "verdicts": texts, "args": results}))
            else:
                print(f"{name:<40} " + "  ".join(f"{text:<32}" for text in texts))
    while not free.empty():
        runner = free.get()
        if runner is not None:
            runner.stop()
    for folder, count in zip(options.cubins, counts):
        print(f"{folder}: " + ", ".join(f"{value} {key}" for key, value in sorted(count.items())))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

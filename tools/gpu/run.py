#!/usr/bin/env python3
"""Runs launch records on a real GPU through the CUDA driver and compares with what they expect.

  run.py LAUNCHES.jsonl... --cubins DIR [--cubins DIR ...] [--json]

Each DIR holds one cubin a launch: NAME.cubin, or STEM.cubin of the launch's PTX file. Several DIRs are shown side by
side (Oriole's and ptxas's, say). Needs nothing but Python and libcuda; where there is no GPU it says so and exits 0.
Exit status: 0 all right (or no GPU), 1 a launch failed or a result differs, 2 bad usage.
"""
import argparse
import ctypes
import json
import math
import os
import sys

import textures
from contents import contents, difference, encode


def load_driver():
    for name in ("libcuda.so.1", "libcuda.so", "nvcuda.dll"):
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    return None


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
        self.device = device
        self.context = None
        self.fresh_context()

    def fresh_context(self):
        """A new context: a fault in one launch poisons the old one."""
        if self.context is not None:
            self.library.cuDevicePrimaryCtxReset_v2(self.device)
        context = ctypes.c_void_p()
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), self.device)
        self.call("cuCtxSetCurrent", context)
        self.context = context

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
    if "bind" in launch or any("sampler" in argument for argument in launch["args"]):
        raise RuntimeError("variables of opaque types and samplers of their own are not bound here")
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
        return [json.loads(text)]
    except ValueError:
        return [json.loads(line) for line in text.splitlines() if line.strip()]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("launches", nargs="+")
    parser.add_argument("--cubins", action="append", required=True)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    library = load_driver()
    if library is None:
        print("no GPU here: the CUDA driver library was not found")
        return 0
    try:
        driver = Driver(library)
    except RuntimeError as error:
        print(f"no GPU here: {error}")
        return 0
    print(f"{driver.name}, driver {driver.version // 1000}.{driver.version % 1000 // 10}")
    wrong, counts = 0, [{} for _ in options.cubins]
    for path in options.launches:
        for launch in launches(path):
            cells, record = [], {"name": launch.get("name", launch["entry"])}
            for column, folder in enumerate(options.cubins):
                cubin = find_cubin(folder, launch)
                if cubin is None:
                    verdict, detail = "no cubin", None
                else:
                    try:
                        results = run(driver, launch, cubin)
                        detail = difference(launch, results)
                        verdict = "wrong" if detail else "right" if launch.get("expect") else "ran"
                        record.setdefault("args", {})[folder] = {k: v.hex() for k, v in results.items()}
                    except RuntimeError as error:
                        verdict, detail = "refused" if "Module" in str(error) else "failed", str(error)
                        driver.fresh_context()
                counts[column][verdict] = counts[column].get(verdict, 0) + 1
                wrong += verdict not in ("right", "ran")
                cells.append(verdict if detail is None else f"{verdict} ({detail})")
            if options.json:
                record["verdicts"] = cells
                print(json.dumps(record))
            else:
                print(f"{record['name']:<40} " + "  ".join(f"{cell:<32}" for cell in cells))
    for folder, count in zip(options.cubins, counts):
        print(f"{folder}: " + ", ".join(f"{value} {key}" for key, value in sorted(count.items())))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

"""Textures and surfaces of launch records as objects of the CUDA driver: arrays, with levels and as cubes, or plain memory,
filled and read back, with their handles."""
import ctypes

FORMATS = {"u8": 1, "u16": 2, "u32": 3, "s8": 8, "s16": 9, "s32": 10, "f16": 16, "f32": 32}
BYTES = {"u8": 1, "s8": 1, "u16": 2, "s16": 2, "f16": 2, "u32": 4, "s32": 4, "f32": 4}
MODES = {"wrap": 0, "clamp": 1, "mirror": 2, "border": 3}
LAYERED, SURFACE, CUBE, GATHER = 1, 2, 4, 8
READ_INTEGERS, NORMALIZED = 1, 2
HOST, ARRAY = 1, 3


class ArrayDescription(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t * 3), ("format", ctypes.c_uint), ("channels", ctypes.c_uint),
                ("flags", ctypes.c_uint)]


class Side(ctypes.Structure):
    """One side of a copy."""
    _fields_ = [("at", ctypes.c_size_t * 4), ("kind", ctypes.c_uint), ("host", ctypes.c_void_p),
                ("device", ctypes.c_uint64), ("array", ctypes.c_void_p), ("reserved", ctypes.c_void_p),
                ("pitch", ctypes.c_size_t), ("height", ctypes.c_size_t)]


class Copy(ctypes.Structure):
    _fields_ = [("source", Side), ("target", Side), ("size", ctypes.c_size_t * 3)]


class Linear(ctypes.Structure):
    _fields_ = [("address", ctypes.c_uint64), ("format", ctypes.c_uint), ("channels", ctypes.c_uint),
                ("bytes", ctypes.c_size_t)]


class What(ctypes.Union):
    _fields_ = [("array", ctypes.c_void_p), ("linear", Linear), ("room", ctypes.c_int * 32)]


class Resource(ctypes.Structure):
    """CUDA_RESOURCE_DESC."""
    ARRAY, LEVELS, LINEAR = 0, 1, 2
    _fields_ = [("kind", ctypes.c_uint), ("what", What), ("flags", ctypes.c_uint)]


class Description(ctypes.Structure):
    """CUDA_TEXTURE_DESC; `levels` are the bias, the least and the greatest level."""
    _fields_ = [("modes", ctypes.c_uint * 3), ("filter", ctypes.c_uint), ("flags", ctypes.c_uint),
                ("anisotropy", ctypes.c_uint), ("mipmap_filter", ctypes.c_uint), ("levels", ctypes.c_float * 3),
                ("border", ctypes.c_float * 4), ("reserved", ctypes.c_int * 12)]


class Object:
    """A texture or surface with its texels."""

    def __init__(self, driver, argument):
        self.driver = driver
        surface = "surface" in argument
        image = argument["surface" if surface else "texture"]
        data = bytes.fromhex(image["bytes_hex"])
        if image.get("layout") == "linear":
            resource = self.in_memory(image, data)
        else:
            resource = self.in_arrays(image, data, surface)
        self.handle = ctypes.c_uint64()
        if surface:
            driver.call("cuSurfObjectCreate", ctypes.byref(self.handle), ctypes.byref(resource))
        else:
            description = sampled(image)
            driver.call("cuTexObjectCreate", ctypes.byref(self.handle), ctypes.byref(resource),
                        ctypes.byref(description), None)

    def in_memory(self, image, data):
        self.parts, address = [], ctypes.c_uint64()
        self.driver.call("cuMemAlloc_v2", ctypes.byref(address), len(data))
        self.driver.call("cuMemcpyHtoD_v2", address, data, len(data))
        linear = Linear(address.value, FORMATS[image["element"]], image["channels"], len(data))
        return Resource(Resource.LINEAR, What(linear=linear))

    def in_arrays(self, image, data, surface):
        """Arrays of all levels; `parts` are each with its bytes in a row, its rows, its planes or layers, and all its bytes."""
        size, layers, levels = list(image["size"]), image.get("layers", 1), image.get("levels", 1)
        cube = image.get("layout") == "cube"
        layered = layers > (6 if cube else 1)
        flags = SURFACE if surface else GATHER if len(size) == 2 and layers == 1 else 0
        flags |= (CUBE if cube else 0) | (LAYERED if layered else 0)
        shape = size + [0] * (3 - len(size))
        if layers > 1:
            shape[2] = layers
        described = ArrayDescription((ctypes.c_size_t * 3)(*shape), FORMATS[image["element"]], image["channels"], flags)
        whole, arrays = ctypes.c_void_p(), []
        if levels == 1:
            self.driver.call("cuArray3DCreate_v2", ctypes.byref(whole), ctypes.byref(described))
            arrays.append(whole)
        else:
            self.driver.call("cuMipmappedArrayCreate", ctypes.byref(whole), ctypes.byref(described), levels)
            for level in range(levels):
                arrays.append(ctypes.c_void_p())
                self.driver.call("cuMipmappedArrayGetLevel", ctypes.byref(arrays[-1]), whole, level)
        self.parts, at = [], 0
        for level, array in enumerate(arrays):
            wide, high, deep = [max(n >> level, 1) for n in (size + [1, 1])[:3]]
            row, planes = wide * BYTES[image["element"]] * image["channels"], deep * layers
            self.parts.append((array, row, high, planes))
            length = row * high * planes
            self.copy(self.parts[-1], ctypes.create_string_buffer(data[at:at + length], length), to_array=True)
            at += length
        return Resource(Resource.ARRAY if levels == 1 else Resource.LEVELS, What(array=whole))

    def copy(self, part, host, to_array):
        array, row, high, planes = part
        array = Side(kind=ARRAY, array=array)
        memory = Side(kind=HOST, host=ctypes.addressof(host), pitch=row, height=high)
        source, target = (memory, array) if to_array else (array, memory)
        copy = Copy(source, target, (ctypes.c_size_t * 3)(row, high, planes))
        self.driver.call("cuMemcpy3D_v2", ctypes.byref(copy))

    def texels(self):
        """The bytes of the arrays, level after level."""
        found = []
        for part in self.parts:
            _, row, high, planes = part
            host = ctypes.create_string_buffer(row * high * planes)
            self.copy(part, host, to_array=False)
            found.append(host.raw)
        return b"".join(found)


def sampled(image):
    """How a texture is read."""
    sampler = image.get("sampler", {})
    names = sampler.get("address") or ["clamp"]
    modes = [MODES[name] for name in (names * 3 if len(names) == 1 else names + ["clamp"] * 3)[:3]]
    numbers = image["element"] in ("f16", "f32") or image.get("fractions", False)
    flags = (0 if numbers else READ_INTEGERS) | (NORMALIZED if sampler.get("normalized") else 0)
    description = Description((ctypes.c_uint * 3)(*modes), 1 if sampler.get("linear") else 0, flags)
    description.levels[2] = image.get("levels", 1) - 1
    return description

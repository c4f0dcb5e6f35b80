"""Textures and surfaces of launch records as objects of the CUDA driver: arrays, filled and read back, with their handles."""
import ctypes

FORMATS = {"u8": 1, "u16": 2, "u32": 3, "s8": 8, "s16": 9, "s32": 10, "f16": 16, "f32": 32}
BYTES = {"u8": 1, "s8": 1, "u16": 2, "s16": 2, "f16": 2, "u32": 4, "s32": 4, "f32": 4}
MODES = {"wrap": 0, "clamp": 1, "mirror": 2, "border": 3}
LAYERED, SURFACE, GATHER = 1, 2, 8
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


class Resource(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_uint), ("array", ctypes.c_void_p), ("rest", ctypes.c_byte * 120),
                ("flags", ctypes.c_uint)]


class Description(ctypes.Structure):
    _fields_ = [("modes", ctypes.c_uint * 3), ("filter", ctypes.c_uint), ("flags", ctypes.c_uint),
                ("anisotropy", ctypes.c_uint), ("mipmap_filter", ctypes.c_uint), ("levels", ctypes.c_float * 3),
                ("border", ctypes.c_float * 4), ("reserved", ctypes.c_int * 12)]


class Object:
    """A texture or surface with its array."""

    def __init__(self, driver, argument):
        self.driver = driver
        surface = "surface" in argument
        image = argument["surface" if surface else "texture"]
        if image.get("samples", 1) != 1 or image.get("levels", 1) != 1:
            raise RuntimeError("textures of several samples or levels are not made here")
        size = list(image["size"])
        layers = image.get("layers", 1)
        self.row = size[0] * BYTES[image["element"]] * image["channels"]
        self.extent = [self.row, (size + [1])[1], layers if layers > 1 else (size + [1, 1])[2]]
        flags = (SURFACE if surface else GATHER if len(size) == 2 and layers == 1 else 0) | (LAYERED if layers > 1 else 0)
        shape = size + [0] * (3 - len(size))
        if layers > 1:
            shape[2] = layers
        described = ArrayDescription((ctypes.c_size_t * 3)(*shape), FORMATS[image["element"]], image["channels"], flags)
        self.array = ctypes.c_void_p()
        driver.call("cuArray3DCreate_v2", ctypes.byref(self.array), ctypes.byref(described))
        data = bytes.fromhex(image["bytes_hex"])
        self.length = len(data)
        self.copy(ctypes.create_string_buffer(data, len(data)), to_array=True)
        resource = Resource(0, self.array)
        self.handle = ctypes.c_uint64()
        if surface:
            driver.call("cuSurfObjectCreate", ctypes.byref(self.handle), ctypes.byref(resource))
        else:
            description = sampled(image)
            driver.call("cuTexObjectCreate", ctypes.byref(self.handle), ctypes.byref(resource),
                        ctypes.byref(description), None)

    def copy(self, host, to_array):
        array = Side(kind=ARRAY, array=self.array)
        memory = Side(kind=HOST, host=ctypes.addressof(host), pitch=self.row, height=self.extent[1])
        source, target = (memory, array) if to_array else (array, memory)
        copy = Copy(source, target, (ctypes.c_size_t * 3)(*self.extent))
        self.driver.call("cuMemcpy3D_v2", ctypes.byref(copy))

    def texels(self):
        """The bytes of the array."""
        host = ctypes.create_string_buffer(self.length)
        self.copy(host, to_array=False)
        return host.raw


def sampled(image):
    """How a texture is read."""
    sampler = image.get("sampler", {})
    names = sampler.get("address") or ["clamp"]
    modes = [MODES[name] for name in (names * 3 if len(names) == 1 else names + ["clamp"] * 3)[:3]]
    numbers = image["element"] in ("f16", "f32") or image.get("fractions", False)
    flags = (0 if numbers else READ_INTEGERS) | (NORMALIZED if sampler.get("normalized") else 0)
    description = Description((ctypes.c_uint * 3)(*modes), 1 if sampler.get("linear") else 0, flags)
    return description

"""Instruction vectors (test-data/conformance/vectors.jsonl.zst): each as PTX, as a launch record, and its judgement.

A vector holds one instruction or a short sequence, the inputs and the results of 256 lanes, and by element where PTX leaves
freedom: any bits, any NaN, or an interval. Nothing here knows a driver."""

WIDTHS = {"f16": 2, "bf16": 2, "f32": 4, "f64": 8}
INFINITY = {"f16": 0x7C00, "bf16": 0x7F80, "f32": 0x7F800000, "f64": 0x7FF0 << 48}
FLOAT_OF = {2: "f16", 4: "f32", 8: "f64"}


def is_vector(record):
    return "lanes" in record and "body" in record


def version(text):
    return [int(part) for part in text.split(".")]


def ptx(vector, target="sm_90"):
    """A kernel in which each thread takes its lane's inputs, runs the vector's instructions and stores the result."""
    lanes = vector["lanes"]
    memory = vector["in"] + [vector["out"]]
    sizes = [len(item["bytes"]) // 2 // lanes for item in memory]
    needed = max("8.0", vector.get("version", "8.0"), key=version)
    lines = [f".version {needed}", f".target {target}", ".address_size 64",
             ".visible .entry k(" + ", ".join(f".param .u64 p{index}" for index in range(len(memory))) + ")", "{",
             f".reg .b64 %a<{len(memory)}>;", ".reg .b64 %lane;", ".reg .b32 %t<3>;"]
    lines += [f".reg .{kind} {name};" for name, kind in vector["regs"].items()]
    lines += ["mov.u32 %t0, %ctaid.x;", "mov.u32 %t1, %ntid.x;", "mov.u32 %t2, %tid.x;",
              "mad.lo.u32 %t0, %t0, %t1, %t2;", "cvt.u64.u32 %lane, %t0;"]
    for index, size in enumerate(sizes):
        lines += [f"ld.param.u64 %a{index}, [p{index}];", f"mad.lo.u64 %a{index}, %lane, {size}, %a{index};"]
    lines += [f"ld.global.{item['load']} {item['reg']}, [%a{index}];" for index, item in enumerate(vector["in"])]
    lines += vector["body"]
    result = vector["out"]
    lines += [f"st.global.{result['store']} [%a{len(memory) - 1}], {result['reg']};", "ret;", "}", ""]
    return "\n".join(lines)


def launch(vector):
    """The launch record; its `vector` says what `difference` compares with."""
    result = vector["out"]["bytes"]
    arguments = [{"buffer": {"bytes_hex": item["bytes"]}} for item in vector["in"]]
    arguments.append({"buffer": {"len": len(result) // 2, "fill": 0xAA}})
    return {"name": vector["name"], "ptx_text": ptx(vector), "entry": "k", "grid": [vector["lanes"] // 128, 1, 1],
            "block": [128, 1, 1], "args": arguments, "vector": {"bytes": result, "compare": vector["compare"]}}


def difference(expected, got):
    """The first lane whose result is not among those that PTX allows, as text; None if there is none."""
    want, compare = bytes.fromhex(expected["bytes"]), expected["compare"]
    kind = compare["type"]
    digits = "".join(letter for letter in kind if letter.isdigit())
    size = compare.get("element_bytes") or WIDTHS.get(kind) or int(digits) // 8
    if len(want) != len(got):
        return f"{len(want)} bytes expected, {len(got)} found"
    top = 1 << 8 * size - 1
    infinity = INFINITY[kind if kind in INFINITY else FLOAT_OF[size]] if size in FLOAT_OF else None
    order = lambda bits: -(bits & top - 1) - 1 if bits & top else bits
    for index in range(len(want) // size):
        a, b = (int.from_bytes(raw[index * size:index * size + size], "little") for raw in (want, got))
        rule = compare.get("rules", {}).get(str(index))
        if rule == "any":
            continue
        if rule is None:
            right = a == b or compare["mode"] == "value_eq" and (a | b) & top - 1 == 0
        elif b & top - 1 > infinity:
            right = rule == "nan" or rule != "nan" and bool(rule.get("nan"))
        elif rule == "nan":
            right = False
        else:
            low, high = (int.from_bytes(bytes.fromhex(rule[key]), "little") for key in ("lo", "hi"))
            right = order(low) <= order(b) <= order(high)
        if not right:
            return f"element {index}: {a:#x} expected{' (' + str(rule) + ')' if rule else ''}, {b:#x} found"
    return None

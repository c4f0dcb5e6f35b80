#!/usr/bin/env python3
"""Runs Triton kernels on a GPU, assembled by Oriole and by ptxas, and compares results and time.

    speed.py ORIOLE PTXAS [--only NAME ...] [--rounds N] [--json FILE]

Each kernel's result is compared with PyTorch's. Then the kernels are timed, the two assemblers in turns (median of each
round, the least of the rounds counts). Needs PyTorch, Triton and a GPU. The status is 1 if a result is wrong.
"""

import argparse
import concurrent.futures
import json
import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path

SHARDS = 4
# A process that checks or times some kernels ends in so many seconds.
SECONDS = 90


def cases(torch, triton):
    """By name: what launches the kernel and returns its result, what computes the expectation, and the greatest relative error."""
    import kernels as k

    torch.manual_seed(1)
    normal = lambda *size, kind=torch.float32: torch.randn(*size, device="cuda", dtype=kind)
    like = torch.empty_like
    f16, f32, f64 = torch.float16, torch.float32, torch.float64
    made = {}

    def case(name, tolerance=1e-5):
        def keep(make):
            made[name] = (make, tolerance)
        return keep

    def elements(kernel, make, kinds, expected, size=1 << 25, block=1024, warps=4, extra=()):
        def ready():
            inputs = [make(kind, size) for kind in kinds]
            out = like(inputs[0])

            def launch():
                kernel[(triton.cdiv(size, block),)](*inputs, out, size, *extra, BLOCK=block, num_warps=warps)
                return out
            return launch, lambda: expected(*inputs)
        return ready

    of = lambda kind, size: normal(size, kind=kind)
    case("add")(elements(k.add, of, [f32, f32], lambda x, y: x + y))
    case("add_f16")(elements(k.add, of, [f16, f16], lambda x, y: x + y))
    case("swish_gate", 2e-3)(elements(k.swish_gate, of, [f16, f16],
                                      lambda x, g: (x.float() * torch.nn.functional.silu(g.float())).half()))
    case("gelu", 2e-3)(elements(k.gelu, of, [f16], lambda x: torch.nn.functional.gelu(x.float()).half()))
    case("trigonometry", 1e-5)(elements(k.trigonometry, of, [f32],
                                        lambda x: x.sin() * x.cos() + x.abs().sqrt() / (1 + x * x), size=1 << 24))
    case("trigonometry_f64", 1e-12)(elements(k.trigonometry, of, [f64],
                                             lambda x: x.sin() * x.cos() + x.abs().sqrt() / (1 + x * x), size=1 << 22))
    small = lambda kind, size: torch.rand(size, device="cuda", dtype=kind)

    def repeated(x):
        total = x
        for _ in range(64):
            total = torch.addcmul(torch.full_like(x, 0.5), total, x)
        return total
    case("polynomial", 1e-4)(elements(k.polynomial, lambda kind, size: small(kind, size) * 0.9, [f32], repeated))
    case("polynomial_f64", 1e-10)(elements(k.polynomial, lambda kind, size: small(kind, size) * 0.9, [f64], repeated, size=1 << 24))
    whole = lambda kind, size: torch.randint(1, 1 << (30 if kind == torch.int32 else 62), (size,), device="cuda", dtype=kind)
    for kind, name in [(torch.int32, "divide_i32"), (torch.int64, "divide_i64")]:
        case(name, 0)(elements(k.divide_integers, whole, [kind, kind], lambda a, b: a // b * 3 + a % b, size=1 << 24))

    @case("dropout", 0)
    def _():
        x = normal(1 << 24)
        out = like(x)

        def launch():
            k.dropout[(x.numel() // 1024,)](x, out, x.numel(), 0.5, 7, BLOCK=1024)
            return out
        # Which elements stay is Triton's own; what stays is doubled.
        return launch, lambda: torch.where(launch() != 0, x * 2, 0.0)

    @case("rotate", 2e-3)
    def _():
        places, heads, width = 8192, 32, 64
        x = normal(places * heads, 2 * width, kind=f16)
        angle = torch.rand(places, width, device="cuda")
        c, s, out = angle.cos(), angle.sin(), like(x)

        def launch():
            k.rotate[(places * heads,)](x, c, s, out, heads, WIDTH=width, num_warps=2)
            return out

        def expected():
            a, b = x.float().view(places, heads, 2, width).unbind(2)
            cc, ss = c[:, None], s[:, None]
            return torch.stack([a * cc - b * ss, b * cc + a * ss], 2).view_as(x).half()
        return launch, expected

    def rows(kernel, count, width, kind, expected, warps=8, out_kind=None, extra=lambda n: ()):
        def ready():
            x = normal(count, width, kind=kind)
            more = extra(width)
            tensors = [item for item in more if torch.is_tensor(item)]
            numbers = [item for item in more if not torch.is_tensor(item)]
            out = torch.empty_like(x, dtype=out_kind or kind)

            def launch():
                kernel[(count,)](x, *tensors, out, width, *numbers, BLOCK=triton.next_power_of_2(width), num_warps=warps)
                return out
            return launch, lambda: expected(x, *more)
        return ready

    case("softmax")(rows(k.softmax, 8192, 4000, f32, lambda x: torch.softmax(x, 1)))
    case("softmax_small")(rows(k.softmax, 65536, 256, f32, lambda x: torch.softmax(x, 1), warps=4))
    norm = lambda x, w, b, eps: torch.nn.functional.layer_norm(x.float(), x.shape[1:], w, b, eps)
    case("layer_norm", 1e-4)(rows(k.layer_norm, 8192, 8192, f16, norm, warps=16, out_kind=f32,
                                  extra=lambda n: (normal(n), normal(n), 1e-5)))

    @case("layer_norm_backward", 1e-3)
    def _():
        count, width, groups = 8192, 4096, 128
        x, grad = normal(count, width, kind=f16), normal(count, width, kind=f16)
        weight = normal(width)
        out = torch.empty(count, width, device="cuda")
        partial = torch.zeros(groups, width, device="cuda")
        locks = torch.zeros(groups, dtype=torch.int32, device="cuda")

        def launch():
            partial.zero_()
            k.layer_norm_backward[(count,)](x, weight, grad, out, partial, locks, width, 1e-5, GROUPS=groups, BLOCK=4096, num_warps=8)
            return torch.cat([out, partial.sum(0, keepdim=True)])

        def expected():
            inputs, factors = x.float().requires_grad_(), weight.clone().requires_grad_()
            torch.nn.functional.layer_norm(inputs, (width,), factors, None, 1e-5).backward(grad.float())
            return torch.cat([inputs.grad, factors.grad[None]])
        return launch, expected

    @case("cross_entropy", 1e-4)
    def _():
        count, width = 8192, 32000
        logits = normal(count, width, kind=f16)
        labels = torch.randint(0, width, (count,), device="cuda")
        losses = torch.empty(count, device="cuda")

        def launch():
            k.cross_entropy[(count,)](logits, labels, losses, width, BLOCK=4096, num_warps=8)
            return losses
        return launch, lambda: torch.nn.functional.cross_entropy(logits.float(), labels, reduction="none")

    @case("largest", 0)
    def _():
        x = normal(16384, 4000)
        out = torch.empty(16384, dtype=torch.int32, device="cuda")

        def launch():
            k.largest[(16384,)](x, out, 4000, BLOCK=4096, num_warps=8)
            return out
        return launch, lambda: x.argmax(1).int()

    @case("prefix_sum", 1e-4)
    def _():
        x = torch.rand(16384, 2048, device="cuda")
        out = like(x)

        def launch():
            k.prefix_sum[(16384,)](x, out, BLOCK=2048, num_warps=8)
            return out
        return launch, lambda: x.cumsum(1)

    @case("recurrence", 1e-4)
    def _():
        a, b = torch.rand(8192, 1024, device="cuda"), normal(8192, 1024)
        out = like(a)

        def launch():
            k.recurrence[(8192,)](a, b, out, BLOCK=1024, num_warps=4)
            return out

        def expected():
            state, states = torch.zeros(8192, device="cuda", dtype=f64), []
            for i in range(1024):
                state = a[:, i].double() * state + b[:, i].double()
                states.append(state)
            return torch.stack(states, 1).float()
        return launch, expected

    @case("sort", 0)
    def _():
        x = torch.randint(-(1 << 30), 1 << 30, (8192, 512), device="cuda", dtype=torch.int32)
        out = like(x)

        def launch():
            k.sort[(8192,)](x, out, BLOCK=512, num_warps=4)
            return out
        return launch, lambda: x.sort(1).values

    @case("histogram", 0)
    def _():
        x = torch.randint(0, 4096, (1 << 24,), device="cuda", dtype=torch.int32)
        out = torch.zeros(4096, dtype=torch.int32, device="cuda")

        def launch():
            out.zero_()
            k.histogram[(x.numel() // 1024,)](x, out, x.numel(), BLOCK=1024)
            return out
        return launch, lambda: torch.bincount(x, minlength=4096).int()

    @case("transpose", 0)
    def _():
        x = normal(8192, 8192, kind=f16)
        out = like(x)

        def launch():
            k.transpose[(128, 128)](x, out, 8192, 8192, BLOCK=64, num_warps=8)
            return out
        return launch, lambda: x.t().contiguous()

    def product(kind, m, n, d, tile, warps, stages, gelu=False, out=f16):
        def ready():
            scale = d ** -0.5
            a, b = (normal(m, d) * scale).to(kind), normal(d, n).to(kind)
            c = torch.empty(m, n, device="cuda", dtype=out)
            tiles = triton.cdiv(m, tile[0]) * triton.cdiv(n, tile[1])

            def launch():
                k.matmul[(tiles,)](a, b, c, m, n, d, M=tile[0], N=tile[1], K=tile[2], GROUP=8, GELU=gelu,
                                   num_warps=warps, num_stages=stages)
                return c

            def expected():
                exact = a.to(f32) @ b.to(f32) if kind != f64 else a @ b
                return (exact * torch.sigmoid(1.702 * exact) if gelu else exact).to(out)
            return launch, expected
        return ready

    bf16, f8 = torch.bfloat16, torch.float8_e4m3fn
    case("matmul_128x256", 3e-3)(product(f16, 4096, 4096, 4096, (128, 256, 64), 8, 4))
    case("matmul_128x128", 3e-3)(product(f16, 4096, 4096, 4096, (128, 128, 64), 4, 4))
    case("matmul_64x64", 3e-3)(product(f16, 4096, 4096, 4096, (64, 64, 32), 4, 3))
    case("matmul_odd", 3e-3)(product(f16, 1000, 1111, 777, (64, 128, 32), 4, 3))
    case("matmul_gelu_bf16", 2e-2)(product(bf16, 4096, 4096, 4096, (128, 128, 64), 8, 3, gelu=True, out=bf16))
    case("matmul_tf32", 3e-3)(product(f32, 2048, 2048, 2048, (128, 128, 32), 8, 3, out=f32))
    case("matmul_f8", 3e-2)(product(f8, 4096, 4096, 4096, (128, 256, 128), 8, 3))
    case("matmul_small_mma", 3e-3)(product(f16, 2048, 2048, 2048, (32, 32, 64), 2, 4))

    @case("matmul_of_bytes", 0)
    def _():
        a = torch.randint(-128, 128, (4096, 4096), device="cuda", dtype=torch.int8)
        b = torch.randint(-128, 128, (4096, 4096), device="cuda", dtype=torch.int8)
        c = torch.empty(4096, 4096, device="cuda", dtype=torch.int32)

        def launch():
            k.matmul_of_bytes[(32 * 32,)](a, b, c, 4096, 4096, 4096, M=128, N=128, K=128, GROUP=8, num_warps=8, num_stages=3)
            return c
        # Each product of 4096 pairs is exact in double precision.
        return launch, lambda: (a.double() @ b.double().t()).int()

    @case("matmul_of_boxes", 3e-3)
    def _():
        a, b = (normal(4096, 4096) / 64).half(), normal(4096, 4096, kind=f16)
        c = torch.empty(4096, 4096, device="cuda", dtype=f16)

        def launch():
            k.matmul_of_boxes[(32 * 16,)](a, b, c, 4096, 4096, 4096, M=128, N=256, K=64, GROUP=8, num_warps=8, num_stages=4)
            return c
        return launch, lambda: (a.float() @ b.float().t()).half()

    def attend(width, causal, tile, warps, stages):
        def ready():
            heads, length = 64, 2048
            q, key, v = (normal(heads, length, width, kind=f16) for _ in range(3))
            out = like(q)

            def launch():
                k.attention[(length // tile[0], heads)](q, key, v, out, length, width ** -0.5 * 1.4426950408889634, M=tile[0],
                                                        N=tile[1], D=width, CAUSAL=causal, num_warps=warps, num_stages=stages)
                return out
            return launch, lambda: torch.nn.functional.scaled_dot_product_attention(q.float(), key.float(), v.float(), is_causal=causal).half()
        return ready

    case("attention_64", 5e-3)(attend(64, False, (128, 64), 4, 3))
    case("attention_64_causal", 5e-3)(attend(64, True, (128, 64), 4, 3))
    case("attention_128", 5e-3)(attend(128, False, (128, 128), 8, 2))

    @case("attention_backward", 1e-2)
    def _():
        heads, length, width = 32, 2048, 64
        q, key, v, grad = (normal(heads, length, width, kind=f16) for _ in range(4))
        scale = width ** -0.5
        logits = (q.float() @ key.float().transpose(1, 2)) * scale
        most = torch.logsumexp(logits, 2) * 1.4426950408889634
        delta = (grad.float() * (torch.softmax(logits, 2) @ v.float())).sum(2)
        dk, dv = like(key), like(v)
        # d(exp2(s * x)) = s * ln 2 * exp2(s * x), and s holds 1 / ln 2.
        def launch():
            k.attention_backward[(length // 128, heads)](q, key, v, grad, most, delta, dk, dv, length, scale * 1.4426950408889634,
                                                         M=64, N=128, D=width, num_warps=8, num_stages=2)
            return torch.stack([dk, dv])

        def expected():
            a, b, c = (x.float().requires_grad_() for x in (q, key, v))
            torch.nn.functional.scaled_dot_product_attention(a, b, c).backward(grad.float())
            return torch.stack([b.grad, c.grad]).half()
        return launch, expected

    return made


def child(given):
    """Checks or times the kernels named, and prints an object a line."""
    import torch
    import triton

    sys.path.insert(0, str(Path(__file__).parent))
    # float32 products of the expectations are exact ones.
    torch.backends.cuda.matmul.allow_tf32 = False
    triton.set_allocator(lambda size, alignment, stream: torch.empty(size, dtype=torch.int8, device="cuda"))
    made = cases(torch, triton)
    if given.child == "list":
        print(json.dumps([*made]))
        return
    for name in given.only:
        make, tolerance = made[name]
        said = {"name": name}
        try:
            launch, expected = make()
            if given.child == "check":
                got, want = launch().double(), expected().double()
                torch.cuda.synchronize()
                error = ((got - want).norm() / want.norm()).item()
                said |= {"error": error, "right": error <= tolerance}
            else:
                said["ms"] = triton.testing.do_bench(launch, warmup=20, rep=80, return_mode="median")
        except Exception as error:  # What Triton and PyTorch raise is of many kinds, and each is a failure here.
            said |= {"right": False, "failed": " ".join(str(error).split())[:200]}
        print(json.dumps(said), flush=True)
        if "CUDA error" in said.get("failed", ""):
            # A fault poisons the process; the rest is for another one.
            return
        torch.cuda.empty_cache()


def run_child(mode, names, assembler, cache):
    variables = {**os.environ, "TRITON_PTXAS_PATH": str(assembler), "TRITON_CACHE_DIR": str(cache)}
    said = {}
    while left := [name for name in names if name not in said]:
        command = [sys.executable, __file__, "-", "-", "--child", mode, "--only", *left]
        try:
            done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=SECONDS)
            lines, end = done.stdout.splitlines(), done.stderr.strip()[-300:]
        except subprocess.TimeoutExpired as late:
            lines, end = (late.stdout or b"").decode().splitlines(), "hangs"
        answers = [json.loads(line) for line in lines if line.startswith("{")]
        said |= {answer["name"]: answer for answer in answers}
        if len(answers) < len(left) and (not answers or "CUDA error" not in answers[-1].get("failed", "")):
            # The process ended, or was ended, in the kernel behind the last one that it told of.
            said[left[len(answers)]] = {"name": left[len(answers)], "right": False, "failed": end}
    return said


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("oriole", type=Path)
    parser.add_argument("ptxas", type=Path)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        return child(given)
    with tempfile.TemporaryDirectory() as folder:
        sides = {"oriole": given.oriole, "ptxas": given.ptxas}
        for side, program in sides.items():
            link = Path(folder) / side / "ptxas"
            link.parent.mkdir()
            link.symlink_to(program.resolve())
            sides[side] = link
        listed = subprocess.run([sys.executable, __file__, "-", "-", "--child", "list"], capture_output=True, text=True)
        names = given.only or json.loads(listed.stdout.splitlines()[-1])
        cache = {side: Path(folder) / side / "cache" for side in sides}
        seen = {side: {} for side in sides}
        with concurrent.futures.ThreadPoolExecutor(2 * SHARDS) as pool:
            parts = [(side, names[index::SHARDS]) for index in range(SHARDS) for side in sides]
            parts = [part for part in parts if part[1]]
            for (side, _), said in zip(parts, pool.map(lambda part: run_child("check", part[1], sides[part[0]], cache[part[0]]), parts)):
                seen[side].update(said)
        for _ in range(given.rounds):
            for side in sides:
                timed = [name for name in names if seen[side][name].get("right")]
                for name, answer in run_child("time", timed, sides[side], cache[side]).items():
                    if "ms" in answer:
                        seen[side][name]["ms"] = min(answer["ms"], seen[side][name].get("ms", math.inf))
        # Triton takes its own assembler in silence where it does not like the answers of the one it was told.
        foreign = [path for path in cache["oriole"].rglob("*.cubin") if b"Oriole" not in path.read_bytes()]
    wrong, ratios = len(foreign), []
    if foreign:
        print(f"{len(foreign)} cubins are not by Oriole")
    print(f"{'kernel':<22} {'error':>9} {'error':>9} {'oriole ms':>10} {'ptxas ms':>10} {'ratio':>7}")
    for name in names:
        ours, theirs = seen["oriole"][name], seen["ptxas"][name]
        wrong += not ours.get("right")
        line = f"{name:<22} {ours.get('error', math.nan):>9.1e} {theirs.get('error', math.nan):>9.1e}"
        if "ms" in ours and "ms" in theirs:
            ratios.append(ours["ms"] / theirs["ms"])
            line += f" {ours['ms']:>10.4f} {theirs['ms']:>10.4f} {ratios[-1]:>7.3f}"
        for side, answer in (("oriole", ours), ("ptxas", theirs)):
            if not answer.get("right"):
                line += f"  {side}: {answer.get('failed', 'WRONG')}"
        print(line)
    if ratios:
        print(f"geometric mean of {len(ratios)} ratios: {math.exp(sum(map(math.log, ratios)) / len(ratios)):.3f}; {wrong} wrong")
    if given.json:
        given.json.write_text(json.dumps(seen))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

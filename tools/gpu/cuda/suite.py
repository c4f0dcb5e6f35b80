"""Launches of the CUDA kernels beside this file that stand for what nobody tuned by: atomics, latency-bound loops, rows, pointwise code, graphs.

`speed.py` times them on a GPU at full size; `records.py` makes launch records of a small size, for the simulator and the timing model.
The sizes are powers of two, so that one factor shrinks all of them.
"""


def cases(k, size):
    """Source, kernel, blocks, threads, dynamic shared memory, arguments, as in `speed.py`, whose makers of arguments `k` has. `size` is the
    count of threads that a launch has about."""
    n = size
    i, f, d = k.INT, k.FLOAT, k.DOUBLE
    blocks = n // 256
    few = max(1, blocks // 16)

    def flat(source, entry, *arguments):
        return source, entry, blocks, 256, 0, list(arguments)

    yield flat("atomics", "count_matches", k.i32(n, 0, 3), k.i32(1, 0, 0), i(2), i(n))
    yield flat("atomics", "append_positive", k.f32(n), k.i32(n), k.i32(1, 0, 0), i(n))
    yield "atomics", "few_counters", few, 256, 0, [k.i32(n), k.i32(4, 0, 0), i(n)]
    yield "atomics", "bins_f32", few, 256, 0, [k.i32(n), k.f32(n), k.f32(64), i(n)]
    yield "atomics", "bins_f64", few, 256, 0, [k.i32(n), k.f64(n), k.f64(64), i(n)]
    yield "atomics", "bins_u64", few, 256, 0, [k.i32(n), k.i64(64), i(n)]
    yield flat("atomics", "block_extremes", k.i32(n), k.i32(1), k.i32(1), i(n))
    yield flat("atomics", "sum_of_block_f32", k.f32(n), k.f32(1), i(n))
    yield flat("atomics", "largest_f32", k.f32(n, 0, 1), k.f32(1, 0, 0), i(n))
    yield flat("atomics", "scatter_add", k.i32(n, 0, n // 8 - 1), k.f32(n), k.f32(n // 8), i(n))
    yield flat("atomics", "hash_insert", k.i32(n), k.i32(4 * n, 0, 0), i(4 * n - 1), i(n))
    yield flat("atomics", "union_find", k.i32(n, 0, n - 1), k.i32(n, 0, n - 1), k.rows(n - 1, 1), i(n))

    rows = 64
    for entry, kind in (("column_sum_f32", k.f32), ("column_sum_f64", k.f64)):
        yield "loops", entry, max(1, n // 2048), 128, 0, [kind(rows * n // 16), kind(n // 16), i(rows), i(n // 16)]
    yield "loops", "plain_dot", max(1, n // 4096), 256, 0, [k.f32(rows * n // 16), k.f32(rows * n // 16), k.f32(n // 16), i(n // 16), i(rows)]
    yield "loops", "matvec_rows", max(1, n // 256), 256, 0, [k.f32(n // 32 * 256), k.f32(256), k.f32(n // 32), i(n // 32), i(256)]
    yield "loops", "matvec_columns", max(1, n // 4096), 256, 0, [k.f32(n // 16 * 64), k.f32(64), k.f32(n // 16), i(n // 16), i(64)]
    yield flat("loops", "horner_f32", k.f32(n, 0, 1), k.f32(33), k.f32(n), i(32), i(n))
    yield flat("loops", "binary_search", k.rows(1023, 7), k.i32(n, 0, 8000), k.i32(n), i(1024), i(n))
    yield "loops", "list_walk", max(1, blocks // 4), 256, 0, [k.i32(n // 4, 0, n // 4 - 1), k.i32(n // 4), i(32), i(n // 4)]
    yield "loops", "nearest_center", max(1, blocks // 4), 256, 0, [k.f32(3 * n // 4), k.f32(48), k.i32(n // 4), i(16), i(n // 4)]
    yield "loops", "moving_average", max(1, blocks // 4), 256, 0, [k.f32(n // 4), k.f32(n // 4), i(24), i(n // 4)]
    yield flat("loops", "convolve_1d", k.f32(n), k.f32(33), k.f32(n), i(n))
    yield "loops", "jacobi_row", max(1, n // 4096), 256, 0, [k.f32(n // 16 * 34), k.f32(n // 16 * 34), i(n // 16), i(34)]
    yield "loops", "crc32", max(1, n // 4096), 256, 0, [k.i32(n // 2), k.i32(n // 16), i(8), i(n // 16)]
    yield "loops", "levenshtein", max(1, n // 4096), 256, 0, [k.u8(n, 3), k.u8(n, 3), k.i32(n // 16), i(16), i(n // 16)]

    yield "pointwise", "silu_mul_bf16x8", max(1, blocks // 8), 256, 0, [k.bf16(n), k.bf16(n), k.bf16(n), i(n // 8)]
    yield flat("pointwise", "gelu_f16x2", k.f16(2 * n), k.f16(2 * n), i(n))
    some = (f(0.001), f(0.9), f(0.999), f(1e-8), f(0.1), f(0.001))
    yield flat("pointwise", "adam_f32", k.f32(n), k.f32(n), k.f32(n), k.f32(n, 0, 2), *some, i(n))
    yield flat("pointwise", "adam_f64", k.f64(n), k.f64(n), k.f64(n), k.f64(n, 0, 2), d(0.001), i(n))
    yield "pointwise", "adam_many_steps", few, 256, 0, [k.f32(n // 16), k.f32(n // 16), k.f32(n // 16), k.f32(n // 16, 0, 2), i(16), i(n // 16)]
    yield "pointwise", "clamp_scale_bias", max(1, blocks // 4), 256, 0, [k.f32(n), k.f32(n), f(-1), f(1), f(1.5), f(0.25), i(n // 4)]
    yield "pointwise", "quantize_i8", max(1, blocks // 4), 256, 0, [k.f32(n), k.i32(n // 4), f(63), i(n // 4)]
    yield "pointwise", "dequantize_i4", max(1, blocks // 8), 256, 0, [k.i32(n // 8), k.f32(n // 128 + 1), k.f32(n), i(n // 8)]
    yield "pointwise", "rope_f32", max(1, blocks // 2), 256, 0, [k.f32(n), k.f32(64), k.f32(64), i(64), i(n // 2)]
    yield flat("pointwise", "rgb_to_gray", k.u8(3 * n), k.u8(n), i(n))
    yield flat("pointwise", "complex_mul", k.f32(2 * n), k.f32(2 * n), k.f32(2 * n), i(n))
    yield "pointwise", "strided_copy", max(1, blocks // 8), 256, 0, [k.f32(n), k.f32(n // 8), i(8), i(n // 8)]
    yield "pointwise", "gather_rows", max(1, blocks // 4), 256, 0, [k.f32(n), k.i32(n // 64, 0, n // 64 - 1), k.f32(n), i(16), i(n // 4)]
    yield "pointwise", "log_softmax_of_8", max(1, blocks // 8), 256, 0, [k.f32(n), k.f32(n), i(n // 8)]
    yield flat("pointwise", "safe_divide", k.f32(n), k.f32(n, -1, 1), k.f32(n), i(n))
    yield flat("pointwise", "safe_divide_f64", k.f64(n), k.f64(n, -1, 1), k.f64(n), i(n))
    yield "pointwise", "norms_f32", max(1, blocks // 4), 256, 0, [k.f32(3 * n // 4), k.f32(3 * n // 4), i(n // 4)]
    yield "pointwise", "cross_f64", max(1, blocks // 4), 256, 0, [k.f64(3 * n // 4), k.f64(3 * n // 4), k.f64(3 * n // 4), i(n // 4)]
    # Operands for which a quotient takes the slow way: zeros, huge and tiny numbers.
    yield flat("pointwise", "safe_divide", k.f32(n, 0, 0), k.f32(n, -1, 1), k.f32(n), i(n))
    yield flat("pointwise", "safe_divide", k.f32(n, 1e38, 2e38), k.f32(n, 1e-39, 2e-39), k.f32(n), i(n))

    wide = 1024
    count = max(1, n // wide)
    yield "rows", "softmax_rows", count, 256, 0, [k.f32(count * wide), k.f32(count * wide), i(wide)]
    yield "rows", "softmax_backward", count, 256, 0, [k.f32(count * wide), k.f32(count * wide), k.f32(count * wide), i(wide)]
    yield "rows", "layer_norm_rows", count, 256, 0, [k.f32(count * wide), k.f32(wide), k.f32(wide), k.f32(count * wide), i(wide), f(1e-5)]
    yield "rows", "layer_norm_backward_rows", count, 256, 0, [k.f32(count * wide), k.f32(wide), k.f32(count * wide), k.f32(count * wide), i(wide), f(1e-5)]
    yield "rows", "rms_norm_rows", count, 128, 0, [k.f32(count * wide), k.f32(wide), k.f32(count * wide), i(wide // 4), f(1e-5)]
    yield "rows", "cross_entropy_rows", count, 256, 0, [k.f32(count * wide), k.i32(count, 0, wide - 1), k.f32(count), i(wide)]
    yield "rows", "embedding_backward", blocks, 256, 0, [k.f32(n), k.i32(max(1, n // 64), 0, 63), k.f32(64 * 64), i(64), i(n)]
    yield flat("rows", "dropout_rows", k.f32(n), k.f32(n), f(0.75), i(7), i(n))
    yield "rows", "bias_gradient", max(1, n // 2048), (32, 8), 0, [k.f32(64 * n // 64), k.f32(max(32, n // 64)), i(64), i(max(32, n // 64))]
    yield "rows", "sum_of_parts", 1, 256, 0, [k.f32(128 * 512), k.f32(512), i(128), i(512)]
    yield "rows", "top_of_row", max(1, count // 4), 128, 0, [k.f32(max(4, count) * wide), k.i32(max(4, count)), i(wide)]

    each = 16
    v = max(256, n // 16)
    yield "graphs", "bfs_level", v // 256, 256, 0, [k.rows(v, each), k.i32(v * each, 0, v - 1), k.i32(v, -1, 1), k.i32(1, 0, 0), i(1), i(v)]
    yield "graphs", "page_rank", v // 256, 256, 0, [k.rows(v, each), k.i32(v * each, 0, v - 1), k.f32(v), k.f32(v), k.f32(v), i(v)]
    yield flat("graphs", "relax_edges", k.i32(n, 0, n // 8 - 1), k.i32(n, 0, n // 8 - 1), k.i32(n, 1, 100), k.i32(n // 8, 0, 1000), i(n))
    yield "graphs", "triangles", max(1, v // 1024), 256, 0, [k.rows(v // 4, each), k.i32(v // 4 * each, 0, v // 4 - 1), k.i32(1, 0, 0), i(v // 4)]
    yield flat("graphs", "block_scan_i32", k.i32(n, 0, 9), k.i32(n), k.i32(blocks), i(n))
    yield "graphs", "radix_count", few, 256, 0, [k.i32(n), k.i32(16 * few), i(8), i(n)]
    yield flat("graphs", "compact", k.i32(n), k.i32(n), k.i32(1, 0, 0), i(n))
    side = 1 << ((n.bit_length() - 1) // 2)
    for entry, kind in (("box_blur", k.f32), ("sobel_u8", k.u8), ("median3_f32", k.f32)):
        yield "graphs", entry, (max(1, side // 32), max(1, side // 8)), (32, 8), 0, [kind(side * side), kind(side * side), i(side), i(side)]
    yield "graphs", "distances_f32", (max(1, side // 64), max(1, side // 64)), (16, 16), 0, [k.f32(side // 4 * 64), k.f32(side * side // 16), i(side // 4), i(64)]
    yield "graphs", "lu_of_4x4", max(1, blocks // 16), 256, 0, [k.f32(n, 1, 2), k.f32(n), i(n // 16)]
    yield "graphs", "floyd_step", (max(1, side // 256), side), 256, 0, [k.i32(side * side, 0, 1000), i(side // 2), i(side)]
    yield "graphs", "mc_pi", max(1, blocks // 16), 256, 0, [k.i32(1, 0, 0), i(64)]

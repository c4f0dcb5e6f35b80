// Lanes of a warp together: shuffles, votes, matches, partial masks.

extern "C" __global__ void warp_transpose(const int* in, int* out) {
    // Each lane holds a row of eight; afterwards a column of its group of eight lanes.
    int lane = threadIdx.x & 31, base = lane & 24, row[8];
    for (int i = 0; i < 8; i++) row[i] = in[threadIdx.x * 8 + i];
#pragma unroll
    for (int i = 0; i < 8; i++) {
        int column = 0;
#pragma unroll
        for (int k = 0; k < 8; k++) {
            int value = __shfl_sync(0xffffffffu, row[k], base + i);
            if ((lane & 7) == k) column = value;
        }
        out[threadIdx.x * 8 + i] = column;
    }
}

extern "C" __global__ void warp_compact(const int* in, int* out, int* counts) {
    int value = in[threadIdx.x];
    unsigned lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    unsigned keep = __ballot_sync(0xffffffffu, value > 0);
    if (value > 0) out[warp * 32 + __popc(keep & ((1u << lane) - 1))] = value;
    if (lane == 0) counts[warp] = __popc(keep) + 100 * __any_sync(1, value < -90) + 1000 * __all_sync(1, value < 90);
}

extern "C" __global__ void warp_match(const unsigned long long* in, unsigned* out) {
    unsigned long long value = in[threadIdx.x];
    int same_everywhere;
    unsigned all = __match_all_sync(0xffffffffu, (unsigned)value >> 31, &same_everywhere);
    out[threadIdx.x] = __match_any_sync(0xffffffffu, value) ^ all ^ same_everywhere << 5;
}

// The two halves of a warp work apart and meet again.
extern "C" __global__ void warp_halves(const int* in, int* out) {
    int value = in[threadIdx.x], lane = threadIdx.x & 31, result;
    if (lane < 16) {
        int sum = value;
        for (int distance = 8; distance > 0; distance >>= 1) sum += __shfl_xor_sync(0x0000ffffu, sum, distance);
        result = sum;
    } else {
        int top = value;
        for (int distance = 8; distance > 0; distance >>= 1) top = max(top, __shfl_xor_sync(0xffff0000u, top, distance));
        result = top;
    }
    __syncwarp();
    out[threadIdx.x] = result + __shfl_sync(0xffffffffu, result, 31 - lane);
}

extern "C" __global__ void warp_broadcast_f64(const double* in, double* out) {
    double value = in[threadIdx.x], product = 1;
    for (int lane = 0; lane < 32; lane += 5) product *= __shfl_sync(0xffffffffu, value, lane);
    out[threadIdx.x] = __shfl_up_sync(0xffffffffu, value, 3, 16) + product;
}

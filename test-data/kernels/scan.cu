// Prefix sums: in a warp, in a block, and across blocks that hand their sums on.

extern "C" __global__ void scan_warp_u32(const unsigned* in, unsigned* out) {
    int lane = threadIdx.x & 31;
    unsigned value = in[threadIdx.x];
    for (int distance = 1; distance < 32; distance <<= 1) {
        unsigned left = __shfl_up_sync(0xffffffffu, value, distance);
        if (lane >= distance) value += left;
    }
    out[threadIdx.x] = value;
}

extern "C" __global__ void scan_block_i64(const long long* in, long long* out) {
    __shared__ long long sums[2][96];
    int t = threadIdx.x, now = 0;
    sums[0][t] = in[t];
    __syncthreads();
    for (int distance = 1; distance < 96; distance <<= 1) {
        sums[1 - now][t] = sums[now][t] + (t >= distance ? sums[now][t - distance] : 0);
        now = 1 - now;
        __syncthreads();
    }
    out[t] = sums[now][t];
}

// Each block waits for the sum of the block before it.
extern "C" __global__ void scan_chained_u32(const unsigned* in, unsigned* out, volatile unsigned* sums,
                                            volatile unsigned* ready) {
    __shared__ unsigned warps[2];
    __shared__ unsigned before;
    int t = threadIdx.x, lane = t & 31, i = blockIdx.x * blockDim.x + t;
    unsigned value = in[i];
    for (int distance = 1; distance < 32; distance <<= 1) {
        unsigned left = __shfl_up_sync(0xffffffffu, value, distance);
        if (lane >= distance) value += left;
    }
    if (lane == 31) warps[t >> 5] = value;
    __syncthreads();
    if (t == 0) {
        unsigned sum = 0;
        if (blockIdx.x > 0) {
            while (ready[blockIdx.x - 1] == 0) {
            }
            __threadfence();
            sum = sums[blockIdx.x - 1];
        }
        before = sum;
        sums[blockIdx.x] = sum + warps[0] + warps[1];
        __threadfence();
        ready[blockIdx.x] = 1;
    }
    __syncthreads();
    out[i] = before + value + (t >= 32 ? warps[0] : 0);
}

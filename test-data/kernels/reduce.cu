// Sums and extremes of arrays: a tree in shared memory, shuffles, and the warp reductions of the hardware.

extern "C" __global__ void reduce_tree_i32(const int* in, int* out, int n) {
    __shared__ int sums[128];
    int own = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) own += in[i];
    sums[threadIdx.x] = own;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half >>= 1) {
        if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = sums[0];
}

extern "C" __global__ void reduce_shuffle_f64(const double* in, double* out, int n) {
    __shared__ double warps[4];
    double own = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) own += in[i];
    for (int distance = 16; distance > 0; distance >>= 1) own += __shfl_down_sync(0xffffffffu, own, distance);
    if ((threadIdx.x & 31) == 0) warps[threadIdx.x >> 5] = own;
    __syncthreads();
    if (threadIdx.x == 0) out[0] = (warps[0] + warps[1]) + (warps[2] + warps[3]);
}

extern "C" __global__ void reduce_redux_u32(const unsigned* in, unsigned* out) {
    unsigned value = in[blockIdx.x * blockDim.x + threadIdx.x];
    unsigned sum = __reduce_add_sync(0xffffffffu, value);
    unsigned least = __reduce_min_sync(0xffffffffu, value);
    unsigned greatest = __reduce_max_sync(0xffffffffu, value);
    unsigned parity = __reduce_xor_sync(0xffffffffu, value);
    if ((threadIdx.x & 31) == 0) {
        atomicAdd(out, sum);
        atomicMin(out + 1, least);
        atomicMax(out + 2, greatest);
        atomicXor(out + 3, parity);
    }
}

extern "C" __global__ void reduce_argmax_f32(const float* in, int* out, int n) {
    __shared__ float values[32];
    __shared__ int places[32];
    float best = -3.4e38f;
    int place = -1;
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        if (in[i] > best) {
            best = in[i];
            place = i;
        }
    for (int distance = 16; distance > 0; distance >>= 1) {
        float other = __shfl_xor_sync(0xffffffffu, best, distance);
        int other_place = __shfl_xor_sync(0xffffffffu, place, distance);
        if (other > best || (other == best && other_place < place)) {
            best = other;
            place = other_place;
        }
    }
    if ((threadIdx.x & 31) == 0) {
        values[threadIdx.x >> 5] = best;
        places[threadIdx.x >> 5] = place;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int w = 1; w < blockDim.x / 32; w++)
            if (values[w] > best || (values[w] == best && places[w] < place)) {
                best = values[w];
                place = places[w];
            }
        *out = place;
    }
}

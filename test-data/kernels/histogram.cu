// Histograms: in shared memory, with bytes read in words, and with one atomic for each group of equal lanes.

extern "C" __global__ void histogram_shared_u8(const uchar4* in, unsigned* out, int n) {
    __shared__ unsigned bins[64];
    if (threadIdx.x < 64) bins[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        uchar4 value = in[i];
        atomicAdd(bins + (value.x & 63), 1u);
        atomicAdd(bins + (value.y & 63), 1u);
        atomicAdd(bins + (value.z & 63), 1u);
        atomicAdd(bins + (value.w & 63), 1u);
    }
    __syncthreads();
    if (threadIdx.x < 64 && bins[threadIdx.x]) atomicAdd(out + threadIdx.x, bins[threadIdx.x]);
}

extern "C" __global__ void histogram_match(const int* in, unsigned* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned active = __ballot_sync(0xffffffffu, i < n);
    if (i >= n) return;
    unsigned same = __match_any_sync(active, in[i]);
    if ((threadIdx.x & 31) == __ffs(same) - 1) atomicAdd(out + in[i], __popc(same));
}

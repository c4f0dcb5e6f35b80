// Sorting: a bitonic network, counting ranks, a radix pass with votes, and insertion in a local array.

extern "C" __global__ void sort_bitonic_u32(unsigned* keys) {
    __shared__ unsigned s[128];
    int t = threadIdx.x;
    s[t] = keys[blockIdx.x * 128 + t];
    for (int size = 2; size <= 128; size <<= 1)
        for (int stride = size >> 1; stride > 0; stride >>= 1) {
            __syncthreads();
            int other = t ^ stride;
            if (other > t) {
                unsigned a = s[t], b = s[other];
                bool up = (t & size) == 0;
                if ((a > b) == up) {
                    s[t] = b;
                    s[other] = a;
                }
            }
        }
    __syncthreads();
    keys[blockIdx.x * 128 + t] = s[t];
}

extern "C" __global__ void sort_rank_f32(const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int rank = 0;
    for (int j = 0; j < n; j++) rank += in[j] < in[i] || (in[j] == in[i] && j < i);
    out[rank] = in[i];
}

// Sorts one warp's keys by their low 8 bits, one bit a pass.
extern "C" __global__ void sort_radix_warp(const unsigned* in, unsigned* out) {
    unsigned key = in[threadIdx.x];
    unsigned lane = threadIdx.x & 31, below = (1u << lane) - 1;
    __shared__ unsigned s[64];
    unsigned* mine = s + (threadIdx.x & 32);
    for (int bit = 0; bit < 8; bit++) {
        unsigned ones = __ballot_sync(0xffffffffu, key >> bit & 1);
        unsigned zeros = ~ones;
        unsigned place =
            key >> bit & 1 ? __popc(zeros) + __popc(ones & below) : __popc(zeros & below);
        mine[place] = key;
        __syncwarp();
        key = mine[lane];
        __syncwarp();
    }
    out[threadIdx.x] = key;
}

extern "C" __global__ void sort_insertion_i16(const short* in, short* out) {
    short a[24];
    for (int i = 0; i < 24; i++) {
        short value = in[threadIdx.x * 24 + i];
        int j = i;
        while (j > 0 && a[j - 1] > value) {
            a[j] = a[j - 1];
            j--;
        }
        a[j] = value;
    }
    for (int i = 0; i < 24; i++) out[threadIdx.x * 24 + i] = a[i];
}

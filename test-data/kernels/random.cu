// Random number generators.

extern "C" __global__ void random_mt19937(unsigned* state, unsigned* out, int n) {
    int index = 624;
    for (int k = 0; k < n; k++) {
        if (index >= 624) {
            for (int i = 0; i < 624; i++) {
                unsigned y = (state[i] & 0x80000000u) | (state[(i + 1) % 624] & 0x7fffffffu);
                state[i] = state[(i + 397) % 624] ^ y >> 1 ^ (y & 1 ? 0x9908b0dfu : 0u);
            }
            index = 0;
        }
        unsigned y = state[index++];
        y ^= y >> 11;
        y ^= y << 7 & 0x9d2c5680u;
        y ^= y << 15 & 0xefc60000u;
        out[k] = y ^ y >> 18;
    }
}

extern "C" __global__ void random_philox(uint4* out, unsigned seed, int n) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= n) return;
    unsigned c0 = t, c1 = 0, c2 = 0, c3 = 0, k0 = seed, k1 = ~seed;
#pragma unroll
    for (int round = 0; round < 10; round++) {
        unsigned h0 = __umulhi(0xd2511f53u, c0), l0 = 0xd2511f53u * c0;
        unsigned h1 = __umulhi(0xcd9e8d57u, c2), l1 = 0xcd9e8d57u * c2;
        c0 = h1 ^ c1 ^ k0, c1 = l1, c2 = h0 ^ c3 ^ k1, c3 = l0;
        k0 += 0x9e3779b9u, k1 += 0xbb67ae85u;
    }
    out[t] = make_uint4(c0, c1, c2, c3);
}

extern "C" __global__ void random_pcg32(unsigned long long* state, unsigned* out, int n) {
    unsigned long long s = state[threadIdx.x];
    for (int i = 0; i < n; i++) {
        unsigned x = (s >> 18 ^ s) >> 27, r = s >> 59;
        out[i * blockDim.x + threadIdx.x] = x >> r | x << (-r & 31);
        s = s * 6364136223846793005ull + 1442695040888963407ull;
    }
    state[threadIdx.x] = s;
}

// Points in a quarter circle, counted with xorshift64*.
extern "C" __global__ void random_circle(unsigned long long* hits, int n) {
    unsigned long long s = 88172645463325252ull + 7919 * (blockIdx.x * blockDim.x + threadIdx.x);
    int inside = 0;
    for (int i = 0; i < n; i++) {
        double point[2];
        for (int k = 0; k < 2; k++) {
            s ^= s >> 12, s ^= s << 25, s ^= s >> 27;
            point[k] = (double)(s * 2685821657736338717ull >> 11) * 0x1p-53;
        }
        inside += point[0] * point[0] + point[1] * point[1] <= 1.0;
    }
    atomicAdd(hits, (unsigned long long)inside);
}

// Fourier transforms: of floats with a table of roots, and exactly in a prime field.

extern "C" __global__ void fft_64_f32(float2* data, const float2* roots) {
    __shared__ float2 s[64];
    int t = threadIdx.x;
    s[__brev(t) >> 26] = data[blockIdx.x * 64 + t];
    s[__brev(t + 32) >> 26] = data[blockIdx.x * 64 + t + 32];
    __syncthreads();
    for (int half = 1; half < 64; half <<= 1) {
        int k = t & (half - 1), i = ((t - k) << 1) + k;
        float2 w = roots[k * (32 / half)], a = s[i], b = s[i + half], p;
        p.x = b.x * w.x - b.y * w.y;
        p.y = b.x * w.y + b.y * w.x;
        s[i] = make_float2(a.x + p.x, a.y + p.y);
        s[i + half] = make_float2(a.x - p.x, a.y - p.y);
        __syncthreads();
    }
    data[blockIdx.x * 64 + t] = s[t];
    data[blockIdx.x * 64 + t + 32] = s[t + 32];
}

#define PRIME 998244353u

__device__ __noinline__ unsigned power(unsigned base, unsigned exponent) {
    unsigned long long result = 1, b = base;
    for (; exponent; exponent >>= 1) {
        if (exponent & 1) result = result * b % PRIME;
        b = b * b % PRIME;
    }
    return result;
}

extern "C" __global__ void ntt_128_u32(unsigned* data) {
    extern __shared__ unsigned numbers[];
    int t = threadIdx.x;
    numbers[__brev(t) >> 25] = data[t];
    numbers[__brev(t + 64) >> 25] = data[t + 64];
    __syncthreads();
    for (int half = 1; half < 128; half <<= 1) {
        int k = t & (half - 1), i = ((t - k) << 1) + k;
        unsigned root = power(3, (PRIME - 1) / (2 * half) * k);
        unsigned a = numbers[i], b = (unsigned long long)numbers[i + half] * root % PRIME;
        __syncthreads();
        numbers[i] = (a + b) % PRIME;
        numbers[i + half] = (a + PRIME - b) % PRIME;
        __syncthreads();
    }
    data[t] = numbers[t];
    data[t + 64] = numbers[t + 64];
}

// Floating arithmetic in double, half and brain formats, with rounding that is asked for.

#include <cuda_bf16.h>
#include <cuda_fp16.h>

extern "C" __global__ void float_newton_f64(const double* in, double* out) {
    double x = in[threadIdx.x], guess = x;
    for (int i = 0; i < 40; i++) guess = 0.5 * (guess + x / guess);
    out[threadIdx.x] = guess;
}

extern "C" __global__ void float_horner_f64(const double* in, double* out) {
    double x = in[threadIdx.x], sum = 1.0 / 40320;
    sum = fma(sum, x, 1.0 / 5040);
    sum = fma(sum, x, 1.0 / 720);
    sum = fma(sum, x, 1.0 / 120);
    sum = fma(sum, x, 1.0 / 24);
    sum = fma(sum, x, 1.0 / 6);
    sum = fma(sum, x, 0.5);
    sum = fma(sum, x, 1.0);
    out[threadIdx.x] = fma(sum, x, 1.0);
}

// Bounds of a sum of products, one rounded down and one up.
extern "C" __global__ void float_interval_f32(const float* a, const float* b, float* out, int n) {
    float low = 0, high = 0;
    for (int i = 0; i < n; i++) {
        float x = a[threadIdx.x * n + i], y = b[threadIdx.x * n + i];
        low = __fadd_rd(low, __fmul_rd(x, y));
        high = __fadd_ru(high, __fmul_ru(x, y));
    }
    out[2 * threadIdx.x] = low;
    out[2 * threadIdx.x + 1] = high;
}

extern "C" __global__ void float_kahan_f32(const float* in, float* out, int n) {
    float sum = 0, lost = 0;
    for (int i = 0; i < n; i++) {
        float term = __fsub_rn(in[threadIdx.x * n + i], lost), next = __fadd_rn(sum, term);
        lost = __fsub_rn(__fsub_rn(next, sum), term);
        sum = next;
    }
    out[threadIdx.x] = sum;
}

extern "C" __global__ void float_mandelbrot_f32(unsigned char* out, int w, float x0, float y0, float step) {
    int px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y;
    if (px >= w) return;
    float cx = __fadd_rn(x0, __fmul_rn((float)px, step)), cy = __fadd_rn(y0, __fmul_rn((float)py, step));
    float x = 0, y = 0;
    int i = 0;
    while (i < 60) {
        float xx = __fmul_rn(x, x), yy = __fmul_rn(y, y);
        if (__fadd_rn(xx, yy) >= 4.0f) break;
        y = __fadd_rn(__fmul_rn(__fmul_rn(2.0f, x), y), cy);
        x = __fadd_rn(__fsub_rn(xx, yy), cx);
        i++;
    }
    out[py * w + px] = i;
}

extern "C" __global__ void half_axpy_f16x2(const __half2* x, __half2* y, __half a) {
    int i = threadIdx.x;
    __half2 both = __half2half2(a);
    __half2 sum = __hfma2(both, x[i], y[i]);
    y[i] = __hmax2(__hsub2(sum, x[i]), __float2half2_rn(-4.0f));
}

extern "C" __global__ void half_dot_bf16(const __nv_bfloat16* a, const __nv_bfloat16* b, float* out, int n) {
    float sum = 0;
    for (int i = threadIdx.x; i < n; i += 32) sum += __bfloat162float(__hmul(a[i], b[i]));
    for (int distance = 16; distance > 0; distance >>= 1) sum += __shfl_xor_sync(~0u, sum, distance);
    if (threadIdx.x == 0) out[0] = sum;
    if (threadIdx.x < 8) out[1 + threadIdx.x] = __bfloat162float(__float2bfloat16_rn(a[threadIdx.x] > b[threadIdx.x] ? sum : -sum));
}

// Conversions between floats and integers in every rounding direction.
extern "C" __global__ void float_convert(const float* in, int* out) {
    float x = in[threadIdx.x];
    int* o = out + threadIdx.x * 8;
    o[0] = __float2int_rn(x);
    o[1] = __float2int_rz(x);
    o[2] = __float2int_rd(x);
    o[3] = __float2int_ru(x);
    o[4] = (int)__float2uint_rz(x);
    o[5] = __half_as_ushort(__float2half_rz(x));
    o[6] = __float_as_int(__int2float_rd((int)(x * 1000003.0f)));
    o[7] = __float_as_int(floorf(x) + ceilf(x) * 2 + truncf(x) * 4 + rintf(x) * 8);
}

extern "C" __global__ void float_softmax_f32(const float* in, float* out) {
    float x = in[blockIdx.x * 32 + threadIdx.x], top = x;
    for (int distance = 16; distance > 0; distance >>= 1) top = fmaxf(top, __shfl_xor_sync(~0u, top, distance));
    float e = exp2f((x - top) * 1.4426950408889634f), sum = e;
    for (int distance = 16; distance > 0; distance >>= 1) sum += __shfl_xor_sync(~0u, sum, distance);
    out[blockIdx.x * 32 + threadIdx.x] = __fdividef(e, sum) + rsqrtf(sum) * __sinf(x) * __logf(sum);
}

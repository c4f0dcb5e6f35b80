// Element by element, as training and inference have it: activations, optimizers, normalization, conversions.
#include <cuda_fp16.h>
#include <cuda_bf16.h>

struct alignas(16) Eight { __nv_bfloat162 v[4]; };

extern "C" __global__ void silu_mul_bf16x8(const Eight *x, const Eight *gate, Eight *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Eight a = x[i], g = gate[i], r;
    for (int k = 0; k < 4; k++) {
        float2 p = __bfloat1622float2(a.v[k]), q = __bfloat1622float2(g.v[k]);
        r.v[k] = __floats2bfloat162_rn(p.x / (1.f + __expf(-p.x)) * q.x, p.y / (1.f + __expf(-p.y)) * q.y);
    }
    out[i] = r;
}

extern "C" __global__ void gelu_f16x2(const __half2 *x, __half2 *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float2 v = __half22float2(x[i]);
    v.x *= 0.5f * (1.f + erff(v.x * 0.70710678f));
    v.y *= 0.5f * (1.f + erff(v.y * 0.70710678f));
    out[i] = __floats2half2_rn(v.x, v.y);
}

extern "C" __global__ void adam_f32(float *p, const float *g, float *m, float *v, float rate, float b1, float b2, float eps, float c1, float c2, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float d = g[i];
    float a = m[i] = b1 * m[i] + (1.f - b1) * d;
    float b = v[i] = b2 * v[i] + (1.f - b2) * d * d;
    p[i] -= rate * (a / c1) / (sqrtf(b / c2) + eps);
}

extern "C" __global__ void adam_f64(double *p, const double *g, double *m, double *v, double rate, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double d = g[i];
    double a = m[i] = 0.9 * m[i] + 0.1 * d;
    double b = v[i] = 0.999 * v[i] + 0.001 * d * d;
    p[i] -= rate * a / (sqrt(b) + 1e-8);
}

extern "C" __global__ void adam_many_steps(float *p, const float *g, float *m, float *v, int steps, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float w = p[i], a = m[i], b = v[i], d = g[i];
        for (int t = 1; t <= steps; t++) {
            a = 0.9f * a + 0.1f * d;
            b = 0.999f * b + 0.001f * d * d;
            w -= 0.001f * a / (sqrtf(b) + 1e-8f);
        }
        p[i] = w, m[i] = a, v[i] = b;
    }
}

extern "C" __global__ void clamp_scale_bias(const float4 *x, float4 *out, float low, float high, float scale, float bias, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float4 v = x[i];
    v.x = fminf(fmaxf(v.x * scale + bias, low), high), v.y = fminf(fmaxf(v.y * scale + bias, low), high);
    v.z = fminf(fmaxf(v.z * scale + bias, low), high), v.w = fminf(fmaxf(v.w * scale + bias, low), high);
    out[i] = v;
}

extern "C" __global__ void quantize_i8(const float4 *x, char4 *out, float scale, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float4 v = x[i];
    auto q = [&](float f) { return (char)max(-127, min(127, __float2int_rn(f * scale))); };
    out[i] = make_char4(q(v.x), q(v.y), q(v.z), q(v.w));
}

extern "C" __global__ void dequantize_i4(const unsigned *packed, const float *scale, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned w = packed[i];
    float s = scale[i >> 4];
    for (int k = 0; k < 8; k++) out[8 * i + k] = ((int)(w >> (4 * k) & 15) - 8) * s;
}

extern "C" __global__ void rope_f32(float *x, const float *cosine, const float *sine, int half, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int row = i / half, c = i % half;
    float *p = x + row * 2 * half;
    float a = p[c], b = p[c + half], s = sine[c], k = cosine[c];
    p[c] = a * k - b * s, p[c + half] = a * s + b * k;
}

extern "C" __global__ void rgb_to_gray(const uchar3 *x, unsigned char *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = (x[i].x * 77 + x[i].y * 150 + x[i].z * 29) >> 8;
}

extern "C" __global__ void complex_mul(const float2 *a, const float2 *b, float2 *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = make_float2(a[i].x * b[i].x - a[i].y * b[i].y, a[i].x * b[i].y + a[i].y * b[i].x);
}

extern "C" __global__ void strided_copy(const float *x, float *out, int stride, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = x[i * stride];
}

extern "C" __global__ void gather_rows(const float4 *table, const int *index, float4 *out, int width, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = table[index[i / width] * width + i % width];
}

extern "C" __global__ void log_softmax_of_8(const float *x, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v[8], most = -3e38f, sum = 0.f;
    for (int k = 0; k < 8; k++) v[k] = x[8 * i + k], most = fmaxf(most, v[k]);
    for (int k = 0; k < 8; k++) sum += expf(v[k] - most);
    float shift = most + logf(sum);
    for (int k = 0; k < 8; k++) out[8 * i + k] = v[k] - shift;
}

extern "C" __global__ void safe_divide(const float *a, const float *b, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] / b[i];
}

extern "C" __global__ void safe_divide_f64(const double *a, const double *b, double *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] / b[i];
}

extern "C" __global__ void norms_f32(const float *x, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float a = x[3 * i], b = x[3 * i + 1], c = x[3 * i + 2], r = 1.f / sqrtf(a * a + b * b + c * c);
    out[3 * i] = a * r, out[3 * i + 1] = b * r, out[3 * i + 2] = c * r;
}

extern "C" __global__ void cross_f64(const double *a, const double *b, double *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const double *p = a + 3 * i, *q = b + 3 * i;
    double *r = out + 3 * i;
    r[0] = p[1] * q[2] - p[2] * q[1], r[1] = p[2] * q[0] - p[0] * q[2], r[2] = p[0] * q[1] - p[1] * q[0];
}

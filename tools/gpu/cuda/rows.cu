// A block for each row: normalization, softmax and what goes back through them.
__device__ float sum_of_warp(float v) {
    for (int d = 16; d; d >>= 1) v += __shfl_xor_sync(~0u, v, d);
    return v;
}

__device__ float max_of_warp(float v) {
    for (int d = 16; d; d >>= 1) v = fmaxf(v, __shfl_xor_sync(~0u, v, d));
    return v;
}

__device__ float of_block(float v, float *part, bool most) {
    v = most ? max_of_warp(v) : sum_of_warp(v);
    if ((threadIdx.x & 31) == 0) part[threadIdx.x >> 5] = v;
    __syncthreads();
    v = threadIdx.x < blockDim.x / 32 ? part[threadIdx.x] : (most ? -3e38f : 0.f);
    if (threadIdx.x < 32) {
        v = most ? max_of_warp(v) : sum_of_warp(v);
        if (threadIdx.x == 0) part[0] = v;
    }
    __syncthreads();
    v = part[0];
    __syncthreads();
    return v;
}

extern "C" __global__ void softmax_rows(const float *x, float *out, int columns) {
    __shared__ float part[32];
    x += (long long)blockIdx.x * columns, out += (long long)blockIdx.x * columns;
    float most = -3e38f, sum = 0.f;
    for (int c = threadIdx.x; c < columns; c += blockDim.x) most = fmaxf(most, x[c]);
    most = of_block(most, part, true);
    for (int c = threadIdx.x; c < columns; c += blockDim.x) sum += __expf(x[c] - most);
    sum = of_block(sum, part, false);
    for (int c = threadIdx.x; c < columns; c += blockDim.x) out[c] = __expf(x[c] - most) / sum;
}

extern "C" __global__ void softmax_backward(const float *y, const float *grad, float *out, int columns) {
    __shared__ float part[32];
    long long row = (long long)blockIdx.x * columns;
    float dot = 0.f;
    for (int c = threadIdx.x; c < columns; c += blockDim.x) dot += y[row + c] * grad[row + c];
    dot = of_block(dot, part, false);
    for (int c = threadIdx.x; c < columns; c += blockDim.x) out[row + c] = y[row + c] * (grad[row + c] - dot);
}

extern "C" __global__ void layer_norm_rows(const float *x, const float *weight, const float *bias, float *out, int columns, float eps) {
    __shared__ float part[32];
    long long row = (long long)blockIdx.x * columns;
    float sum = 0.f, squares = 0.f;
    for (int c = threadIdx.x; c < columns; c += blockDim.x) {
        float v = x[row + c];
        sum += v, squares += v * v;
    }
    float mean = of_block(sum, part, false) / columns;
    float scale = rsqrtf(of_block(squares, part, false) / columns - mean * mean + eps);
    for (int c = threadIdx.x; c < columns; c += blockDim.x) out[row + c] = (x[row + c] - mean) * scale * weight[c] + bias[c];
}

extern "C" __global__ void layer_norm_backward_rows(const float *x, const float *weight, const float *grad, float *out, int columns, float eps) {
    __shared__ float part[32];
    long long row = (long long)blockIdx.x * columns;
    float sum = 0.f, squares = 0.f;
    for (int c = threadIdx.x; c < columns; c += blockDim.x) sum += x[row + c], squares += x[row + c] * x[row + c];
    float mean = of_block(sum, part, false) / columns;
    float scale = rsqrtf(of_block(squares, part, false) / columns - mean * mean + eps);
    float a = 0.f, b = 0.f;
    for (int c = threadIdx.x; c < columns; c += blockDim.x) {
        float g = grad[row + c] * weight[c], n = (x[row + c] - mean) * scale;
        a += g, b += g * n;
    }
    a = of_block(a, part, false) / columns, b = of_block(b, part, false) / columns;
    for (int c = threadIdx.x; c < columns; c += blockDim.x) {
        float g = grad[row + c] * weight[c], n = (x[row + c] - mean) * scale;
        out[row + c] = scale * (g - a - n * b);
    }
}

extern "C" __global__ void rms_norm_rows(const float4 *x, const float4 *weight, float4 *out, int quads, float eps) {
    __shared__ float part[32];
    long long row = (long long)blockIdx.x * quads;
    float squares = 0.f;
    for (int c = threadIdx.x; c < quads; c += blockDim.x) {
        float4 v = x[row + c];
        squares += v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w;
    }
    float scale = rsqrtf(of_block(squares, part, false) / (4 * quads) + eps);
    for (int c = threadIdx.x; c < quads; c += blockDim.x) {
        float4 v = x[row + c], w = weight[c];
        out[row + c] = make_float4(v.x * scale * w.x, v.y * scale * w.y, v.z * scale * w.z, v.w * scale * w.w);
    }
}

extern "C" __global__ void cross_entropy_rows(const float *logits, const int *labels, float *loss, int columns) {
    __shared__ float part[32];
    const float *x = logits + (long long)blockIdx.x * columns;
    float most = -3e38f, sum = 0.f;
    for (int c = threadIdx.x; c < columns; c += blockDim.x) most = fmaxf(most, x[c]);
    most = of_block(most, part, true);
    for (int c = threadIdx.x; c < columns; c += blockDim.x) sum += __expf(x[c] - most);
    sum = of_block(sum, part, false);
    if (threadIdx.x == 0) loss[blockIdx.x] = most + __logf(sum) - x[labels[blockIdx.x]];
}

extern "C" __global__ void embedding_backward(const float *grad, const int *index, float *table, int width, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&table[index[i / width] * width + i % width], grad[i]);
}

extern "C" __global__ void dropout_rows(const float *x, float *out, float keep, unsigned seed, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned a = i, b = seed;
    for (int r = 0; r < 7; r++) {
        unsigned high = __umulhi(a, 0xd256d193u), low = a * 0xd256d193u;
        a = high ^ b ^ (seed + r * 0x9e3779b9u), b = low;
    }
    out[i] = a * 2.3283064e-10f < keep ? x[i] / keep : 0.f;
}

extern "C" __global__ void bias_gradient(const float *grad, float *out, int rows, int columns) {
    __shared__ float part[8][33];
    int c = blockIdx.x * 32 + threadIdx.x;
    float sum = 0.f;
    for (int r = threadIdx.y; r < rows; r += 8) sum += grad[r * columns + c];
    part[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y == 0) {
        for (int k = 1; k < 8; k++) sum += part[k][threadIdx.x];
        out[c] = sum;
    }
}

extern "C" __global__ void sum_of_parts(const float *parts, float *out, int count, int columns) {
    int c = threadIdx.x;
    for (; c < columns; c += blockDim.x) {
        float sum = 0.f;
        for (int k = 0; k < count; k++) sum += parts[k * columns + c];
        out[c] = sum;
    }
}

extern "C" __global__ void top_of_row(const float *x, int *out, int columns) {
    int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x & 31;
    float best = -3e38f;
    int at = 0;
    for (int c = lane; c < columns; c += 32) {
        float v = x[(long long)row * columns + c];
        if (v > best) best = v, at = c;
    }
    for (int d = 16; d; d >>= 1) {
        float other = __shfl_xor_sync(~0u, best, d);
        int where = __shfl_xor_sync(~0u, at, d);
        if (other > best || (other == best && where < at)) best = other, at = where;
    }
    if (lane == 0) out[row] = at;
}

// Loops whose loads decide their time: sums of rows and columns, products of vectors, polynomials, searches.
extern "C" __global__ void column_sum_f32(const float *x, float *out, int rows, int columns) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= columns) return;
    float sum = 0.f;
    for (int r = 0; r < rows; r++) sum += x[r * columns + c];
    out[c] = sum;
}

extern "C" __global__ void column_sum_f64(const double *x, double *out, int rows, int columns) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= columns) return;
    double sum = 0.;
    for (int r = 0; r < rows; r++) sum += x[(long long)r * columns + c];
    out[c] = sum;
}

extern "C" __global__ void plain_dot(const float *x, const float *y, float *out, int n, int each) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.f;
#pragma unroll 1
    for (int i = 0; i < each; i++) sum += x[i * n + t] * y[i * n + t];
    out[t] = sum;
}

extern "C" __global__ void matvec_rows(const float *a, const float *x, float *out, int rows, int columns) {
    int r = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x & 31;
    if (r >= rows) return;
    float sum = 0.f;
    for (int c = lane; c < columns; c += 32) sum += a[r * columns + c] * x[c];
    for (int d = 16; d; d >>= 1) sum += __shfl_down_sync(~0u, sum, d);
    if (lane == 0) out[r] = sum;
}

extern "C" __global__ void matvec_columns(const float *a, const float *x, float *out, int rows, int columns) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows) return;
    float sum = 0.f;
    for (int c = 0; c < columns; c++) sum += a[c * rows + r] * x[c];
    out[r] = sum;
}

extern "C" __global__ void horner_f32(const float *x, const float *c, float *out, int degree, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = x[i], p = c[degree];
    for (int k = degree - 1; k >= 0; k--) p = p * v + c[k];
    out[i] = p;
}

extern "C" __global__ void binary_search(const int *sorted, const int *wanted, int *out, int count, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int low = 0, high = count, w = wanted[i];
    while (low < high) {
        int mid = (low + high) >> 1;
        if (sorted[mid] < w) low = mid + 1; else high = mid;
    }
    out[i] = low;
}

extern "C" __global__ void list_walk(const int *next, int *out, int steps, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int at = i;
    for (int k = 0; k < steps; k++) at = next[at];
    out[i] = at;
}

extern "C" __global__ void nearest_center(const float *x, const float *centers, int *out, int count, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float a = x[3 * i], b = x[3 * i + 1], c = x[3 * i + 2], best = 3e38f;
    int which = 0;
    for (int k = 0; k < count; k++) {
        float p = centers[3 * k] - a, q = centers[3 * k + 1] - b, r = centers[3 * k + 2] - c;
        float d = p * p + q * q + r * r;
        if (d < best) best = d, which = k;
    }
    out[i] = which;
}

extern "C" __global__ void moving_average(const float *x, float *out, int width, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i + width > n) return;
    float sum = 0.f;
    for (int k = 0; k < width; k++) sum += x[i + k];
    out[i] = sum / width;
}

extern "C" __global__ void convolve_1d(const float *x, const float *w, float *out, int n) {
    __shared__ float tile[256 + 32];
    int i = blockIdx.x * 256 + threadIdx.x;
    tile[threadIdx.x] = i < n ? x[i] : 0.f;
    if (threadIdx.x < 32) tile[256 + threadIdx.x] = i + 256 < n ? x[i + 256] : 0.f;
    __syncthreads();
    float sum = 0.f;
    for (int k = 0; k < 33; k++) sum += tile[threadIdx.x + (k < 32 ? k : 31)] * w[k];
    if (i < n) out[i] = sum;
}

extern "C" __global__ void jacobi_row(const float *x, float *y, int width, int height) {
    int c = blockIdx.x * blockDim.x + threadIdx.x + 1;
    if (c >= width - 1) return;
    float above = x[c], here = x[width + c];
    for (int r = 1; r < height - 1; r++) {
        float below = x[(r + 1) * width + c];
        y[r * width + c] = 0.25f * (above + below + x[r * width + c - 1] + x[r * width + c + 1]) - 0.01f * here;
        above = here, here = below;
    }
}

extern "C" __global__ void crc32(const unsigned *words, unsigned *out, int each, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned crc = ~0u;
    for (int k = 0; k < each; k++) {
        crc ^= words[k * n + i];
        for (int b = 0; b < 32; b++) crc = (crc >> 1) ^ (0xedb88320u & -(crc & 1u));
    }
    out[i] = ~crc;
}

extern "C" __global__ void levenshtein(const unsigned char *a, const unsigned char *b, int *out, int length, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int row[17];
    for (int k = 0; k <= 16; k++) row[k] = k;
    for (int r = 1; r <= length; r++) {
        int corner = row[0];
        row[0] = r;
        unsigned char c = a[(r - 1) * n + i];
        for (int k = 1; k <= 16; k++) {
            int old = row[k];
            row[k] = min(min(row[k], row[k - 1]) + 1, corner + (c != b[(k - 1) * n + i]));
            corner = old;
        }
    }
    out[i] = row[16];
}

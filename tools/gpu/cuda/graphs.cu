// Data that decides where to go: graphs, sparse matrices, scans, partitions, small matrices, images.
extern "C" __global__ void bfs_level(const int *rows, const int *columns, int *level, int *changed, int now, int n) {
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= n || level[v] != now) return;
    for (int e = rows[v]; e < rows[v + 1]; e++) {
        int u = columns[e];
        if (level[u] < 0) level[u] = now + 1, *changed = 1;
    }
}

extern "C" __global__ void page_rank(const int *rows, const int *columns, const float *rank, const float *degree, float *out, int n) {
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= n) return;
    float sum = 0.f;
    for (int e = rows[v]; e < rows[v + 1]; e++) sum += rank[columns[e]] * degree[columns[e]];
    out[v] = 0.15f / n + 0.85f * sum;
}

extern "C" __global__ void relax_edges(const int *from, const int *to, const int *length, int *distance, int n) {
    int e = blockIdx.x * blockDim.x + threadIdx.x;
    if (e >= n) return;
    int d = distance[from[e]];
    if (d < 0x3fffffff) atomicMin(&distance[to[e]], d + length[e]);
}

extern "C" __global__ void triangles(const int *rows, const int *columns, unsigned *count, int n) {
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= n) return;
    unsigned found = 0;
    for (int e = rows[v]; e < rows[v + 1]; e++) {
        int u = columns[e], a = rows[v], b = rows[u];
        while (a < rows[v + 1] && b < rows[u + 1]) {
            int x = columns[a], y = columns[b];
            found += x == y;
            a += x <= y, b += y <= x;
        }
    }
    atomicAdd(count, found);
}

extern "C" __global__ void block_scan_i32(const int *x, int *out, int *sums, int n) {
    __shared__ int part[32];
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    int v = i < n ? x[i] : 0;
    for (int d = 1; d < 32; d <<= 1) {
        int other = __shfl_up_sync(~0u, v, d);
        if (lane >= d) v += other;
    }
    if (lane == 31) part[warp] = v;
    __syncthreads();
    if (warp == 0) {
        int p = lane < blockDim.x / 32 ? part[lane] : 0;
        for (int d = 1; d < 32; d <<= 1) {
            int other = __shfl_up_sync(~0u, p, d);
            if (lane >= d) p += other;
        }
        part[lane] = p;
    }
    __syncthreads();
    if (warp > 0) v += part[warp - 1];
    if (i < n) out[i] = v;
    if (threadIdx.x == blockDim.x - 1) sums[blockIdx.x] = v;
}

extern "C" __global__ void radix_count(const unsigned *keys, unsigned *counts, int shift, int n) {
    __shared__ unsigned mine[16][17];
    int t = threadIdx.x;
    if (t < 256) mine[t >> 4][t & 15] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x) atomicAdd(&mine[(keys[i] >> shift) & 15][t & 15], 1u);
    __syncthreads();
    if (t < 16) {
        unsigned sum = 0;
        for (int k = 0; k < 16; k++) sum += mine[t][k];
        counts[t * gridDim.x + blockIdx.x] = sum;
    }
}

extern "C" __global__ void compact(const int *x, int *out, int *total, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31;
    bool keep = i < n && (x[i] & 1);
    unsigned votes = __ballot_sync(~0u, keep);
    int base = 0;
    if (lane == 0 && votes) base = atomicAdd(total, __popc(votes));
    base = __shfl_sync(~0u, base, 0);
    if (keep) out[base + __popc(votes & ((1u << lane) - 1))] = x[i];
}

extern "C" __global__ void box_blur(const float *x, float *out, int width, int height) {
    int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
    if (c < 2 || r < 2 || c >= width - 2 || r >= height - 2) return;
    float sum = 0.f;
    for (int a = -2; a <= 2; a++)
        for (int b = -2; b <= 2; b++) sum += x[(r + a) * width + c + b];
    out[r * width + c] = sum * 0.04f;
}

extern "C" __global__ void sobel_u8(const unsigned char *x, unsigned char *out, int width, int height) {
    int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
    if (c < 1 || r < 1 || c >= width - 1 || r >= height - 1) return;
    auto at = [&](int a, int b) { return (int)x[(r + a) * width + c + b]; };
    int h = at(-1, 1) + 2 * at(0, 1) + at(1, 1) - at(-1, -1) - 2 * at(0, -1) - at(1, -1);
    int v = at(1, -1) + 2 * at(1, 0) + at(1, 1) - at(-1, -1) - 2 * at(-1, 0) - at(-1, 1);
    out[r * width + c] = min(255, abs(h) + abs(v));
}

extern "C" __global__ void median3_f32(const float *x, float *out, int width, int height) {
    int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
    if (c < 1 || r < 1 || c >= width - 1 || r >= height - 1) return;
    float v[9];
    for (int k = 0; k < 9; k++) v[k] = x[(r + k / 3 - 1) * width + c + k % 3 - 1];
    for (int a = 0; a < 5; a++)
        for (int b = a + 1; b < 9; b++) {
            float low = fminf(v[a], v[b]), high = fmaxf(v[a], v[b]);
            v[a] = low, v[b] = high;
        }
    out[r * width + c] = v[4];
}

extern "C" __global__ void distances_f32(const float *x, float *out, int count, int width) {
    __shared__ float a[16][17], b[16][17];
    int tx = threadIdx.x, ty = threadIdx.y, r = blockIdx.y * 16, c = blockIdx.x * 16;
    float sum = 0.f;
    for (int k = 0; k < width; k += 16) {
        a[ty][tx] = x[(r + ty) * width + k + tx], b[ty][tx] = x[(c + ty) * width + k + tx];
        __syncthreads();
        for (int j = 0; j < 16; j++) {
            float d = a[ty][j] - b[tx][j];
            sum += d * d;
        }
        __syncthreads();
    }
    out[(r + ty) * count + c + tx] = sqrtf(sum);
}

extern "C" __global__ void lu_of_4x4(const float *x, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float m[4][4];
    for (int r = 0; r < 4; r++)
        for (int c = 0; c < 4; c++) m[r][c] = x[16 * i + 4 * r + c];
    for (int k = 0; k < 4; k++)
        for (int r = k + 1; r < 4; r++) {
            float f = m[r][k] /= m[k][k];
            for (int c = k + 1; c < 4; c++) m[r][c] -= f * m[k][c];
        }
    for (int r = 0; r < 4; r++)
        for (int c = 0; c < 4; c++) out[16 * i + 4 * r + c] = m[r][c];
}

extern "C" __global__ void floyd_step(int *d, int k, int n) {
    int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y;
    if (c >= n) return;
    int through = d[r * n + k] + d[k * n + c];
    if (through < d[r * n + c]) d[r * n + c] = through;
}

extern "C" __global__ void mc_pi(unsigned *hits, int each) {
    unsigned long long s = blockIdx.x * blockDim.x + threadIdx.x + 1;
    unsigned mine = 0;
    for (int k = 0; k < each; k++) {
        s = s * 6364136223846793005ull + 1442695040888963407ull;
        float a = (s >> 40) * 5.9604645e-8f;
        s = s * 6364136223846793005ull + 1442695040888963407ull;
        float b = (s >> 40) * 5.9604645e-8f;
        mine += a * a + b * b < 1.f;
    }
    atomicAdd(hits, mine);
}

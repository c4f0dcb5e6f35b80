// Stencils: heat on a plane with a halo in shared memory, seven points in space, and the game of life.

extern "C" __global__ void stencil_heat_f64(const double* in, double* out, int w, int h) {
    __shared__ double s[10][10];
    int x = blockIdx.x * 8 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    for (int i = threadIdx.y * 8 + threadIdx.x; i < 100; i += 64) {
        int sx = blockIdx.x * 8 + i % 10 - 1, sy = blockIdx.y * 8 + i / 10 - 1;
        sx = min(max(sx, 0), w - 1);
        sy = min(max(sy, 0), h - 1);
        s[i / 10][i % 10] = in[sy * w + sx];
    }
    __syncthreads();
    if (x >= w || y >= h) return;
    int cx = threadIdx.x + 1, cy = threadIdx.y + 1;
    double sum = (s[cy - 1][cx] + s[cy + 1][cx]) + (s[cy][cx - 1] + s[cy][cx + 1]);
    out[y * w + x] = s[cy][cx] + 0.125 * (sum - 4.0 * s[cy][cx]);
}

extern "C" __global__ void stencil_seven_f32(const float* in, float* out, int n) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y, z = blockIdx.z;
    if (x >= n) return;
    int i = (z * n + y) * n + x;
    if (x == 0 || y == 0 || z == 0 || x == n - 1 || y == n - 1 || z == n - 1) {
        out[i] = in[i];
        return;
    }
    out[i] = 0.5f * in[i] + 0.0833333f * (in[i - 1] + in[i + 1] + in[i - n] + in[i + n] + in[i - n * n] + in[i + n * n]);
}

extern "C" __global__ void stencil_life_u8(const unsigned char* in, unsigned char* out, int w, int h) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h) return;
    int alive = 0;
    for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++)
            if (dx != 0 || dy != 0) alive += in[(y + dy + h) % h * w + (x + dx + w) % w];
    out[y * w + x] = alive == 3 || (alive == 2 && in[y * w + x]);
}

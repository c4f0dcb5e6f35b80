// Matrix products: square tiles in shared memory, and blocks held in registers.

extern "C" __global__ void matmul_tiled_f32(const float* a, const float* b, float* c, int n) {
    __shared__ float ta[8][8], tb[8][9];
    int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 8 + y, column = blockIdx.x * 8 + x;
    float sum = 0;
    for (int k = 0; k < n; k += 8) {
        ta[y][x] = a[row * n + k + x];
        tb[y][x] = b[(k + y) * n + column];
        __syncthreads();
#pragma unroll
        for (int i = 0; i < 8; i++) sum += ta[y][i] * tb[i][x];
        __syncthreads();
    }
    c[row * n + column] = sum;
}

extern "C" __global__ void matmul_tiled_i32(const int* a, const int* b, int* c, int n) {
    __shared__ int ta[8][8], tb[8][8];
    int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 8 + y, column = blockIdx.x * 8 + x;
    int sum = 0;
    for (int k = 0; k < n; k += 8) {
        ta[y][x] = row < n && k + x < n ? a[row * n + k + x] : 0;
        tb[y][x] = column < n && k + y < n ? b[(k + y) * n + column] : 0;
        __syncthreads();
        for (int i = 0; i < 8; i++) sum += ta[y][i] * tb[i][x];
        __syncthreads();
    }
    if (row < n && column < n) c[row * n + column] = sum;
}

// Each thread holds a block of four by four.
extern "C" __global__ void matmul_blocked_f64(const double* a, const double* b, double* c) {
    const int n = 16;
    double sum[4][4] = {};
    int row = threadIdx.y * 4, column = threadIdx.x * 4;
#pragma unroll 4
    for (int k = 0; k < n; k++) {
        double left[4], right[4];
#pragma unroll
        for (int i = 0; i < 4; i++) {
            left[i] = a[(row + i) * n + k];
            right[i] = b[k * n + column + i];
        }
#pragma unroll
        for (int i = 0; i < 4; i++)
#pragma unroll
            for (int j = 0; j < 4; j++) sum[i][j] += left[i] * right[j];
    }
#pragma unroll
    for (int i = 0; i < 4; i++)
#pragma unroll
        for (int j = 0; j < 4; j++) c[(row + i) * n + column + j] = sum[i][j];
}

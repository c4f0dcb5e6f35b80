// Shared and local memory: transposition, dynamic arrays of several types, arrays that threads index.

extern "C" __global__ void shared_transpose_u16(const unsigned short* in, unsigned short* out, int n) {
    __shared__ unsigned short tile[16][17];
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    tile[threadIdx.y][threadIdx.x] = in[y * n + x];
    __syncthreads();
    out[(blockIdx.x * 16 + threadIdx.y) * n + blockIdx.y * 16 + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}

extern "C" __global__ void shared_dynamic(const int* in, double* out, int n) {
    extern __shared__ double pool[];
    double* squares = pool;
    int* numbers = (int*)(pool + n);
    unsigned char* marks = (unsigned char*)(numbers + n);
    int t = threadIdx.x;
    numbers[t] = in[t];
    __syncthreads();
    squares[t] = (double)numbers[n - 1 - t] * numbers[n - 1 - t];
    marks[t] = numbers[t] < 0;
    __syncthreads();
    int before = 0;
    for (int i = 0; i < t; i++) before += marks[i];
    out[t] = squares[(t * 5) % n] + before;
}

extern "C" __global__ void local_counts(const unsigned char* in, unsigned* out, int n) {
    unsigned counts[16];
    for (int i = 0; i < 16; i++) counts[i] = 0;
    for (int i = 0; i < n; i++) counts[in[threadIdx.x * n + i] & 15]++;
    unsigned best = 0, place = 0;
    for (int i = 0; i < 16; i++)
        if (counts[i] > best) {
            best = counts[i];
            place = i;
        }
    out[threadIdx.x] = place << 16 | best;
}

// Values that are all alive at a time: more than the registers that the kernel may have.
extern "C" __global__ void __launch_bounds__(1024, 2) pressure_mix(const unsigned* in, unsigned* out) {
    unsigned v[48];
#pragma unroll
    for (int i = 0; i < 48; i++) v[i] = in[(threadIdx.x + i * 7) & 63] * (2 * i + 1);
#pragma unroll 1
    for (int round = 0; round < 3; round++)
#pragma unroll
        for (int i = 0; i < 48; i++) v[i] = v[i] * 5 + (v[(i + 17) % 48] ^ v[(i + 31) % 48] >> 3);
    unsigned sum = 0;
#pragma unroll
    for (int i = 0; i < 48; i++) sum = sum * 31 + v[i];
    out[threadIdx.x] = sum;
}

// Generic pointers: the same function reads global, shared and local memory.
__device__ __noinline__ int total(const int* p, int n) {
    int sum = 0;
    for (int i = 0; i < n; i++) sum = sum * 3 + p[i];
    return sum;
}

extern "C" __global__ void generic_pointers(const int* in, int* out) {
    __shared__ int s[32];
    int own[8];
    s[threadIdx.x] = in[31 - threadIdx.x];
    for (int i = 0; i < 8; i++) own[i] = in[(threadIdx.x + i * i) & 31];
    __syncthreads();
    const int* where = threadIdx.x % 3 == 0 ? in + threadIdx.x % 24 : threadIdx.x % 3 == 1 ? s + threadIdx.x % 24 : own;
    out[threadIdx.x] = total(where, 8);
}

// Atomic operations on few and on many addresses, in global and in shared memory.
typedef unsigned int u32;
typedef unsigned long long u64;

extern "C" __global__ void count_matches(const int *x, u32 *count, int wanted, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && x[i] == wanted) atomicAdd(count, 1u);
}

extern "C" __global__ void append_positive(const float *x, int *out, u32 *count, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && x[i] > 0.f) out[atomicAdd(count, 1u)] = i;
}

extern "C" __global__ void few_counters(const int *x, int *counters, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&counters[x[i] & 3], 1);
}

extern "C" __global__ void bins_f32(const int *key, const float *weight, float *bins, int n) {
    __shared__ float mine[64];
    if (threadIdx.x < 64) mine[threadIdx.x] = 0.f;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&mine[key[i] & 63], weight[i]);
    __syncthreads();
    if (threadIdx.x < 64) atomicAdd(&bins[threadIdx.x], mine[threadIdx.x]);
}

extern "C" __global__ void bins_f64(const int *key, const double *weight, double *bins, int n) {
    __shared__ double mine[64];
    if (threadIdx.x < 64) mine[threadIdx.x] = 0.;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&mine[key[i] & 63], weight[i]);
    __syncthreads();
    if (threadIdx.x < 64) atomicAdd(&bins[threadIdx.x], mine[threadIdx.x]);
}

extern "C" __global__ void bins_u64(const int *key, u64 *bins, int n) {
    __shared__ u64 mine[64];
    if (threadIdx.x < 64) mine[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&mine[key[i] & 63], (u64)key[i]);
    __syncthreads();
    if (threadIdx.x < 64) atomicAdd(&bins[threadIdx.x], mine[threadIdx.x]);
}

extern "C" __global__ void block_extremes(const int *x, int *least, int *most, int n) {
    __shared__ int low, high;
    if (threadIdx.x == 0) low = 0x7fffffff, high = 0x80000000;
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicMin(&low, x[i]), atomicMax(&high, x[i]);
    __syncthreads();
    if (threadIdx.x == 0) atomicMin(least, low), atomicMax(most, high);
}

extern "C" __global__ void sum_of_block_f32(const float *x, float *sum, int n) {
    __shared__ float all;
    if (threadIdx.x == 0) all = 0.f;
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&all, x[i] * x[i]);
    __syncthreads();
    if (threadIdx.x == 0) atomicAdd(sum, all);
}

extern "C" __global__ void largest_f32(const float *x, float *most, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int *place = (int *)most;
    int old = *place;
    while (__int_as_float(old) < x[i]) {
        int seen = atomicCAS(place, old, __float_as_int(x[i]));
        if (seen == old) break;
        old = seen;
    }
}

extern "C" __global__ void scatter_add(const int *to, const float *x, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&out[to[i]], x[i]);
}

extern "C" __global__ void hash_insert(const u32 *keys, u32 *table, u32 mask, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    u32 key = keys[i] | 1u, at = (key * 2654435761u) & mask;
    for (int tries = 0; tries < 64; tries++) {
        u32 old = atomicCAS(&table[at], 0u, key);
        if (old == 0u || old == key) return;
        at = (at + 1) & mask;
    }
}

extern "C" __global__ void union_find(const int *from, const int *to, int *parent, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int a = from[i], b = to[i];
    for (int tries = 0; tries < 32; tries++) {
        while (parent[a] != a) a = parent[a];
        while (parent[b] != b) b = parent[b];
        if (a == b) return;
        int low = min(a, b), high = max(a, b);
        if (atomicCAS(&parent[high], high, low) == high) return;
    }
}

// Atomics: all integer operations, floats, a compare-and-swap loop, a lock, a list.

extern "C" __global__ void atomic_all_u32(unsigned* p, unsigned* q) {
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x, v = t * 2654435761u;
    atomicAdd(p, v);
    atomicSub(p + 1, v);
    atomicMin(p + 2, v);
    atomicMax(p + 3, v);
    atomicAnd(p + 4, v | 0xff00ff);
    atomicOr(p + 5, v & 0x110011);
    atomicXor(p + 6, v);
    atomicInc(p + 7, 99);
    atomicDec(p + 8, 49);
    atomicMin((int*)p + 9, (int)v);
    atomicMax((int*)p + 10, (int)v);
    q[t] = atomicExch(q + t, v) + atomicCAS(q + t, v, t);
}

extern "C" __global__ void atomic_all_u64(unsigned long long* p) {
    unsigned long long t = blockIdx.x * blockDim.x + threadIdx.x, v = t * 0x9e3779b97f4a7c15ull;
    atomicAdd(p, v);
    atomicMin(p + 1, v);
    atomicMax(p + 2, v);
    atomicAnd(p + 3, v | 0xff00ff00ff00ffull);
    atomicOr(p + 4, v & 0x1100110011001100ull);
    atomicXor(p + 5, v);
    atomicMin((long long*)p + 6, (long long)v);
    atomicMax((long long*)p + 7, (long long)v);
}

// Sums of small integers are exact in any order.
extern "C" __global__ void atomic_add_floats(float* f, double* d) {
    __shared__ float s;
    if (threadIdx.x == 0) s = 0;
    __syncthreads();
    atomicAdd(&s, (float)threadIdx.x);
    atomicAdd(f + threadIdx.x % 4, (float)(threadIdx.x * 3));
    atomicAdd(d, threadIdx.x * 0.25);
    __syncthreads();
    if (threadIdx.x == 0) atomicAdd(f + 4, s);
}

extern "C" __global__ void atomic_max_f32(const float* in, float* out) {
    float value = in[blockIdx.x * blockDim.x + threadIdx.x];
    int* place = (int*)out;
    int old = *place, seen;
    do {
        if (__int_as_float(old) >= value) break;
        seen = old;
        old = atomicCAS(place, seen, __float_as_int(value));
    } while (old != seen);
}

// Each thread takes the lock in turn; lanes of one warp wait for each other.
extern "C" __global__ void atomic_lock(int* lock, volatile unsigned* sum) {
    bool done = false;
    while (!done) {
        if (atomicCAS(lock, 0, 1) == 0) {
            __threadfence();
            *sum = *sum * 3 % 65521 + 1;
            __threadfence();
            atomicExch(lock, 0);
            done = true;
        }
    }
}

// Numbers that pass a test are put into a list; the count is exact, the order free, so that the sum is kept.
extern "C" __global__ void atomic_append(const int* in, int* count, unsigned* sum, int n) {
    __shared__ int list[256];
    __shared__ int length;
    if (threadIdx.x == 0) length = 0;
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        if (in[i] % 3 == 0) list[atomicAdd(&length, 1)] = in[i];
    __syncthreads();
    unsigned own = 0;
    for (int i = threadIdx.x; i < length; i += blockDim.x) own += (unsigned)list[i] * (unsigned)list[i];
    atomicAdd(sum, own);
    if (threadIdx.x == 0) *count = length;
}

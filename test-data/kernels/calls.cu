// Calls: chains, recursion, functions through pointers, structures by value.

__device__ __noinline__ unsigned step_a(unsigned x, unsigned y) { return x * 17 + (y ^ x >> 3); }
__device__ __noinline__ unsigned step_b(unsigned x) { return step_a(x, 99) ^ step_a(x + 1, x); }

extern "C" __global__ void call_chain(unsigned* data) {
    unsigned x = data[threadIdx.x];
    if (x & 1) x = step_b(x);
    for (int i = 0; i < 3; i++) x = step_a(x, i) + (x & 4 ? step_b(i) : 0);
    data[threadIdx.x] = x;
}

__device__ __noinline__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
__device__ __noinline__ int ackermann(int m, int n) {
    return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}

extern "C" __global__ void call_recursion(int* out) {
    out[2 * threadIdx.x] = fibonacci(threadIdx.x % 13);
    out[2 * threadIdx.x + 1] = ackermann(2, threadIdx.x % 5);
}

__device__ __noinline__ void quicksort(int* a, int low, int high) {
    while (low < high) {
        int pivot = a[(low + high) >> 1], i = low, j = high;
        while (i <= j) {
            while (a[i] < pivot) i++;
            while (a[j] > pivot) j--;
            if (i <= j) {
                int t = a[i];
                a[i++] = a[j];
                a[j--] = t;
            }
        }
        quicksort(a, low, j);
        low = i;
    }
}

extern "C" __global__ void call_quicksort(int* data, int n) { quicksort(data + threadIdx.x * n, 0, n - 1); }

__device__ int twice(int x) { return 2 * x; }
__device__ int square(int x) { return x * x; }
__device__ int minus(int x) { return -x; }
typedef int (*Function)(int);
__device__ Function functions[3] = {twice, square, minus};

extern "C" __global__ void call_pointers(const int* which, int* data, int n) {
    int x = data[threadIdx.x];
    for (int i = 0; i < n; i++) x = functions[which[(threadIdx.x + i) % n]](x) + i;
    data[threadIdx.x] = x;
}

struct Matrix {
    long long m[4];
};
__device__ __noinline__ Matrix product(Matrix a, Matrix b) {
    Matrix r;
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++) r.m[2 * i + j] = a.m[2 * i] * b.m[j] + a.m[2 * i + 1] * b.m[2 + j];
    return r;
}

extern "C" __global__ void call_structures(long long a, long long b, long long c, long long d, long long* out) {
    Matrix result = {{1, 0, 0, 1}}, power = {{a, b, c, d}};
    for (int e = threadIdx.x; e; e >>= 1) {
        if (e & 1) result = product(result, power);
        power = product(power, power);
    }
    for (int i = 0; i < 4; i++) out[threadIdx.x * 4 + i] = result.m[i];
}

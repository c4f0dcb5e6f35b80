// A program for debuggers: every kind of place a variable may have.
struct Point { float x, y; int tag; };
__constant__ int table[4] = {1, 2, 3, 4};
__device__ int counter = 5;
__device__ Point origin;
__shared__ int of_module[32];

__device__ __noinline__ float norm(const Point &p, int scale) {
    float squares = p.x * p.x + p.y * p.y;
    return squares * scale;
}
__device__ __noinline__ int sum(const int *values, int count) {
    int total = 0;
    for (int i = 0; i < count; ++i) {
        int part = values[i] + table[i & 3];
        total += part;
    }
    return total;
}
extern "C" __global__ void shapes(int *out, const int *in, int count, double weight) {
    __shared__ int tile[64];
    int local[4];
    Point p = {1.0f, 2.0f, 3};
    int i = threadIdx.x;
    tile[i & 63] = in[i];
    of_module[i & 31] = i;
    __syncthreads();
    for (int k = 0; k < 4; ++k) local[k] = tile[(i + k) & 63];
    int s = sum(local, 4);
    bool big = s > count;
    if (big) s += (int)(norm(p, 2) * weight);
    out[i] = s + counter + (int)origin.x + of_module[(i + 1) & 31];
}

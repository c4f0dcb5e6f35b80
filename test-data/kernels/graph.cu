// Graphs and sparse matrices.

extern "C" __global__ void graph_frontier(const int* starts, const int* targets, int* distance, const int* frontier,
                                          int count, int* next, int* next_count, int level) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    int node = frontier[i];
    for (int e = starts[node]; e < starts[node + 1]; e++)
        if (atomicCAS(distance + targets[e], -1, level) == -1) next[atomicAdd(next_count, 1)] = targets[e];
}

extern "C" __global__ void graph_sparse_f32(const int* starts, const int* columns, const float* values,
                                            const float* x, float* y, int rows) {
    int row = blockIdx.x * (blockDim.x / 8) + threadIdx.x / 8, lane = threadIdx.x & 7;
    float sum = 0;
    if (row < rows)
        for (int e = starts[row] + lane; e < starts[row + 1]; e += 8) sum += values[e] * x[columns[e]];
    for (int distance = 4; distance > 0; distance >>= 1) sum += __shfl_down_sync(0xffffffffu, sum, distance, 8);
    if (row < rows && lane == 0) y[row] = sum;
}

extern "C" __global__ void graph_components(int* parent, const int2* edges, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    int a = edges[i].x, b = edges[i].y;
    for (;;) {
        while (parent[a] != a) a = parent[a];
        while (parent[b] != b) b = parent[b];
        if (a == b) break;
        if (a < b) {
            int t = a;
            a = b;
            b = t;
        }
        if (atomicCAS(parent + a, a, b) == a) break;
    }
}

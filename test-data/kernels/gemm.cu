// A product of matrices of halves with single sums: tiles come by asynchronous copies, two steps ahead of the products, and
// fragments by matrix loads. A is row by row, B column by column; one block of four warps makes 64 by 64 elements.
#include <stdint.h>

#define TILE 64
#define DEPTH 32
#define STAGES 3

// Halves of a row of a tile in shared memory: eight more than there are spread the rows over the banks.
#define PITCH (DEPTH + 8)

static __device__ void copy16(uint32_t to, const void *from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from));
}

static __device__ void load4(uint32_t (&x)[4], uint32_t from) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                 : "r"(from));
}

static __device__ void multiply(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                 "{%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

extern "C" __global__ void __launch_bounds__(128) gemm_f16(const uint16_t *a, const uint16_t *b, float *c, int n, int k) {
    __shared__ __align__(16) uint16_t tiles[STAGES][2][TILE * PITCH];
    const int thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
    const int row = blockIdx.y * TILE, column = blockIdx.x * TILE;
    const uint32_t base = (uint32_t)__cvta_generic_to_shared(tiles);
    const uint32_t matrix = TILE * PITCH * 2, stage = 2 * matrix;

    // Every thread brings two pieces of 16 bytes of each tile.
    auto bring = [&](int step) {
        const uint32_t to = base + step % STAGES * stage;
        if (step * DEPTH < k) {
            for (int piece = thread; piece < TILE * DEPTH / 8; piece += 128) {
                const int line = piece / (DEPTH / 8), at = piece % (DEPTH / 8) * 8;
                const uint32_t offset = (line * PITCH + at) * 2;
                copy16(to + offset, a + (size_t)(row + line) * k + step * DEPTH + at);
                copy16(to + matrix + offset, b + (size_t)(column + line) * k + step * DEPTH + at);
            }
        }
        asm volatile("cp.async.commit_group;");
    };

    // A warp makes 32 by 32 elements.
    const int top = warp / 2 * 32, left = warp % 2 * 32;
    float sums[2][4][4] = {};
    for (int step = 0; step < STAGES - 1; step++)
        bring(step);
    for (int step = 0; step * DEPTH < k; step++) {
        asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2));
        __syncthreads();
        bring(step + STAGES - 1);
        const uint32_t from = base + step % STAGES * stage;
#pragma unroll
        for (int deep = 0; deep < DEPTH; deep += 16) {
            uint32_t x[2][4], y[2][4];
#pragma unroll
            for (int half = 0; half < 2; half++) {
                const int at = deep + lane / 16 * 8;
                load4(x[half], from + ((top + 16 * half + lane % 16) * PITCH + at) * 2);
                load4(y[half], from + matrix + ((left + 16 * half + lane % 16) * PITCH + at) * 2);
            }
#pragma unroll
            for (int i = 0; i < 2; i++)
#pragma unroll
                for (int j = 0; j < 4; j++)
                    multiply(sums[i][j], x[i], y[j / 2][j % 2], y[j / 2][j % 2 + 2]);
        }
    }
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 4; j++)
            for (int part = 0; part < 4; part++) {
                const int line = row + top + 16 * i + lane / 4 + part / 2 * 8;
                const int at = column + left + 8 * j + lane % 4 * 2 + part % 2;
                c[(size_t)line * n + at] = sums[i][j][part];
            }
}

// Attention, forward, with the softmax made anew as tiles of keys come: scores and their weights never leave the registers. Tiles
// come by asynchronous copies, one ahead; a query sees the keys up to its own place, counted from the end. One block of four
// warps has 64 queries, 16 a warp. Weights are powers of two.
#include <stdint.h>

#define QUERIES 64
#define KEYS 32
#define WIDTH 32

// Halves of a row in shared memory: eight more than there are spread the rows over the banks.
#define PITCH (WIDTH + 8)

static __device__ void copy16(uint32_t to, const void *from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from));
}

static __device__ void load4(uint32_t (&x)[4], uint32_t from) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                 : "r"(from));
}

static __device__ void load4_turned(uint32_t (&x)[4], uint32_t from) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                 : "r"(from));
}

static __device__ void multiply(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                 "{%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

static __device__ float power(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

static __device__ uint32_t pair(float low, float high) {
    uint32_t x;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(x) : "f"(high), "f"(low));
    return x;
}

extern "C" __global__ void __launch_bounds__(128)
    attention_f16(const uint16_t *q, const uint16_t *k, const uint16_t *v, float *out, int keys) {
    __shared__ __align__(16) uint16_t queries[QUERIES * PITCH];
    __shared__ __align__(16) uint16_t tiles[2][2][KEYS * PITCH];
    const int thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
    const int first = blockIdx.x * QUERIES, ahead = keys - gridDim.x * QUERIES;
    const uint32_t own = (uint32_t)__cvta_generic_to_shared(queries);
    const uint32_t base = (uint32_t)__cvta_generic_to_shared(tiles);
    const uint32_t matrix = KEYS * PITCH * 2, stage = 2 * matrix;

    auto bring = [&](int tile) {
        if (tile * KEYS < keys) {
            const int line = thread / (WIDTH / 8), at = thread % (WIDTH / 8) * 8;
            const uint32_t to = base + tile % 2 * stage + (line * PITCH + at) * 2;
            const size_t from = (size_t)(tile * KEYS + line) * WIDTH + at;
            copy16(to, k + from);
            copy16(to + matrix, v + from);
        }
        asm volatile("cp.async.commit_group;");
    };

    for (int piece = thread; piece < QUERIES * WIDTH / 8; piece += 128) {
        const int line = piece / (WIDTH / 8), at = piece % (WIDTH / 8) * 8;
        copy16(own + (line * PITCH + at) * 2, q + (size_t)(first + line) * WIDTH + at);
    }
    bring(0);
    uint32_t x[2][4];
    float sums[4][4] = {}, most[2] = {-INFINITY, -INFINITY}, total[2] = {};
    for (int tile = 0; tile * KEYS < keys; tile++) {
        bring(tile + 1);
        asm volatile("cp.async.wait_group 1;");
        __syncthreads();
        const uint32_t from = base + tile % 2 * stage;
        if (tile == 0)
            for (int half = 0; half < 2; half++)
                load4(x[half], own + ((16 * warp + lane % 16) * PITCH + 16 * half + lane / 16 * 8) * 2);
        float scores[4][4] = {};
#pragma unroll
        for (int deep = 0; deep < 2; deep++)
#pragma unroll
            for (int two = 0; two < 2; two++) {
                uint32_t y[4];
                load4(y, from + ((16 * two + lane % 16) * PITCH + 16 * deep + lane / 16 * 8) * 2);
                multiply(scores[2 * two], x[deep], y[0], y[2]);
                multiply(scores[2 * two + 1], x[deep], y[1], y[3]);
            }
#pragma unroll
        for (int row = 0; row < 2; row++) {
            const int last = first + 16 * warp + lane / 4 + 8 * row + ahead;
            float high = most[row];
#pragma unroll
            for (int j = 0; j < 4; j++)
#pragma unroll
                for (int part = 0; part < 2; part++) {
                    float &score = scores[j][2 * row + part];
                    if (tile * KEYS + 8 * j + lane % 4 * 2 + part > last)
                        score = -INFINITY;
                    high = fmaxf(high, score);
                }
            high = fmaxf(high, __shfl_xor_sync(~0u, high, 1));
            high = fmaxf(high, __shfl_xor_sync(~0u, high, 2));
            const float scale = power(most[row] - high);
            most[row] = high;
            total[row] *= scale;
#pragma unroll
            for (int j = 0; j < 4; j++)
#pragma unroll
                for (int part = 0; part < 2; part++) {
                    float &score = scores[j][2 * row + part];
                    score = power(score - high);
                    total[row] += score;
                    sums[j][2 * row + part] *= scale;
                }
        }
#pragma unroll
        for (int deep = 0; deep < 2; deep++) {
            const uint32_t w[4] = {
                pair(scores[2 * deep][0], scores[2 * deep][1]), pair(scores[2 * deep][2], scores[2 * deep][3]),
                pair(scores[2 * deep + 1][0], scores[2 * deep + 1][1]), pair(scores[2 * deep + 1][2], scores[2 * deep + 1][3])};
#pragma unroll
            for (int two = 0; two < 2; two++) {
                uint32_t y[4];
                load4_turned(y, from + matrix + ((16 * deep + lane % 16) * PITCH + 16 * two + lane / 16 * 8) * 2);
                multiply(sums[2 * two], w, y[0], y[1]);
                multiply(sums[2 * two + 1], w, y[2], y[3]);
            }
        }
        __syncthreads();
    }
    for (int row = 0; row < 2; row++) {
        total[row] += __shfl_xor_sync(~0u, total[row], 1);
        total[row] += __shfl_xor_sync(~0u, total[row], 2);
        for (int j = 0; j < 4; j++)
            for (int part = 0; part < 2; part++) {
                const int line = first + 16 * warp + lane / 4 + 8 * row, at = 8 * j + lane % 4 * 2 + part;
                out[(size_t)line * WIDTH + at] = __fdiv_rn(sums[j][2 * row + part], total[row]);
            }
    }
}

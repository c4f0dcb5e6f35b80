// Fetches from textures as CUDA programs make them: filters, layers, cubes, gathers, and objects that differ among lanes.
#include <cuda_runtime.h>

extern "C" __global__ void texture_filter(cudaTextureObject_t image, float *out, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    float sum = 0;
    for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++) {
            float weight = (dx == 0 ? 2.0f : 1.0f) * (dy == 0 ? 2.0f : 1.0f) / 16.0f;
            sum += weight * tex2D<float>(image, (x + 0.25f + dx) / width, (y + 0.75f + dy) / height);
        }
    out[y * width + x] = sum;
}

extern "C" __global__ void texture_nearest(cudaTextureObject_t line, cudaTextureObject_t plane,
                                           cudaTextureObject_t volume, cudaTextureObject_t layers, const float *at,
                                           unsigned *out, cudaTextureObject_t memory) {
    int t = threadIdx.x;
    float u = at[2 * t], v = at[2 * t + 1];
    unsigned *to = out + 16 * t;
    to[0] = tex1Dfetch<int>(memory, t - 4);
    uchar4 texel = tex2D<uchar4>(plane, u, v);
    to[1] = texel.x;
    to[2] = texel.y;
    to[3] = texel.z;
    to[4] = texel.w;
    float4 deep = tex3D<float4>(volume, u, v, u + v);
    to[5] = __float_as_uint(deep.x);
    to[6] = __float_as_uint(deep.w);
    short2 layer = tex2DLayered<short2>(layers, u, v, t % 5);
    to[7] = layer.x;
    to[8] = layer.y;
    to[9] = tex1D<int>(line, u);
    to[10] = tex2DLod<uchar4>(plane, u, v, 0.0f).z;
    uchar4 graded = tex2DGrad<uchar4>(plane, u, v, make_float2(0.5f, 0), make_float2(0, 0.5f));
    to[11] = graded.x;
    uchar4 gathered = tex2Dgather<uchar4>(plane, u, v, 1);
    to[12] = gathered.x;
    to[13] = gathered.y;
    to[14] = gathered.z;
    to[15] = gathered.w;
}

extern "C" __global__ void texture_cube(cudaTextureObject_t cube, const float *at, float *out) {
    int t = threadIdx.x;
    float4 texel = texCubemap<float4>(cube, at[3 * t], at[3 * t + 1], at[3 * t + 2]);
    out[2 * t] = texel.x;
    out[2 * t + 1] = texel.y;
}

// Each lane names a texture of its own, on one side of a branch.
extern "C" __global__ void texture_of_each(cudaTextureObject_t a, cudaTextureObject_t b, cudaTextureObject_t c,
                                           int *out, cudaTextureObject_t memory) {
    int t = threadIdx.x;
    int value = -1;
    if (t % 4 != 3) {
        cudaTextureObject_t mine = t % 4 == 0 ? a : t % 4 == 1 ? b : c;
        value = tex2D<int>(mine, t % 8, t / 8);
        if (t & 16) value += tex1Dfetch<int>(memory, t & 7);
    }
    out[t] = value;
}

extern "C" __global__ void surface_turn(cudaSurfaceObject_t from, cudaSurfaceObject_t to, int width, int height) {
    int x = threadIdx.x, y = threadIdx.y;
    if (x >= width || y >= height) return;
    uchar4 texel;
    surf2Dread(&texel, from, x * 4, y);
    texel.x ^= 0xff;
    surf2Dwrite(texel, to, (height - 1 - y) * 4, x);
    float beyond;
    surf2Dread(&beyond, from, (x + width / 2) * 4, y, cudaBoundaryModeZero);
    surf2Dwrite(beyond, to, (height + x) * 4, y, cudaBoundaryModeZero);
    __syncthreads();
    if (x == 0 && y == 0) surf2Dwrite(make_short2(7, -8), to, -400, 1000, cudaBoundaryModeClamp);
}

// Bits and bytes: counts, permutations, funnel shifts, dot products, packed bytes.

extern "C" __global__ void bits_mix(const unsigned* in, unsigned* out) {
    unsigned x = in[threadIdx.x], y = in[(threadIdx.x + 7) & 63];
    unsigned* o = out + threadIdx.x * 8;
    o[0] = __popc(x) | __clz(y) << 8 | __ffs(x) << 16;
    o[1] = __brev(x) ^ __byte_perm(x, y, 0x3715);
    unsigned left, right;
    asm("shf.l.wrap.b32 %0, %1, %2, %3;" : "=r"(left) : "r"(x), "r"(y), "r"(y & 63));
    asm("shf.r.clamp.b32 %0, %1, %2, %3;" : "=r"(right) : "r"(x), "r"(y), "r"(y & 63));
    o[2] = left + right;
    o[3] = (x & y) | (~x & __umulhi(x, y));
    asm("dp4a.s32.s32 %0, %1, %2, 5;" : "=r"(o[4]) : "r"(x), "r"(y));
    asm("dp2a.lo.u32.u32 %0, %1, %2, 7;" : "=r"(o[5]) : "r"(x), "r"(y));
    o[6] = __vabsdiffu4(x, y) ^ __vaddss2(x, y);
    o[7] = __sad((int)x, (int)y, x) + __usad(x, y, 3u);
}

// Base64 of three bytes a thread, from a table in constant memory.
__constant__ char alphabet[65] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

extern "C" __global__ void bits_base64(const unsigned char* in, uchar4* out) {
    const unsigned char* p = in + threadIdx.x * 3;
    unsigned v = p[0] << 16 | p[1] << 8 | p[2];
    out[threadIdx.x] = make_uchar4(alphabet[v >> 18], alphabet[v >> 12 & 63], alphabet[v >> 6 & 63], alphabet[v & 63]);
}

// Addresses in initializers.
__device__ int low[4] = {1, 2, 3, 4};
__device__ int high[4] = {100, 200, 300, 400};
__device__ int* pages[2] = {low + 1, high};

extern "C" __global__ void bits_pages(const unsigned char* in, int* out) {
    int i = in[threadIdx.x];
    out[threadIdx.x] = pages[i >> 1 & 1][i & 1 ? 2 : 0] + (i & 4 ? low[i >> 3 & 3] : 0);
}

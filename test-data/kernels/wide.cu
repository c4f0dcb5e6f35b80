// Integers wider than a register: 64-bit division, 128-bit products, multi-word numbers.

typedef unsigned long long u64;
typedef long long i64;

extern "C" __global__ void wide_divide_i64(const i64* a, const i64* b, i64* quotients, i64* remainders) {
    int i = threadIdx.x;
    quotients[i] = a[i] / b[i];
    remainders[i] = a[i] % b[i];
}

extern "C" __global__ void wide_divide_u64(const u64* a, const u64* b, u64* out) {
    int i = threadIdx.x;
    out[2 * i] = a[i] / b[i];
    out[2 * i + 1] = a[i] % b[i] + a[i] / 1000003u;
}

// Doubles and adds, so that no 128-bit division is needed.
extern "C" __global__ void wide_mulmod_u64(const u64* a, const u64* b, u64* out, u64 modulus) {
    u64 x = a[threadIdx.x] % modulus, y = b[threadIdx.x], result = 0;
    while (y) {
        if (y & 1) result = result >= modulus - x ? result - (modulus - x) : result + x;
        x = x >= modulus - x ? x - (modulus - x) : x + x;
        y >>= 1;
    }
    out[threadIdx.x] = result;
}

extern "C" __global__ void wide_product_u128(const u64* a, const u64* b, u64* out) {
    unsigned __int128 p = (unsigned __int128)a[threadIdx.x] * b[threadIdx.x];
    p = p * 3 + (p >> 7) - (p << 5);
    out[2 * threadIdx.x] = (u64)p;
    out[2 * threadIdx.x + 1] = (u64)(p >> 64);
}

extern "C" __global__ void wide_bigmul(const unsigned* a, const unsigned* b, unsigned* out) {
    unsigned r[16] = {};
    a += threadIdx.x * 8, b += threadIdx.x * 8, out += threadIdx.x * 16;
#pragma unroll
    for (int i = 0; i < 8; i++) {
        u64 carry = 0;
#pragma unroll
        for (int j = 0; j < 8; j++) {
            u64 t = (u64)a[i] * b[j] + r[i + j] + carry;
            r[i + j] = (unsigned)t;
            carry = t >> 32;
        }
        r[i + 8] = (unsigned)carry;
    }
#pragma unroll
    for (int i = 0; i < 16; i++) out[i] = r[i];
}

// Long addition with the carry flag of the machine.
extern "C" __global__ void wide_add_carry(const unsigned* a, const unsigned* b, unsigned* out) {
    a += threadIdx.x * 4, b += threadIdx.x * 4, out += threadIdx.x * 5;
    unsigned r0, r1, r2, r3, r4;
    asm("add.cc.u32 %0, %5, %9;\n\t"
        "addc.cc.u32 %1, %6, %10;\n\t"
        "addc.cc.u32 %2, %7, %11;\n\t"
        "addc.cc.u32 %3, %8, %12;\n\t"
        "addc.u32 %4, 0, 0;"
        : "=r"(r0), "=r"(r1), "=r"(r2), "=r"(r3), "=r"(r4)
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(b[2]), "r"(b[3]));
    out[0] = r0, out[1] = r1, out[2] = r2, out[3] = r3, out[4] = r4;
}

extern "C" __global__ void wide_gcd_isqrt(const u64* a, const u64* b, u64* out) {
    u64 x = a[threadIdx.x], y = b[threadIdx.x];
    while (y) {
        u64 t = x % y;
        x = y;
        y = t;
    }
    u64 n = a[threadIdx.x], root = 0;
    for (u64 bit = 1ull << 62; bit; bit >>= 2) {
        if (n >= root + bit) {
            n -= root + bit;
            root = (root >> 1) + bit;
        } else {
            root >>= 1;
        }
    }
    out[2 * threadIdx.x] = x;
    out[2 * threadIdx.x + 1] = root;
}

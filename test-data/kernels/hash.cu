// Hash functions: 32 and 64 bits wide, with tables and with rotations.

__constant__ unsigned sha_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

__device__ __forceinline__ unsigned rotate(unsigned x, int n) { return x >> n | x << (32 - n); }

// One block of SHA-256 for each thread: a 64-byte block that is padded already.
extern "C" __global__ void hash_sha256(const unsigned* blocks, unsigned* digests) {
    unsigned w[64], s[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                            0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    const unsigned* block = blocks + threadIdx.x * 16;
#pragma unroll
    for (int i = 0; i < 16; i++) w[i] = __byte_perm(block[i], 0, 0x0123);
#pragma unroll
    for (int i = 16; i < 64; i++) {
        unsigned x = w[i - 15], y = w[i - 2];
        w[i] = w[i - 16] + (rotate(x, 7) ^ rotate(x, 18) ^ x >> 3) + w[i - 7] +
               (rotate(y, 17) ^ rotate(y, 19) ^ y >> 10);
    }
    unsigned a = s[0], b = s[1], c = s[2], d = s[3], e = s[4], f = s[5], g = s[6], h = s[7];
#pragma unroll 8
    for (int i = 0; i < 64; i++) {
        unsigned t = h + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + ((e & f) ^ (~e & g)) +
                     sha_constants[i] + w[i];
        unsigned u = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
        h = g, g = f, f = e, e = d + t, d = c, c = b, b = a, a = t + u;
    }
    unsigned r[8] = {a, b, c, d, e, f, g, h};
#pragma unroll
    for (int i = 0; i < 8; i++) digests[threadIdx.x * 8 + i] = s[i] + r[i];
}

extern "C" __global__ void hash_murmur3(const unsigned char* data, const int* lengths, unsigned* out) {
    const unsigned char* p = data + threadIdx.x * 24;
    int length = lengths[threadIdx.x];
    unsigned h = threadIdx.x;
    int i = 0;
    for (; i + 4 <= length; i += 4) {
        unsigned k = p[i] | p[i + 1] << 8 | p[i + 2] << 16 | (unsigned)p[i + 3] << 24;
        k *= 0xcc9e2d51;
        k = k << 15 | k >> 17;
        h ^= k * 0x1b873593;
        h = h << 13 | h >> 19;
        h = h * 5 + 0xe6546b64;
    }
    unsigned k = 0;
    switch (length & 3) {
    case 3: k ^= p[i + 2] << 16;
    case 2: k ^= p[i + 1] << 8;
    case 1:
        k ^= p[i];
        k *= 0xcc9e2d51;
        k = k << 15 | k >> 17;
        h ^= k * 0x1b873593;
    }
    h ^= length;
    h ^= h >> 16;
    h *= 0x85ebca6b;
    h ^= h >> 13;
    h *= 0xc2b2ae35;
    h ^= h >> 16;
    out[threadIdx.x] = h;
}

extern "C" __global__ void hash_fnv1a_u64(const unsigned char* data, unsigned long long* out, int length) {
    unsigned long long h = 14695981039346656037ull;
    for (int i = 0; i < length; i++) h = (h ^ data[threadIdx.x * length + i]) * 1099511628211ull;
    out[threadIdx.x] = h;
}

// CRC-32 with a table that the block makes for itself.
extern "C" __global__ void hash_crc32(const unsigned char* data, unsigned* out, int length) {
    __shared__ unsigned table[256];
    for (int i = threadIdx.x; i < 256; i += blockDim.x) {
        unsigned c = i;
        for (int k = 0; k < 8; k++) c = c & 1 ? c >> 1 ^ 0xedb88320u : c >> 1;
        table[i] = c;
    }
    __syncthreads();
    unsigned c = ~0u;
    for (int i = 0; i < length; i++) c = c >> 8 ^ table[(c ^ data[threadIdx.x * length + i]) & 255];
    out[threadIdx.x] = ~c;
}

__device__ __forceinline__ void sip_round(unsigned long long* v) {
    v[0] += v[1], v[1] = v[1] << 13 | v[1] >> 51, v[1] ^= v[0], v[0] = v[0] << 32 | v[0] >> 32;
    v[2] += v[3], v[3] = v[3] << 16 | v[3] >> 48, v[3] ^= v[2];
    v[0] += v[3], v[3] = v[3] << 21 | v[3] >> 43, v[3] ^= v[0];
    v[2] += v[1], v[1] = v[1] << 17 | v[1] >> 47, v[1] ^= v[2], v[2] = v[2] << 32 | v[2] >> 32;
}

// SipHash-2-4 of whole words.
extern "C" __global__ void hash_siphash(const unsigned long long* key, const unsigned long long* words,
                                        unsigned long long* out, int n) {
    unsigned long long v[4] = {key[0] ^ 0x736f6d6570736575ull, key[1] ^ 0x646f72616e646f6dull,
                               key[0] ^ 0x6c7967656e657261ull, key[1] ^ 0x7465646279746573ull};
    for (int i = 0; i <= n; i++) {
        unsigned long long m = i < n ? words[threadIdx.x * n + i] : (unsigned long long)(n * 8) << 56;
        v[3] ^= m;
        sip_round(v);
        sip_round(v);
        v[0] ^= m;
    }
    v[2] ^= 255;
    for (int i = 0; i < 4; i++) sip_round(v);
    out[threadIdx.x] = v[0] ^ v[1] ^ v[2] ^ v[3];
}

// Flow of control: loops that diverge, early exits, switches, nests.

extern "C" __global__ void control_collatz(unsigned* out) {
    unsigned long long n = blockIdx.x * blockDim.x + threadIdx.x + 1;
    unsigned steps = 0, peak = 0;
    while (n != 1) {
        n = n & 1 ? 3 * n + 1 : n >> 1;
        if ((unsigned)n > peak) peak = n;
        steps++;
    }
    out[n - 1 + blockIdx.x * blockDim.x + threadIdx.x] = steps << 20 ^ peak;
}

extern "C" __global__ void control_search(const char* text, const char* word, int* out, int n, int m) {
    int start = blockIdx.x * blockDim.x + threadIdx.x;
    if (start + m > n) return;
    for (int i = 0; i < m; i++)
        if (text[start + i] != word[i]) return;
    atomicMin(out, start);
    atomicAdd(out + 1, 1);
}

// A small machine with a stack.
extern "C" __global__ void control_interpreter(const int* program, int* out) {
    int stack[8], top = 0, pc = 0, x = threadIdx.x;
    for (int fuel = 0; fuel < 400; fuel++) {
        int op = program[pc++];
        switch (op) {
        case 0: stack[top++ & 7] = program[pc++]; break;
        case 1: stack[top++ & 7] = x; break;
        case 2: top--; stack[(top - 1) & 7] += stack[top & 7]; break;
        case 3: top--; stack[(top - 1) & 7] *= stack[top & 7]; break;
        case 4: top--; stack[(top - 1) & 7] -= stack[top & 7]; break;
        case 5: x = stack[--top & 7]; break;
        case 6: pc = stack[--top & 7] > 0 ? program[pc] : pc + 1; break;
        case 7: stack[top & 7] = stack[(top - 1) & 7]; top++; break;
        case 8: stack[(top - 1) & 7] ^= stack[(top - 1) & 7] << 5; break;
        case 9: stack[(top - 1) & 7] = __popc(stack[(top - 1) & 7]); break;
        default: fuel = 1000; break;
        }
    }
    out[threadIdx.x] = x;
}

extern "C" __global__ void control_primes(unsigned char* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    bool prime = i >= 2;
    for (int d = 2; d * d <= i; d++) {
        if (i % d == 0) {
            prime = false;
            break;
        }
        if (d == 2) continue;
        d++;
    }
    out[i] = prime;
}

// Queens on a board, counted without recursion: each thread starts with another first row.
extern "C" __global__ void control_queens(unsigned* out, int n) {
    unsigned columns[10], left[10], right[10], open[10], all = (1u << n) - 1, count = 0;
    unsigned first = 1u << threadIdx.x;
    if (threadIdx.x >= n) return;
    int row = 1;
    columns[1] = first, left[1] = first << 1, right[1] = first >> 1;
    open[1] = all & ~(columns[1] | left[1] | right[1]);
    while (row > 0) {
        if (open[row] == 0) {
            row--;
            continue;
        }
        unsigned place = open[row] & -open[row];
        open[row] ^= place;
        if (row == n - 1) {
            count++;
            continue;
        }
        columns[row + 1] = columns[row] | place;
        left[row + 1] = (left[row] | place) << 1;
        right[row + 1] = (right[row] | place) >> 1;
        row++;
        open[row] = all & ~(columns[row] | left[row] | right[row]);
    }
    out[threadIdx.x] = count;
}

extern "C" __global__ void control_levenshtein(const char* a, const char* b, int* out) {
    unsigned char row[13];
    const char* x = a + threadIdx.x * 12;
    const char* y = b + threadIdx.x * 12;
    for (int j = 0; j <= 12; j++) row[j] = j;
    for (int i = 1; i <= 12; i++) {
        int corner = row[0];
        row[0] = i;
        for (int j = 1; j <= 12; j++) {
            int best = corner + (x[i - 1] != y[j - 1]);
            corner = row[j];
            best = min(best, min(row[j - 1], row[j]) + 1);
            row[j] = best;
        }
    }
    out[threadIdx.x] = row[12];
}

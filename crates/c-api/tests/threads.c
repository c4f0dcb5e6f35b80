/* Threads that compile at once, each with a handle or all with one, and a compile that its callback cancels, as text. The threads
 * are C's, so that a checker of races knows them. With an argument no thread waits for another one's handle. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nvPTXCompiler.h"
#include "texts.h"

enum { THREADS = 8, LONG = 4000 };

static const char *OPTIONS[] = {"-arch=sm_90"};

/* A kernel that does so many times the same. */
static char *text(int times) {
    const char *head = HEAD ".visible .entry k(.param .u64 p)\n{\n    .reg .b32 %r<3>;\n    .reg .b64 %d<3>;\n    ld.param.u64 %d1, [p];\n"
                            "    ld.global.v2.u32 {%r1, %r2}, [%d1];\n";
    const char *body = "    mad.lo.u32 %r1, %r1, %r1, 7;\n    xor.b32 %r1, %r1, %r2;\n";
    const char *tail = "    st.global.u32 [%d1], %r1;\n    ret;\n}\n";
    char *made = malloc(strlen(head) + times * strlen(body) + strlen(tail) + 1), *end = made + strlen(strcpy(made, head));
    while (times--) end = strcpy(end, body) + strlen(body);
    strcpy(end, tail);
    return made;
}

static void *compiled(int times, size_t *size) {
    char *source = text(times);
    nvPTXCompilerHandle h = NULL;
    nvPTXCompilerCreate(&h, strlen(source), source);
    free(source);
    void *image = NULL;
    if (nvPTXCompilerCompile(h, 1, OPTIONS) == 0 && nvPTXCompilerGetCompiledProgramSize(h, size) == 0) {
        image = malloc(*size);
        nvPTXCompilerGetCompiledProgram(h, image);
    }
    nvPTXCompilerDestroy(&h);
    return image;
}

static void *alone[2];
static size_t sizes[2];

/* Null if it made the bytes that a thread alone makes. */
static void *compile_one(void *number) {
    int which = (int)(size_t)number % 2;
    size_t size = 0;
    void *image = compiled(10 * which, &size);
    int same = image && size == sizes[which] && memcmp(image, alone[which], size) == 0;
    free(image);
    return same ? NULL : number;
}

/* Compiles with the handle, or asks it what the last compile said. Null if that went well. */
static void *use_one(void *handle) {
    size_t size = 0;
    if (nvPTXCompilerCompile(handle, 1, OPTIONS) != 0) return handle;
    if (nvPTXCompilerGetInfoLogSize(handle, &size) != 0) return handle;
    return nvPTXCompilerGetCompiledProgramSize(handle, &size) == 0 && size ? NULL : handle;
}

/* Null if a wrong text is refused and its log can be read. */
static void *refuse_one(void *number) {
    const char *source = (size_t)number % 2 ? BAD : NEW;
    nvPTXCompilerHandle h = NULL;
    nvPTXCompilerCreate(&h, strlen(source), source);
    size_t size = 0;
    int refused = nvPTXCompilerCompile(h, 1, OPTIONS) != 0 && nvPTXCompilerGetErrorLogSize(h, &size) == 0 && size > 1;
    char *log = malloc(size + 1);
    refused = refused && nvPTXCompilerGetErrorLog(h, log) == 0 && strlen(log) == size - 1;
    free(log);
    nvPTXCompilerDestroy(&h);
    return refused ? NULL : number;
}

static int run(void *(*act)(void *), void *argument) {
    pthread_t threads[THREADS];
    int wrong = 0;
    for (size_t at = 0; at < THREADS; at++) pthread_create(&threads[at], NULL, act, argument ? argument : (void *)(at + 2));
    for (size_t at = 0; at < THREADS; at++) {
        void *result;
        pthread_join(threads[at], &result);
        wrong += result != NULL;
    }
    return wrong;
}

static atomic_int asked;

static int stop_later(void *payload, void *nothing) {
    (void)nothing;
    return atomic_fetch_add(&asked, 1) > *(int *)payload;
}

int main(int count, char **arguments) {
    (void)arguments;
    for (int which = 0; which < 2; which++) alone[which] = compiled(10 * which, &sizes[which]);
    printf("%d threads with a handle each: %d went wrong\n", THREADS, run(compile_one, NULL));
    nvPTXCompilerHandle h = NULL;
    nvPTXCompilerCreate(&h, strlen(GOOD), GOOD);
    if (count == 1) printf("%d threads with one handle: %d went wrong\n", THREADS, run(use_one, h));
    nvPTXCompilerDestroy(&h);
    printf("%d threads with wrong texts: %d went wrong\n", THREADS, run(refuse_one, NULL));
    char *source = text(LONG);
    int patience = 3;
    nvPTXCompilerCreate(&h, strlen(source), source);
    nvPTXCompilerSetFlowCallback(h, stop_later, &patience);
    printf("cancelled: %d\n", nvPTXCompilerCompile(h, 1, OPTIONS));
    nvPTXCompilerDestroy(&h);
    free(source);
    for (int which = 0; which < 2; which++) free(alone[which]);
    return 0;
}

/* Oriole behind the interface of the PTX compiler library: names, values and types are those that its callers know, the text
 * is Oriole's. Link with -loriole_c (shared), or with liboriole_c.a and -lpthread -ldl -lm.
 *
 * All functions may be called from any thread. */
#ifndef ORIOLE_NVPTXCOMPILER_H
#define ORIOLE_NVPTXCOMPILER_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A text to compile, with what the last compile of it gave. */
typedef struct nvPTXCompiler *nvPTXCompilerHandle;

typedef enum {
    NVPTXCOMPILE_SUCCESS = 0,
    NVPTXCOMPILE_ERROR_INVALID_COMPILER_HANDLE = 1,        /* the handle is NULL */
    NVPTXCOMPILE_ERROR_INVALID_INPUT = 2,                  /* a pointer is NULL that must not be, or a size is 0 */
    NVPTXCOMPILE_ERROR_COMPILATION_FAILURE = 3,            /* the error log says why */
    NVPTXCOMPILE_ERROR_INTERNAL = 4,                       /* a mistake of the compiler */
    NVPTXCOMPILE_ERROR_OUT_OF_MEMORY = 5,                  /* not given */
    NVPTXCOMPILE_ERROR_COMPILER_INVOCATION_INCOMPLETE = 6, /* there is no program */
    NVPTXCOMPILE_ERROR_UNSUPPORTED_PTX_VERSION = 7,        /* .version is newer than the compiler */
    NVPTXCOMPILE_ERROR_UNSUPPORTED_DEVSIDE_SYNC = 8,       /* not given */
    NVPTXCOMPILE_ERROR_CANCELLED = 9                       /* the callback gave 1 */
} nvPTXCompileResult;

/* The CUDA release whose options and messages these are. */
nvPTXCompileResult nvPTXCompilerGetVersion(unsigned int *major, unsigned int *minor);

/* The versions of PTX that are understood, {major, minor}, ascending. */
nvPTXCompileResult nvPTXCompilerGetNumSupportedVersions(int *numVersions);
nvPTXCompileResult nvPTXCompilerGetSupportedVersions(int (*versions)[2]);

/* Makes a handle for a text, which is copied; gives it back and makes it NULL. */
nvPTXCompileResult nvPTXCompilerCreate(nvPTXCompilerHandle *compiler, size_t ptxCodeLen, const char *ptxCode);
nvPTXCompileResult nvPTXCompilerDestroy(nvPTXCompilerHandle *compiler);

/* Compiles with ptxas's options: "-arch=sm_90", or "-arch" and "sm_90". May be called again. */
nvPTXCompileResult nvPTXCompilerCompile(nvPTXCompilerHandle compiler, int numCompileOptions,
                                        const char *const *compileOptions);

/* What the last compile made: a cubin. */
nvPTXCompileResult nvPTXCompilerGetCompiledProgramSize(nvPTXCompilerHandle compiler, size_t *binaryImageSize);
nvPTXCompileResult nvPTXCompilerGetCompiledProgram(nvPTXCompilerHandle compiler, void *binaryImage);

/* What the last compile said. Sizes count the NUL; an empty log has the size 0. */
nvPTXCompileResult nvPTXCompilerGetErrorLogSize(nvPTXCompilerHandle compiler, size_t *errorLogSize);
nvPTXCompileResult nvPTXCompilerGetErrorLog(nvPTXCompilerHandle compiler, char *errorLog);
nvPTXCompileResult nvPTXCompilerGetInfoLogSize(nvPTXCompilerHandle compiler, size_t *infoLogSize);
nvPTXCompileResult nvPTXCompilerGetInfoLog(nvPTXCompilerHandle compiler, char *infoLog);

/* A function that is asked while a compile runs, from any thread; the compile is cancelled if it gives 1. Its second argument
 * is NULL. */
nvPTXCompileResult nvPTXCompilerSetFlowCallback(nvPTXCompilerHandle compiler, int (*callback)(void *, void *), void *payload);

#ifdef __cplusplus
}
#endif

#endif

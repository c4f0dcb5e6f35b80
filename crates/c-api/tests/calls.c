/* Calls of the library as its users make them, and what each gives, as text. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nvPTXCompiler.h"
#include "texts.h"

/* Prints a log without the time that a compile took. */
static void print_log(const char *log) {
    const char *time = strstr(log, "Compile time = ");
    if (time) printf("%.*sCompile time = ...\n", (int)(time - log), log);
    else printf("%s", log);
}

static void tell_log(const char *name, nvPTXCompilerHandle h,
                     nvPTXCompileResult (*size_of)(nvPTXCompilerHandle, size_t *),
                     nvPTXCompileResult (*text_of)(nvPTXCompilerHandle, char *)) {
    size_t size = 0;
    int result = size_of(h, &size);
    char *text = malloc(size + 2);
    memset(text, '#', size + 2);
    printf("  %s: %d", name, result);
    printf(" %d", text_of(h, text));
    /* An empty log has the size 0, and its end is written all the same. */
    size_t end = size ? size : 1;
    printf(" %s, beyond it %s\n", text[end - 1] == 0 ? "ends" : "has no end", text[end] == '#' ? "nothing" : "WRITTEN");
    print_log(text);
    free(text);
}

static void tell(nvPTXCompilerHandle h) {
    size_t size = 0;
    int result = nvPTXCompilerGetCompiledProgramSize(h, &size);
    char *image = malloc(size + 1);
    image[size] = '#';
    printf("  program: %d", result);
    result = nvPTXCompilerGetCompiledProgram(h, image);
    printf(" %d%s\n", result, result == 0 && memcmp(image, "\177ELF", 4) == 0 && image[size] == '#' ? " an ELF file" : "");
    free(image);
    tell_log("errors", h, nvPTXCompilerGetErrorLogSize, nvPTXCompilerGetErrorLog);
    tell_log("information", h, nvPTXCompilerGetInfoLogSize, nvPTXCompilerGetInfoLog);
}

static void compile(const char *what, const char *text, size_t length, int count, const char *const *options) {
    nvPTXCompilerHandle h = NULL;
    printf("%s\n  create %d", what, nvPTXCompilerCreate(&h, length, text));
    printf(" compile %d\n", nvPTXCompilerCompile(h, count, options));
    if (h) tell(h);
    printf("  destroy %d", nvPTXCompilerDestroy(&h));
    printf(" %s\n", h ? "kept" : "null");
}

#define COMPILE(what, text, ...)                                                                  \
    do {                                                                                          \
        const char *options[] = {__VA_ARGS__};                                                    \
        compile(what, text, strlen(text), sizeof options / sizeof *options, options);             \
    } while (0)

/* A call that another file answers, and a pointer to a function there. */
static const char *OPEN = HEAD ".extern .func elsewhere();\n.visible .entry k() { call elsewhere; ret; }\n";
static const char *POINTER = HEAD ".extern .func elsewhere();\n.global .u64 pointer = elsewhere;\n.visible .entry k() { ret; }\n";

static int asked;

static int answer(void *payload, void *nothing) {
    if (nothing) printf("the second argument is not NULL\n");
    asked = 1;
    return *(int *)payload;
}

static void versions(void) {
    unsigned major, minor;
    int count;
    printf("version %d", nvPTXCompilerGetVersion(&major, &minor));
    printf(" %u.%u\n", major, minor);
    nvPTXCompilerGetNumSupportedVersions(&count);
    int(*all)[2] = malloc(count * sizeof *all);
    printf("versions of PTX: %d", nvPTXCompilerGetSupportedVersions(all));
    for (int at = 0; at < count; at++) printf(" %d.%d", all[at][0], all[at][1]);
    printf("\n");
    free(all);
}

static void nothing(void) {
    nvPTXCompilerHandle none = NULL, h = NULL;
    unsigned number;
    size_t size;
    char byte;
    printf("without a handle: %d %d %d %d %d %d %d %d\n", nvPTXCompilerCompile(none, 0, NULL),
           nvPTXCompilerDestroy(&none), nvPTXCompilerGetCompiledProgramSize(none, &size),
           nvPTXCompilerGetCompiledProgram(none, &byte), nvPTXCompilerGetErrorLogSize(none, &size),
           nvPTXCompilerGetErrorLog(none, &byte), nvPTXCompilerGetInfoLogSize(none, &size),
           nvPTXCompilerSetFlowCallback(none, answer, NULL));
    printf("without a text: %d %d\n", nvPTXCompilerCreate(&h, 5, NULL), nvPTXCompilerCreate(&h, 0, GOOD));
    nvPTXCompilerCreate(&h, strlen(GOOD), GOOD);
    printf("without a place: %d %d %d %d %d %d %d %d\n", nvPTXCompilerGetVersion(NULL, &number),
           nvPTXCompilerGetNumSupportedVersions(NULL), nvPTXCompilerGetSupportedVersions(NULL),
           nvPTXCompilerGetCompiledProgramSize(h, NULL), nvPTXCompilerGetErrorLogSize(h, NULL),
           nvPTXCompilerGetErrorLog(h, NULL), nvPTXCompilerGetInfoLog(h, NULL),
           nvPTXCompilerSetFlowCallback(h, NULL, NULL));
    printf("before a compile\n");
    tell(h);
    nvPTXCompilerDestroy(&h);
}

static void twice_and_cancelled(void) {
    const char *options[] = {"-arch=sm_90"};
    int no = 0, yes = 1;
    nvPTXCompilerHandle h = NULL;
    nvPTXCompilerCreate(&h, strlen(GOOD), GOOD);
    printf("twice: %d", nvPTXCompilerCompile(h, 1, options));
    printf(" %d\n", nvPTXCompilerCompile(h, 1, options));
    const char *wrong[] = {"-arch=sm_90", "-nosuch"};
    printf("and then wrong: %d\n", nvPTXCompilerCompile(h, 2, wrong));
    tell(h);
    printf("and right: %d\n", nvPTXCompilerCompile(h, 1, options));
    tell(h);
    printf("with a callback: %d", nvPTXCompilerSetFlowCallback(h, answer, &no));
    printf(" %d", nvPTXCompilerCompile(h, 1, options));
    printf(" %s\n", asked ? "asked" : "NOT ASKED");
    nvPTXCompilerSetFlowCallback(h, answer, &yes);
    printf("cancelled: %d\n", nvPTXCompilerCompile(h, 1, options));
    tell(h);
    nvPTXCompilerSetFlowCallback(h, answer, &no);
    printf("and not: %d\n", nvPTXCompilerCompile(h, 1, options));
    tell(h);
    nvPTXCompilerDestroy(&h);
}

int main(void) {
    versions();
    nothing();
    compile("no option", GOOD, strlen(GOOD), 0, NULL);
    COMPILE("a chip", GOOD, "-arch=sm_90");
    COMPILE("a chip in two words", GOOD, "-arch", "sm_90", "--opt-level", "2");
    const char *chip[] = {"--gpu-name=sm_90"};
    compile("a text with its zero byte", GOOD, strlen(GOOD) + 1, 1, chip);
    compile("a text that is cut off", GOOD, 100, 1, chip);
    COMPILE("resources", GOOD, "-arch=sm_90", "-v", "-O1");
    COMPILE("fewest registers", GOOD, "-arch=sm_90", "--warn-on-spills", "-maxrregcount=16", "-v");
    COMPILE("an unknown option", GOOD, "-arch=sm_90", "-nosuch");
    COMPILE("a family", GOOD, "--gpu-name=sm_100f", "-v");
    COMPILE("an unknown chip", GOOD, "-arch=sm_20");
    COMPILE("an older chip", GOOD, "-arch=sm_80");
    COMPILE("a virtual chip", GOOD, "-arch=compute_90");
    COMPILE("a wrong text", BAD, "-arch=sm_90");
    COMPILE("a wrong text for a virtual chip", BAD, "-arch=compute_90");
    COMPILE("open ends", OPEN, "-arch=sm_90");
    COMPILE("open ends of an extensible program", OPEN, "-arch=sm_90", "--extensible-whole-program", "-pic", "true");
    COMPILE("an address that nobody knows", POINTER, "-arch=sm_90", "-ewp");
    COMPILE("a newer text", NEW, "-arch=sm_90");
    COMPILE("an output", GOOD, "-arch=sm_90", "-o", "x.cubin");
    COMPILE("an input", GOOD, "-arch=sm_90", "x.ptx");
    COMPILE("options in a file", GOOD, "-arch=sm_90", "-optf", "nofile");
    COMPILE("an empty option", GOOD, "-arch=sm_90", "");
    twice_and_cancelled();
    return 0;
}

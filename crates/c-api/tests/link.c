/* Calls of the linking library as programs make them that give it one text of PTX, and what each gives, as text. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nvJitLink.h"
#include "texts.h"

static void tell_log(const char *name, nvJitLinkHandle h, nvJitLinkResult (*size_of)(nvJitLinkHandle, size_t *),
                     nvJitLinkResult (*text_of)(nvJitLinkHandle, char *)) {
    size_t size = 0;
    int result = size_of(h, &size);
    char *text = malloc(size + 2);
    memset(text, '#', size + 2);
    printf("  %s: %d", name, result);
    printf(" %d", text_of(h, text));
    size_t end = size ? size : 1;
    printf(" %s, beyond it %s\n", text[end - 1] == 0 ? "ends" : "has no end", text[end] == '#' ? "nothing" : "WRITTEN");
    text[end - 1] = 0;
    char *time = strstr(text, "Compile time = ");
    if (time) strcpy(time, "...\n");
    printf("%s%s", text, size > 1 && text[size - 2] != '\n' ? "|\n" : "");
    free(text);
}

static void tell(nvJitLinkHandle h) {
    size_t size = 0;
    int result = nvJitLinkGetLinkedCubinSize(h, &size);
    char *image = malloc(size + 1);
    image[size] = '#';
    printf("  cubin: %d", result);
    result = nvJitLinkGetLinkedCubin(h, image);
    printf(" %d%s\n", result, result == 0 && size && memcmp(image, "\177ELF", 4) == 0 && image[size] == '#' ? " an ELF file" : "");
    free(image);
    tell_log("errors", h, nvJitLinkGetErrorLogSize, nvJitLinkGetErrorLog);
    tell_log("information", h, nvJitLinkGetInfoLogSize, nvJitLinkGetInfoLog);
}

static void link_text(const char *what, const char *text, size_t length, nvJitLinkInputType type, int count,
                      const char **options) {
    nvJitLinkHandle h = NULL;
    printf("%s\n  create %d\n", what, nvJitLinkCreate(&h, count, options));
    if (!h) {
        printf("  no handle\n");
        return;
    }
    printf("  add %d", nvJitLinkAddData(h, type, text, length, "the name"));
    printf(" complete %d\n", nvJitLinkComplete(h));
    tell(h);
    printf("  destroy %d", nvJitLinkDestroy(&h));
    printf(" %s\n", h ? "kept" : "null");
}

#define LINK(what, text, ...)                                                                                 \
    do {                                                                                                      \
        const char *options[] = {__VA_ARGS__};                                                                \
        link_text(what, text, strlen(text), NVJITLINK_INPUT_PTX, sizeof options / sizeof *options, options);  \
    } while (0)

int main(void) {
    unsigned major, minor;
    printf("version %d", nvJitLinkVersion(&major, &minor));
    printf(" %u.%u\n", major, minor);
    const char *chip[] = {"-arch=sm_90"};
    link_text("no option", GOOD, strlen(GOOD), NVJITLINK_INPUT_PTX, 0, NULL);
    LINK("no chip", GOOD, "-O3");
    LINK("a chip", GOOD, "-arch=sm_90");
    LINK("a chip in two words", GOOD, "-arch", "sm_90");
    LINK("levels", GOOD, "-arch=sm_90", "-O0");
    LINK("another level", GOOD, "-arch=sm_90", "-O2");
    LINK("registers", GOOD, "-arch=sm_90", "-maxrregcount=32", "-fma=0", "-ftz=1", "-prec-div=0", "-prec-sqrt=0");
    LINK("an assembler's option", GOOD, "-arch=sm_90", "-Xptxas=-v", "-Xptxas=-O1");
    LINK("a wrong assembler's option", GOOD, "-arch=sm_90", "-Xptxas=-nosuch");
    LINK("lines", GOOD, "-arch=sm_90", "-lineinfo");
    LINK("threads", GOOD, "-arch=sm_90", "-split-compile=0", "-no-cache");
    LINK("an unknown option", GOOD, "-arch=sm_90", "-nosuch");
    LINK("a family", GOOD, "-arch=sm_100f");
    LINK("an unknown chip", GOOD, "-arch=sm_20");
    LINK("a chip that there is not", GOOD, "-arch=sm_999");
    LINK("another one", GOOD, "-arch=sm_91a");
    LINK("a number of too many digits", GOOD, "-arch=sm_1000");
    LINK("a variant that there is not", GOOD, "-arch=sm_90b");
    LINK("a chip that is none", GOOD, "-arch=foo");
    LINK("no number", GOOD, "-arch=sm_foo");
    LINK("no value", GOOD, "-arch=sm_90", "-maxrregcount=");
    LINK("a virtual chip that there is not", GOOD, "-arch=compute_999");
    LINK("a chip for LTO", GOOD, "-arch=lto_90");
    LINK("an old chip for LTO", GOOD, "-arch=lto_20");
    LINK("two chips", GOOD, "-arch=compute_90", "-arch=sm_90");
    LINK("another effort", GOOD, "-arch=sm_90", "-Ofc=none");
    LINK("too few registers", GOOD, "-arch=sm_90", "-maxrregcount=0");
    LINK("an older chip", GOOD, "-arch=sm_80");
    LINK("a virtual chip", GOOD, "-arch=compute_90");
    LINK("a wrong text", BAD, "-arch=sm_90");
    LINK("a newer text", NEW, "-arch=sm_90");
    LINK("LTO", GOOD, "-arch=sm_90", "-lto");
    link_text("a text with its zero byte", GOOD, strlen(GOOD) + 1, NVJITLINK_INPUT_PTX, 1, chip);
    link_text("any type", GOOD, strlen(GOOD), NVJITLINK_INPUT_ANY, 1, chip);
    link_text("a wrong type", GOOD, strlen(GOOD), NVJITLINK_INPUT_CUBIN, 1, chip);
    link_text("no type", GOOD, strlen(GOOD), NVJITLINK_INPUT_NONE, 1, chip);
    link_text("an empty text", GOOD, 0, NVJITLINK_INPUT_PTX, 1, chip);
    nvJitLinkHandle h = NULL;
    printf("nothing added: create %d", nvJitLinkCreate(&h, 1, chip));
    printf(" complete %d\n", nvJitLinkComplete(h));
    tell(h);
    nvJitLinkDestroy(&h);
    printf("not complete: create %d", nvJitLinkCreate(&h, 1, chip));
    printf(" add %d\n", nvJitLinkAddData(h, NVJITLINK_INPUT_PTX, GOOD, strlen(GOOD), NULL));
    tell(h);
    printf("a file that is not there: %d\n", nvJitLinkAddFile(h, NVJITLINK_INPUT_PTX, "nofile.ptx"));
    size_t size;
    printf("PTX of it: %d\n", nvJitLinkGetLinkedPtxSize(h, &size));
    nvJitLinkDestroy(&h);
    return 0;
}

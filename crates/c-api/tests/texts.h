/* The texts of PTX that the programs compile: a right one, a wrong one, one for a later compiler. */
#define HEAD ".version 8.0\n.target sm_90\n.address_size 64\n"

static const char *GOOD = HEAD
    ".visible .entry k(.param .u64 p)\n{\n    .reg .b32 %r<3>;\n    .reg .b64 %d<3>;\n    ld.param.u64 %d1, [p];\n"
    "    cvta.to.global.u64 %d2, %d1;\n    ld.global.u32 %r1, [%d2];\n    add.u32 %r2, %r1, 3;\n"
    "    st.global.u32 [%d2], %r2;\n    ret;\n}\n";
static const char *BAD = HEAD ".visible .entry k()\n{\n    .reg .b32 %r<3>;\n    frob.u32 %r1, %r2;\n    ret;\n}\n";
static const char *NEW = ".version 99.0\n.target sm_90\n.address_size 64\n.visible .entry k() { ret; }\n";

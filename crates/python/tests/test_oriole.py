"""The Python package as a user sees it: run it with the interpreter that the wheel is installed for."""

import subprocess
import threading
import time
import unittest

import oriole

KERNEL = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p)
{
    .reg .b32 %r<3>;
    .reg .b64 %d<3>;
    ld.param.u64 %d1, [p];
    cvta.to.global.u64 %d2, %d1;
    ld.global.u32 %r1, [%d2];
    add.u32 %r2, %r1, 3;
    st.global.u32 [%d2], %r2;
    ret;
}
"""


def long_kernel(instructions: int) -> str:
    body = "    mad.lo.u32 %r1, %r1, %r1, 7;\n    xor.b32 %r1, %r1, %r2;\n" * (instructions // 2)
    return KERNEL.replace("    add.u32", body + "    add.u32")


class Compile(unittest.TestCase):
    def test_a_kernel(self):
        result = oriole.compile(KERNEL)
        self.assertEqual(result.cubin[:4], b"\x7fELF")
        self.assertEqual([(f.name, f.is_kernel, f.spill_store_bytes) for f in result.functions], [("k", True, 0)])
        self.assertEqual(result.warnings, [])

    def test_options(self):
        plain = oriole.compile(KERNEL).cubin
        self.assertNotEqual(oriole.compile(KERNEL, "sm_120").cubin, plain)
        family = KERNEL.replace(".version 8.0", ".version 8.8").replace("sm_90", "sm_100f")
        self.assertEqual(oriole.compile(family, "sm_100f").cubin, oriole.compile(family).cubin)
        self.assertEqual(oriole.check(family, "sm_103f"), [])
        self.assertNotEqual(oriole.compile(long_kernel(20), level=0).cubin, oriole.compile(long_kernel(20)).cubin)
        self.assertEqual(oriole.compile(KERNEL, threads=4).cubin, plain)
        for wrong in [{"arch": "sm_1"}, {"level": 7}, {"knobs": {"nope": "1"}}, {"switches": ["nope"]}, {"threads": 0}]:
            with self.assertRaises(ValueError, msg=str(wrong)):
                oriole.compile(KERNEL, **wrong)

    def test_errors_have_places(self):
        with self.assertRaises(oriole.CompileError) as raised:
            oriole.compile(KERNEL.replace("add.u32", "add.u33"), name="wrong.ptx")
        found = raised.exception.diagnostics[0]
        self.assertEqual((found.line, found.code, found.severity), (11, "ptx::invalid-type", "error"))
        self.assertIn("wrong.ptx:11:8", str(raised.exception))
        self.assertEqual(oriole.check(KERNEL), [])
        self.assertEqual(len(oriole.check(KERNEL.replace("add.u32", "add.u33"))), 1)

    def test_other_threads_run_while_it_compiles(self):
        text = long_kernel(60_000)
        worker = threading.Thread(target=oriole.compile, args=(text,))
        steps = 0
        worker.start()
        while worker.is_alive():
            time.sleep(0.001)
            steps += 1
        self.assertGreater(steps, 20)


class Programs(unittest.TestCase):
    def test_they_are_there(self):
        try:
            ptxas, program = oriole.program("ptxas"), oriole.program("oriole")
        except FileNotFoundError:
            self.skipTest("the package was installed without its programs")
        said = subprocess.run([ptxas, "--version"], capture_output=True, text=True, check=True).stdout
        self.assertRegex(said, r"release (\d+\.\d+)")
        said = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
        self.assertTrue(said.startswith("oriole "))


if __name__ == "__main__":
    unittest.main()

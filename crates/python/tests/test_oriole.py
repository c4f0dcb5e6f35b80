"""The Python package as a user sees it: run it with the interpreter that the wheel is installed for."""

import array
import signal
import subprocess
import threading
import time
import unittest

import oriole

try:
    import numpy
except ImportError:
    numpy = None

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


SAXPY = """.version 8.0
.target sm_90
.address_size 64
.visible .entry saxpy(.param .f32 a, .param .u64 x, .param .u64 y, .param .u32 n)
{
    .reg .pred %p<2>;
    .reg .b32 %r<6>;
    .reg .f32 %f<5>;
    .reg .b64 %d<6>;
    ld.param.f32 %f1, [a];
    ld.param.u64 %d1, [x];
    ld.param.u64 %d2, [y];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.u32 %r5, %r2, %r3, %r4;
    setp.ge.u32 %p1, %r5, %r1;
    @%p1 ret;
    mul.wide.u32 %d3, %r5, 4;
    add.u64 %d4, %d1, %d3;
    add.u64 %d5, %d2, %d3;
    ld.global.f32 %f2, [%d4];
    ld.global.f32 %f3, [%d5];
    fma.rn.f32 %f4, %f1, %f2, %f3;
    st.global.f32 [%d5], %f4;
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


def floats(values):
    return array.array("f", values)


class Machines(unittest.TestCase):
    """A kernel against what Python computes, without a GPU."""

    def test_arrays_get_results(self):
        for code, options in [(SAXPY, {}), (SAXPY, {"on": "sim"}), (oriole.compile(SAXPY), {"late": True})]:
            x, y = floats(range(96)), floats([1.0] * 96)
            ran = oriole.run(code, "saxpy", 2.0, x, y, 90, grid=3, block=32, **options)
            expected = [2.0 * n + 1.0 for n in range(90)] + [1.0] * 6
            self.assertEqual((list(y), list(x)), (expected, [float(n) for n in range(96)]))
            self.assertGreater(ran.instructions, 0)
            self.assertEqual((ran.cycles > 0, ran.hazards, ran.output), (bool(options), [], []))

    def test_one_array_for_two_parameters(self):
        x = floats(range(8))
        oriole.run(SAXPY, "saxpy", 2, x, x, 8, block=8)
        self.assertEqual(list(x), [3.0 * n for n in range(8)])

    def test_read_only_arrays_stay(self):
        x = bytes(floats([1.0] * 3))
        oriole.run(SAXPY, "saxpy", 2.0, x, x, 3, block=4)
        self.assertEqual(x, bytes(floats([1.0] * 3)))

    def test_arguments_must_fit(self):
        x = floats([0.0] * 4)
        for error, arguments in [
            (TypeError, (2.0, x, x)),
            (TypeError, (x, x, x, 4)),
            (TypeError, (2.0, x, x, 1.5)),
            (TypeError, (2.0, x, [1.0], 4)),
            (ValueError, (2.0, x, x, 1 << 32)),
            (ValueError, (2.0, memoryview(x)[::2], x, 2)),
        ]:
            with self.assertRaises(error, msg=str(arguments)):
                oriole.run(SAXPY, "saxpy", *arguments)
        for wrong in [{"grid": 0}, {"block": (1, 1, 1, 1)}, {"on": "gpu"}]:
            with self.assertRaises(ValueError, msg=str(wrong)):
                oriole.run(SAXPY, "saxpy", 2.0, x, x, 4, **wrong)
        with self.assertRaises(ValueError):
            oriole.run(SAXPY, "nope")
        with self.assertRaises(ValueError):
            oriole.run(b"no cubin", "saxpy")
        with self.assertRaises(oriole.CompileError):
            oriole.run(SAXPY.replace("fma.rn", "fma.no"), "saxpy", 2.0, x, x, 4)

    def test_a_fault_has_its_place(self):
        x, y = floats([1.0] * 33), floats([0.0] * 33)
        for code in [SAXPY, oriole.compile(SAXPY)]:
            with self.assertRaises(oriole.Fault) as raised:
                oriole.run(code, "saxpy", 2.0, x, y, 40, grid=2, block=32)
            fault = raised.exception
            self.assertEqual((fault.block, fault.thread), ((1, 0, 0), (1, 0, 0)))
            self.assertEqual(fault.line, 23 if code is SAXPY else None)
        with self.assertRaises(oriole.Fault):
            oriole.run(SAXPY, "saxpy", 2.0, x, y, 33, block=33, step_limit=10)

    @unittest.skipIf(numpy is None, "numpy is not installed")
    def test_numpy(self):
        x, y = numpy.arange(64, dtype="f4"), numpy.ones((8, 8), "f4")
        oriole.run(SAXPY, "saxpy", numpy.float64(0.5), x, y, numpy.int64(64), block=64)
        self.assertTrue((y.ravel() == 0.5 * x + 1).all())
        with self.assertRaises(ValueError):
            oriole.run(SAXPY, "saxpy", 1.0, x[1:], x[:-1], 63, block=63)
        with self.assertRaises(ValueError):
            oriole.run(SAXPY, "saxpy", 1.0, x, y.T, 64, block=64)

    def test_a_listing(self):
        result = oriole.compile(SAXPY)
        listing = oriole.disassemble(result)
        self.assertTrue(listing.startswith("// saxpy registers "))
        self.assertIn(" FFMA ", listing)
        self.assertEqual(oriole.disassemble(result.cubin, "saxpy"), listing)
        with self.assertRaises(ValueError):
            oriole.disassemble(result, "nope")
        with self.assertRaises(ValueError):
            oriole.disassemble(b"no cubin")

    def test_checks(self):
        x, y = floats(range(64)), floats([1.0] * 64)
        sound = oriole.run(SAXPY, "saxpy", 2.0, x, y, 64, block=64, checks=["all"])
        self.assertEqual((sound.findings, sound.is_partial), ([], False))
        # All threads write one word.
        racing = KERNEL.replace("add.u32 %r2, %r1, 3", "mov.u32 %r2, %tid.x")
        ran = oriole.run(racing, "k", floats([0.0]), block=64, checks=["races", "bounds"])
        self.assertEqual({(found.code, found.severity) for found in ran.findings}, {("check::race", "error")})
        place = next(found for found in ran.findings if found.line == 12).places[0]
        self.assertEqual((place.text, place.block), ("st.global.u32 [%d2], %r2;", (0, 0, 0)))
        with self.assertRaises(oriole.Fault) as raised:
            oriole.run(SAXPY, "saxpy", 2.0, x, y, 65, block=65, checks=["bounds"])
        self.assertEqual([found.code for found in raised.exception.findings], ["check::out-of-bounds"])
        for wrong in [{"checks": ["rases"]}, {"checks": ["races"], "on": "sim"}]:
            with self.assertRaises(ValueError, msg=str(wrong)):
                oriole.run(SAXPY, "saxpy", 2.0, x, y, 64, block=64, **wrong)

    def test_a_profile(self):
        strided = SAXPY.replace("mul.wide.u32 %d3, %r5, 4", "mul.wide.u32 %d3, %r5, 128")
        x, y = floats([1.0] * 32 * 256), floats([2.0] * 32 * 256)
        found = oriole.profile(strided, "saxpy", 2.0, x, y, 256, grid=2, block=128, blocks=1056)
        self.assertEqual(set(y), {2.0}, "a profile changes no array")
        fault = found.findings[0]
        self.assertEqual((fault.kind, fault.code, fault.source), ("strided", "perf::strided-access", None))
        self.assertIn(fault.line, (23, 24, 27))
        self.assertTrue(0.05 < fault.share <= 1 and "32 sectors" in fault.message)
        load = next(line for line in found.lines if line.line == 23)
        self.assertEqual((load.sectors / load.requests, load.least_sectors / load.requests), (32, 4))
        self.assertTrue(str(found).startswith("saxpy: ") and found.cycles > 0 and found.warps[0] > 0)
        code = oriole.profile(oriole.compile(strided), "saxpy", 2.0, x, y, 256, grid=2, block=128, blocks=1056)
        self.assertEqual((code.findings[0].kind, code.findings[0].line), ("strided", None))
        self.assertIsNotNone(code.findings[0].address)
        with self.assertRaises(oriole.CompileError):
            oriole.profile(strided.replace("fma.rn", "fma.no"), "saxpy", 2.0, x, y, 4)
        with self.assertRaises(oriole.Fault):
            oriole.profile(strided, "saxpy", 2.0, x, y, 512, grid=4, block=128)

    @unittest.skipUnless(hasattr(signal, "setitimer"), "there are no such signals")
    def test_a_signal_ends_a_verification(self):
        class Late(Exception):
            pass

        def late(number, frame):
            raise Late

        endless = KERNEL.replace("ld.global.u32", "again: ld.volatile.global.u32").replace("ret;", "bra again;")
        before = signal.signal(signal.SIGALRM, late)
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.2)
            with self.assertRaises(Late):
                oriole.verify(endless, seeds=10000)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)

    def test_verdicts(self):
        [found] = oriole.verify(SAXPY, entry="saxpy")
        self.assertEqual((found.verdict, found.launches, found.line), ("same", 4, None))
        other = oriole.compile(SAXPY.replace("%f1, %f2, %f3", "%f1, %f2, %f2"))
        [found] = oriole.verify(SAXPY, other)
        self.assertEqual((found.verdict, found.line), ("different", 26))
        self.assertIn("PTX gives", found.message)
        with self.assertRaises(ValueError):
            oriole.verify(SAXPY, entry="nope")


class Sessions(unittest.TestCase):
    def test_edits_give_what_a_compile_gives(self):
        session = oriole.Session("sm_90a", max_registers=32)
        file = session.open("// \u00e4\u00f6 \U0001f600\n" + KERNEL)
        before = session.compile(file)
        start = session.text(file).index("3;\n    st")
        session.edit(file, start, start + 1, "70")
        after = session.compile(file)
        self.assertNotEqual(after.cubin, before.cubin)
        self.assertEqual(after.cubin, oriole.compile(session.text(file), "sm_90a", max_registers=32).cubin)
        session.replace(file, KERNEL.replace("add.u32", "add.u33"))
        with self.assertRaises(oriole.CompileError) as raised:
            session.compile(file, name="wrong.ptx")
        self.assertIn("wrong.ptx:11:8", str(raised.exception))
        session.close(file)
        with self.assertRaises(KeyError):
            session.compile(file)

    def test_a_change_cancels_a_compile(self):
        session = oriole.Session()
        file = session.open(long_kernel(60_000))
        ends = []

        def compiles():
            try:
                ends.append(session.compile(file).cubin)
            except RuntimeError as error:
                ends.append(str(error))

        worker = threading.Thread(target=compiles)
        worker.start()
        time.sleep(0.01)
        session.replace(file, KERNEL)
        worker.join()
        self.assertIn(ends[0], ["cancelled by a change of the session", oriole.compile(KERNEL).cubin])
        self.assertEqual(session.compile(file).cubin, oriole.compile(KERNEL).cubin)


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

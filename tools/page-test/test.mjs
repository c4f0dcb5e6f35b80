// Pages of `oriole view` and `oriole diff` in a real browser: what lights up, what the choosers and keys do, that nothing of the file is taken for
// markup, that nothing is loaded, that all but the phases is there without scripts, that a large kernel stays usable.
//
// node test.mjs PROGRAM [FOLDER FOR PICTURES]; the browser is the one in CHROMIUM, else `chromium` on the path.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { chromium } from "playwright-core";

const [program, pictures] = process.argv.slice(2);
const folder = mkdtempSync(path.join(tmpdir(), "oriole-page-"));
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM || execFileSync("sh", ["-c", "command -v chromium"], { encoding: "utf8" }).trim(),
  args: ["--no-sandbox"],
});

function page(name, text, ...options) {
  const source = path.join(folder, name + ".ptx");
  writeFileSync(source, text);
  execFileSync(path.resolve(program), ["view", source, "-o", path.join(folder, name + ".html"), ...options], { stdio: ["ignore", "ignore", "pipe"] });
  return "file://" + path.join(folder, name + ".html");
}

function difference(name, text, ...options) {
  const source = path.join(folder, name + ".ptx");
  writeFileSync(source, text);
  execFileSync(path.resolve(program), ["diff", source, "--html", path.join(folder, name + ".html"), ...options], { stdio: ["ignore", "ignore", "pipe"] });
  return "file://" + path.join(folder, name + ".html");
}

async function open(url, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1500, height: 1100 }, ...options });
  const tab = await context.newPage();
  tab.problems = [];
  tab.on("pageerror", error => tab.problems.push(String(error)));
  tab.on("console", message => { if (message.type() === "error") tab.problems.push(message.text()); });
  tab.on("request", request => { if (request.url() !== url.split("#")[0]) tab.problems.push("asks for " + request.url()); });
  await tab.goto(url);
  return tab;
}

const lit = (tab, pane, name = "lit") =>
  tab.$$eval(`section:not([hidden]) .rows.${pane} .r.${name}`, rows => rows.map(row => row.textContent));
const row = (tab, pane, text) => tab.locator(`section:not([hidden]) .rows.${pane} .r`, { hasText: text }).first();

const hostile = "</script><script>document.title = 'broken'</script><img src=x onerror=\"document.title='broken'\">";
const two = `// ${hostile}
.version 8.0
.target sm_90
.address_size 64
.visible .entry sum(.param .u64 p, .param .u32 n)
{
  // ${hostile}
  .reg .pred %q;
  .reg .b32 %r<5>;
  .reg .b64 %a<4>;
  ld.param.u64 %a1, [p];
  cvta.to.global.u64 %a2, %a1;
  ld.param.u32 %r1, [n];
  mov.u32 %r2, 0;
LOOP:
  ld.global.u32 %r3, [%a2];
  add.u32 %r2, %r2, %r3;
  add.u64 %a2, %a2, 4;
  sub.u32 %r1, %r1, 1;
  setp.ne.u32 %q, %r1, 0;
  @%q bra LOOP;
  st.global.u32 [%a2], %r2;
  ret;
}
.visible .entry _Z4zeroPi(.param .u64 p)
{
  .reg .b64 %a<2>;
  ld.param.u64 %a1, [p];
  st.global.u32 [%a1], 0;
  ret;
}
`;

const tests = {
  async "what belongs together lights up both ways"() {
    const tab = await open(page("two", two));
    await row(tab, "PTX", "ld.global.u32").hover();
    assert.match((await lit(tab, "SASS")).join(), /LDG/);
    assert.match((await lit(tab, "Ori")).join(), /LDG/);
    await row(tab, "SASS", "STG").hover();
    assert.match((await lit(tab, "PTX")).join(), /st\.global\.u32/);
    await row(tab, "Ori", "LDG").hover();
    assert.match((await lit(tab, "PTX")).join(), /ld\.global\.u32/);
    // A click keeps the light while the pointer goes on, Escape ends it.
    await row(tab, "PTX", "ld.global.u32").click();
    await row(tab, "SASS", "STG").hover();
    assert.match((await lit(tab, "SASS", "kept")).join(), /LDG/);
    assert.ok(await tab.locator(".node.lit").count() >= 1);
    await tab.keyboard.press("Escape");
    assert.deepEqual(await lit(tab, "SASS", "kept"), []);
    assert.deepEqual(tab.problems, []);
  },

  async "keys do what the mouse does"() {
    const tab = await open(page("two", two));
    await tab.keyboard.press("1");
    for (let step = 0; step < 40; step++) {
      if (/ld\.global/.test((await lit(tab, "PTX")).join())) break;
      await tab.keyboard.press("ArrowDown");
    }
    assert.match((await lit(tab, "SASS")).join(), /LDG/);
    await tab.keyboard.press("Enter");
    assert.match((await lit(tab, "SASS", "kept")).join(), /LDG/);
    const before = await tab.locator("select.phases").first().inputValue();
    await tab.keyboard.press("[");
    assert.equal(Number(await tab.locator("select.phases").first().inputValue()), before - 1);
    await tab.keyboard.press("j");
    assert.equal(await tab.locator("section:not([hidden]) h2").textContent(), "zero(int*)");
    await tab.keyboard.press("?");
    assert.ok(await tab.locator("#keys").isVisible());
    assert.deepEqual(tab.problems, []);
  },

  async "phases and kernels are chosen"() {
    const tab = await open(page("two", two));
    assert.match(await tab.locator("section:not([hidden]) .rows.Ori").textContent(), /EXIT/);
    await tab.locator("select.phases").first().selectOption("0");
    const raw = await tab.locator("section:not([hidden]) .rows.Ori").textContent();
    assert.match(raw, /LDG|LD/);
    assert.equal(await tab.locator("section:not([hidden]) .rows.Ori .r.new").count(), 0);
    await tab.locator("select.phases").first().selectOption("1");
    assert.ok(await tab.locator("section:not([hidden]) .rows.Ori .r.new").count() > 0);
    await tab.locator("#kernels").selectOption("1");
    assert.equal(await tab.locator("section:not([hidden])").count(), 1);
    assert.match(tab.url(), /#k1$/);
    await row(tab, "PTX", "st.global").hover();
    assert.match((await lit(tab, "SASS")).join(), /STG/);
    assert.deepEqual(tab.problems, []);
  },

  async "blocks and curves lead to the code"() {
    const tab = await open(page("two", two));
    const blocks = await tab.locator("section:not([hidden]) .node").count();
    assert.ok(blocks >= 3, `${blocks} blocks`);
    assert.ok(await tab.locator("section:not([hidden]) .edge.back").count() >= 1);
    await tab.locator("section:not([hidden]) .node.depth1").first().click();
    assert.match((await lit(tab, "SASS", "kept")).join(), /LDG/);
    await tab.locator("section:not([hidden]) .pressure").click({ position: { x: 300, y: 40 } });
    assert.equal(await tab.locator("section:not([hidden]) .rows.SASS .r.at").count(), 1);
    assert.equal(await tab.locator("section:not([hidden]) .timeline .cursor").evaluate(line => line.style.visibility), "visible");
    assert.deepEqual(tab.problems, []);
  },

  async "the text of the file is no markup"() {
    const tab = await open(page("two", two));
    assert.match(await tab.title(), /two\.ptx for sm_90/);
    assert.match(await tab.locator(".rows.PTX").first().textContent(), /<\/script><script>document\.title = 'broken'<\/script><img/);
    assert.equal(await tab.locator("img").count(), 0);
    assert.deepEqual(tab.problems, []);
  },

  async "all but the phases is there without scripts"() {
    const tab = await open(page("two", two), { javaScriptEnabled: false });
    for (const [pane, text] of [["PTX", "ld.global.u32"], ["Ori", "LDG"], ["SASS", "LDG"]]) {
      assert.ok(await row(tab, pane, text).isVisible(), pane);
    }
    assert.ok(await tab.locator(".graph .node").first().isVisible());
    assert.equal(await tab.locator("section.kernel").count(), 2);
    assert.ok(await tab.locator("section.kernel").nth(1).isVisible());
    assert.ok(!(await tab.locator("#theme").isVisible()));
  },

  async "two compiles beside each other"() {
    for (const javaScriptEnabled of [true, false]) {
      const tab = await open(difference("diff", two, "-O0", "--", "-O3"), { javaScriptEnabled });
      assert.equal(await tab.locator("section").count(), 2);
      assert.equal(await tab.locator("section h2", { hasText: "zero(int*)" }).count(), 1);
      assert.match(await tab.locator("section tbody").first().textContent(), /instructions/);
      // Both sides of a line stand beside each other, at the same height.
      const line = tab.locator("section .line.same", { hasText: "EXIT" }).first();
      const boxes = await line.locator("span").evaluateAll(spans => spans.map(span => span.getBoundingClientRect().toJSON()));
      assert.equal(boxes.length, 2);
      assert.ok(boxes[0].top === boxes[1].top && boxes[0].right <= boxes[1].left, JSON.stringify(boxes));
      assert.ok(await tab.locator("section .line.added, section .line.changed, section .line.removed").count() > 0);
      assert.deepEqual(tab.problems, []);
    }
  },

  async "lines that are the same are opened by a click"() {
    const text = two.replace("  st.global.u32 [%a2], %r2;", "  st.volatile.global.u32 [%a2], %r2;\n".repeat(30));
    const tab = await open(difference("opened", text, "-O2", "--", "-O3", "--maxrregcount", "16"));
    const stretch = tab.locator("details").first();
    assert.ok(!(await stretch.locator(".line").first().isVisible()));
    await stretch.locator("summary").click();
    assert.ok(await stretch.locator(".line").first().isVisible());
    assert.deepEqual(tab.problems, []);
  },

  async "light and dark"() {
    const url = page("two", two);
    const colour = async colorScheme => {
      const tab = await open(url, { colorScheme });
      const shown = await tab.evaluate(() => getComputedStyle(document.body).backgroundColor);
      await tab.locator("#theme").click();
      assert.equal(await tab.evaluate(() => document.documentElement.dataset.theme), "dark");
      return shown;
    };
    assert.notEqual(await colour("light"), await colour("dark"));
  },

  async "a kernel of ten thousand instructions stays usable"() {
    const lines = [".version 8.0", ".target sm_90", ".address_size 64", ".visible .entry large(.param .u64 p)", "{", "  .reg .b32 %r<64>;",
      "  .reg .b64 %a;", "  ld.param.u64 %a, [p];"];
    for (let at = 0; at < 32; at++) lines.push(`  ld.global.u32 %r${at}, [%a+${4 * at}];`);
    for (let at = 0; at < 10000; at++) lines.push(`  mad.lo.u32 %r${at % 32}, %r${(at * 7 + 3) % 32}, %r${(at * 5 + 1) % 32}, %r${(at * 11 + 2) % 32};`);
    for (let at = 0; at < 32; at++) lines.push(`  st.global.u32 [%a+${4 * at}], %r${at};`);
    lines.push("  ret;", "}");
    const url = page("large", lines.join("\n"));
    const start = performance.now();
    const tab = await open(url);
    const loaded = performance.now() - start;
    assert.ok(await tab.locator(".rows.SASS .r").count() > 10000);
    const step = await tab.evaluate(() => {
      const rows = document.querySelectorAll(".rows.PTX .r[data-l]");
      const start = performance.now();
      for (let at = 0; at < 20; at++) {
        rows[200 + at * 400].dispatchEvent(new MouseEvent("click", { bubbles: true }));
        document.body.offsetHeight;
      }
      return (performance.now() - start) / 20;
    });
    const phases = await tab.evaluate(() => {
      const chooser = document.querySelector("select.phases");
      const start = performance.now();
      chooser.value = "0";
      chooser.dispatchEvent(new Event("change"));
      document.body.offsetHeight;
      return performance.now() - start;
    });
    console.log(`  loaded in ${loaded.toFixed(0)} ms, a click ${step.toFixed(0)} ms, another phase ${phases.toFixed(0)} ms`);
    // Far more than a machine with nothing else to do needs.
    assert.ok(loaded < 15000 && step < 500 && phases < 5000);
    assert.deepEqual(tab.problems, []);
  },
};

let failed = 0;
for (const [name, test] of Object.entries(tests)) {
  try {
    await test();
    console.log(`ok: ${name}`);
  } catch (error) {
    failed++;
    console.log(`FAILED: ${name}\n${error.stack}`);
  }
}
if (pictures) {
  for (const colorScheme of ["light", "dark"]) {
    const tab = await open(page("two", two), { colorScheme });
    await row(tab, "PTX", "ld.global.u32").click();
    await tab.screenshot({ path: path.join(pictures, `page-${colorScheme}.png`), fullPage: true });
    const compared = await open(difference("diff", two, "-O0", "--", "-O3"), { colorScheme });
    await compared.screenshot({ path: path.join(pictures, `diff-${colorScheme}.png`), fullPage: true });
  }
}
await browser.close();
rmSync(folder, { recursive: true });
process.exit(failed ? 1 : 0);

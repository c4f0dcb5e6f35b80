// Which kernel is shown, its link, keys, and, where the page is served, the changes of the file. This part begins.
const chooser = byId("kernels"), state = byId("state");

// Says something about the whole page; nothing to say hides it.
function say(text, bad = false) {
  state.hidden = !text;
  state.textContent = text;
  state.classList.toggle("bad", bad);
}

// The link to what is kept, in the address.
function remember(key, row) {
  const link = new URLSearchParams({ kernel: file.kernels[now.number][0] });
  if (key?.line) link.set("line", key.line);
  else if (row >= 0) link.set("address", address(now.code.sass.addresses[row]));
  // A page inside of another program may have no address of its own.
  try { history.replaceState(null, "", "#" + link); } catch { /* there is no link then */ }
}

// A program that holds the page, such as an editor, hears of each line that is kept, and says which one to keep. What it asked for
// it does not hear again.
let asked = false;
function tell(key) {
  if (key.line && !asked) document.dispatchEvent(new CustomEvent("oriole:kept", { detail: { kernel: file.kernels[now.number][0], line: key.line } }));
}

document.addEventListener("oriole:keep", async event => {
  const { kernel, line } = event.detail, number = file ? file.kernels.findIndex(([name]) => name === kernel) : -1;
  if (number < 0) return;
  if (now?.number !== number) await choose(number);
  if (now?.number !== number) return;
  asked = true;
  try { goToLine(line); } finally { asked = false; }
});

// Shows a kernel. A newer choice wins.
let latest = 0;
async function choose(number, again = null) {
  if (number < 0 || number >= file.kernels.length) return;
  const turn = ++latest;
  chooser.value = String(number);
  try {
    const code = await part("code", number);
    if (turn !== latest) return;
    drawKernel(number, code);
    if (!again) { scrollTo(0, 0); remember(); }
    restore(again);
    if (!file.has_text) return;
    const ori = await part("ori", number);
    if (turn !== latest) return;
    showOri(ori, again?.phase);
    restore(again);
  } catch (error) {
    say(`This kernel cannot be shown: ${error.message}`, true);
  }
}

// The place of the reader: what the columns show, and what is kept.
function placeOfReader() {
  if (!now) return null;
  return { phase: now.ori?.phases[now.phase]?.name, at: now.lists.map(list => [list.name, list.at, list.rows.scrollTop, list.rows.scrollLeft]) };
}

function restore(place) {
  for (const [name, at, top, left] of place?.at || []) {
    const list = now.lists.find(one => one.name === name);
    if (!list) continue;
    if (at >= 0 && at < list.count && !now.kept) keep(list, at);
  }
  for (const [name, , top, left] of place?.at || []) {
    const list = now.lists.find(one => one.name === name);
    if (list) { list.rows.scrollTop = top; list.rows.scrollLeft = left; list.paint(); }
  }
}

// Goes where the address says.
async function follow() {
  const link = new URLSearchParams(location.hash.slice(1));
  const number = file.kernels.findIndex(([name]) => name === link.get("kernel"));
  if (number < 0 && link.get("kernel")) say(`There is no kernel ${link.get("kernel")}.`, true);
  const [line, at] = [Number(link.get("line")), link.get("address")];
  await choose(Math.max(number, 0));
  if (line) {
    const list = now.lists.find(one => one.name === "PTX"), index = now.code.text.lines.indexOf(line);
    if (list && index >= 0) goTo(list, index);
  } else if (at) {
    const list = now.lists.find(one => one.name === "SASS"), row = now.code.sass.addresses.indexOf(Number(at));
    for (let index = 0; row >= 0 && index < list.count; index++) if (list.rowAt(index) === row) { goTo(list, index); break; }
  }
}

// What the page says of the file.
function head() {
  document.title = `${file.file} for ${file.chip}`;
  byId("file").textContent = file.file;
  byId("about").textContent = [file.chip, file.options, file.other && `next to ${file.other}`, file.launch && `heat of ${file.launch}`].filter(Boolean).join(", ");
  byId("chooser").hidden = file.kernels.length < 2;
  chooser.replaceChildren(...file.kernels.map(([name, source], at) => make("option", { value: at, textContent: source || name })));
  byId("cycles").textContent = file.launch ? "Waits are those of the timing model's run of the launch; cycles of the column are estimates for one warp alone, straight through the code."
    : "Cycles are estimates for one warp alone, straight through the code.";
  const old = byId("diagnostics");
  const list = make("ul", { id: "diagnostics" }, ...file.diagnostics.map(([text, line, bad]) => make("li", { className: bad ? "bad" : "" },
    make("a", { href: "#", textContent: `line ${line}`, onclick: event => { event.preventDefault(); goToLine(line); } }), " " + text)));
  if (old) old.replaceWith(list); else document.querySelector("main").before(list);
}

function goToLine(line) {
  const list = now.lists.find(one => one.name === "PTX"), index = now.code.text.lines.indexOf(line);
  if (list && index >= 0) goTo(list, index);
}

// The listeners of a kernel that was just drawn.
function listen() {
  const { section, code } = now, { sass } = code;
  const sassColumn = now.lists.find(list => list.name === "SASS");
  const ofRow = row => { for (let at = 0; at < sassColumn.count; at++) if (sassColumn.rowAt(at) === row) return at; return -1; };
  for (const list of now.lists) {
    const rowOf = event => event.target.closest?.(".sheet > .r");
    list.rows.addEventListener("mouseover", event => {
      const row = rowOf(event);
      if (now.kept === null && row) light(litBy(keyOf(list, row.index), false));
    });
    list.rows.addEventListener("mouseleave", () => { if (now.kept === null) light(null); });
    list.rows.addEventListener("click", event => {
      const row = rowOf(event);
      if (!row || String(getSelection())) return;
      if (now.kept && list.at === row.index) { release(); list.step(row.index); } else keep(list, row.index);
    });
    list.rows.addEventListener("keydown", event => move(list, event));
  }
  // Rows of two codes that are next to each other stay so.
  const other = now.lists.find(list => list.name === "Other");
  if (other) for (const [one, two] of [[sassColumn, other], [other, sassColumn]]) one.rows.addEventListener("scroll", () => { two.rows.scrollTop = one.rows.scrollTop; });
  section.querySelector(".graph").addEventListener("click", event => {
    const node = event.target.closest(".node");
    if (!node) return;
    const block = Number(node.dataset.b), first = sass.blocks[block][0], end = block + 1 < sass.blocks.length ? sass.blocks[block + 1][0] : sass.texts.length;
    goTo(sassColumn, ofRow(first));
    now.kept = { lines: new Set(), places: new Set(), rows: new Set(Array.from({ length: end - first }, (_, more) => first + more)), kept: true };
    light(now.kept);
  });
  const part = (chart, event) => {
    const box = chart.getBoundingClientRect();
    return Math.min(Math.max(((event.clientX - box.left) / box.width * WIDTH - LEFT) / SPAN, 0), 1);
  };
  section.querySelector(".pressure").addEventListener("click", function (event) {
    goTo(sassColumn, ofRow(Math.min(Math.floor(part(this, event) * sass.texts.length), sass.texts.length - 1)));
  });
  section.querySelector(".timeline")?.addEventListener("click", function (event) {
    const cycle = part(this, event) * sass.span;
    goTo(sassColumn, ofRow(Math.max(sass.cycles.findLastIndex(one => one <= cycle), 0)));
  });
}

function move(list, event) {
  const at = list.at, last = list.count - 1;
  const page = Math.max(Math.floor(list.rows.clientHeight / ROW) - 2, 1);
  const moves = { ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + page, PageUp: at - page, Home: 0, End: last };
  if (event.key in moves && last >= 0 && !event.altKey && !event.ctrlKey) {
    const index = Math.min(Math.max(moves[event.key], 0), last);
    for (const other of now.lists) other.step(other === list ? index : -1);
    list.show(index);
    if (now.kept === null) light(litBy(keyOf(list, index), false));
    event.preventDefault();
  } else if (event.key === "Enter" && at >= 0) keep(list, at);
}

addEventListener("keydown", event => {
  if (event.ctrlKey || event.metaKey || event.altKey || /^(SELECT|INPUT)$/.test(event.target.tagName) || !now) return;
  const shown = now.lists.filter(list => !list.pane.hidden);
  if (event.key >= "1" && event.key <= "9") shown[event.key - 1]?.rows.focus();
  else if (event.key === "[") showPhase(now.phase - 1);
  else if (event.key === "]") showPhase(now.phase + 1);
  else if (event.key === "j") choose(now.number + 1);
  else if (event.key === "k") choose(now.number - 1);
  else if (event.key === "/") { search.focus(); search.select(); event.preventDefault(); }
  else if (event.key === "?") byId("keys").showModal();
  else if (event.key === "Escape") release();
});
byId("help").addEventListener("click", () => byId("keys").showModal());
byId("link").addEventListener("click", async event => {
  try { await navigator.clipboard.writeText(location.href); event.target.textContent = "copied"; } catch { event.target.textContent = "see the address"; }
  setTimeout(() => { event.target.textContent = "link"; }, 1500);
});
byId("theme").addEventListener("click", () => {
  const next = { "": "dark", dark: "light", light: "" }[root.dataset.theme || ""];
  if (next) root.dataset.theme = next; else delete root.dataset.theme;
});
chooser.addEventListener("change", () => choose(Number(chooser.value)));
addEventListener("hashchange", follow);

// Another state of the file: the same kernel, phase and rows, if they are there.
async function changed() {
  const name = now ? file.kernels[now.number][0] : null, reader = placeOfReader();
  await readFile();
  head();
  const number = file.kernels.findIndex(([known]) => known === name);
  await choose(Math.max(number, 0), number >= 0 ? reader : null);
}

// The program that serves the page says when the file has changed, and whether it compiles.
function listenToProgram() {
  let turn = Promise.resolve();
  const take = ({ revision: next, error }) => {
    turn = turn.then(async () => {
      if (next !== revision || !now) await changed();
      say(error ? `The file has changed and cannot be shown; this is the state before.\n${error}` : "", true);
    }).catch(error => say(String(error.message), true));
  };
  program.listen(take, () => say("The program that serves this page has ended, or cannot be reached.", true));
}

(async () => {
  await readFile();
  head();
  await follow();
  document.dispatchEvent(new CustomEvent("oriole:ready"));
})().catch(error => say(`This page cannot be shown: ${error.message}`, true)).then(() => { if (served) listenToProgram(); });

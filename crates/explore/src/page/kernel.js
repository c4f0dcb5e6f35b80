// A kernel: its resources, hot spots, columns and charts, and what belongs together in them. Which kernel is shown, and since when,
// is not known here.
let now = null;
const hidden = new Set();
const place = (number, line) => line > 0 ? number + ":" + line : null;

// Cycles of each row: those of the launch, else its stall and its wait, ten times for each loop that it is in.
function costs(code) {
  if (code.heat) return code.heat.waited;
  const { sass } = code, depth = new Uint8Array(sass.texts.length);
  sass.blocks.forEach(([first, deep], at) => depth.fill(deep, first, at + 1 < sass.blocks.length ? sass.blocks[at + 1][0] : depth.length));
  return sass.stalls.map((stall, row) => (stall + sass.waited[row]) * 10 ** depth[row]);
}

function summed(cost, key) {
  const sums = new Map();
  cost.forEach((cycles, row) => { const at = key(row); if (at) sums.set(at, (sums.get(at) || 0) + cycles); });
  return sums;
}

const greatest = values => { let most = 0; for (const value of values) most = Math.max(most, value); return most; };
const percent = (part, whole) => (100 * part / Math.max(whole, 1)).toFixed(1) + " %";

function heatCell(cycles, most, shown = cycles || "") {
  const cell = make("i", { className: "h", textContent: shown });
  if (cycles) cell.style.setProperty("--h", Math.round(60 * cycles / Math.max(most, 1)) + "%");
  return cell;
}

function kernelState(number, code) {
  const { sass, text } = code, cost = costs(code);
  const state = { number, code, cost, ori: null, phase: -1, lit: null, kept: null, lists: [],
    most: greatest(cost), total: cost.reduce((sum, one) => sum + one, 0),
    byLine: summed(cost, row => sass.lines[row]), byPlace: summed(cost, row => place(sass.files[row], sass.places[row])),
    why: new Map(sass.why), spills: new Set(sass.spills), starts: new Set(sass.blocks.map(block => block[0])),
    names: new Map(sass.functions), placeOf: new Map(text.lines.map((line, at) => [line, place(text.files[at], text.places[at])])), linesOf: new Map() };
  for (const [line, at] of state.placeOf) if (at) state.linesOf.set(at, [...(state.linesOf.get(at) || []), line]);
  return state;
}

// What is said of a row of the code, a line each.
function facts(row) {
  const { code, why } = now, { sass, heat } = code;
  const list = (why.get(row) || []).map(id => code.strings[id]);
  if (sass.waited[row] > 0) list.push(`waits about ${sass.waited[row]} cycles before it issues`);
  list.push(`stalls ${sass.stalls[row]} cycles`, `live: ${sass.general[row]} general, ${sass.uniform[row]} uniform, ${sass.predicates[row]} predicates`);
  if (heat) list.push(`issued ${heat.issued[row]} times, warps waited ${heat.waited[row]} cycles` + (code.strings[heat.why[row]] ? `: ${code.strings[heat.why[row]]}` : ""));
  return list;
}

// What lights up with a row: lines of the PTX, places in the source, rows of the code.
function litBy(key, kept) {
  const lines = new Set(key.line ? [key.line] : []), places = new Set();
  const at = key.place || now.placeOf.get(key.line);
  if (at) places.add(at);
  if (at && !key.line && file.has_text) for (const line of now.linesOf.get(at) || []) lines.add(line);
  return { lines, places, rows: key.rows || null, kept };
}

const rowIsLit = (row, lit) => {
  const { sass } = now.code;
  if (lit.rows) return lit.rows.has(row);
  return sass.lines[row] > 0 ? lit.lines.has(sass.lines[row]) : !file.has_text && lit.places.has(place(sass.files[row], sass.places[row]));
};

function keyOf(list, index) {
  const { code, ori } = now, { text, sass } = code;
  if (list.source) return { place: list.source + ":" + (index + 1) };
  if (list.name === "PTX") return { line: text.lines[index] };
  if (list.name === "Ori") return { line: ori.sources[ori.shown[index]] };
  const row = list.rowAt(index);
  if (row < 0) return {};
  return sass.lines[row] ? { line: sass.lines[row] } : file.has_text || !sass.places[row] ? { rows: new Set([row]) } : { place: place(sass.files[row], sass.places[row]) };
}

function light(lit) {
  now.lit = lit;
  for (const list of now.lists) list.light(lit);
  const blocks = new Set();
  if (lit) now.code.sass.blocks.forEach(([first], at, all) => {
    for (let row = first; row < (at + 1 < all.length ? all[at + 1][0] : now.code.sass.texts.length); row++) if (rowIsLit(row, lit)) { blocks.add(String(at)); break; }
  });
  for (const node of now.section.querySelectorAll(".node")) node.classList.toggle("lit", blocks.has(node.dataset.b));
}

// Keeps the light on a row, and brings what belongs to it into sight in the other columns.
function keep(list, index) {
  for (const other of now.lists) other.step(other === list ? index : -1);
  const key = keyOf(list, index);
  now.kept = litBy(key, true);
  light(now.kept);
  for (const other of now.lists) if (other !== list) other.show(other.firstLit(now.kept));
  const row = list.rowAt ? list.rowAt(index) : hottest(now.kept);
  explain(row);
  cursors(row);
  remember(key, row);
  tell(key);
}

// The row of the code with the most cycles among those that are lit; -1 if there is none.
function hottest(lit) {
  let best = -1;
  now.cost.forEach((cycles, row) => { if (rowIsLit(row, lit) && (best < 0 || cycles > now.cost[best])) best = row; });
  return best;
}

function explain(row) {
  const shown = now.section.querySelector(".facts");
  shown.textContent = row >= 0 ? rowText(now.code, row) + " — " + facts(row).join("; ") : "";
}

function release() {
  now.kept = null;
  light(null);
  explain(-1);
}

function goTo(list, index) {
  list.show(index);
  keep(list, index);
}

// Where a row of the code is in the curves.
function cursors(row) {
  const put = (chart, part) => {
    const line = chart?.querySelector(".cursor");
    if (!line) return;
    line.style.visibility = part === null ? "hidden" : "visible";
    if (part !== null) for (const end of ["x1", "x2"]) line.setAttribute(end, across(part));
  };
  const { sass } = now.code;
  put(now.section.querySelector(".pressure"), row < 0 ? null : (row + .5) / sass.texts.length);
  put(now.section.querySelector(".timeline"), row < 0 ? null : sass.cycles[row] / Math.max(sass.span, 1));
}

function sourceList([number, name, lines]) {
  const list = new List("Source", [["b", "", ""], ["i", "h", "cycles"], ["span", "", "source"]], name);
  list.source = number;
  const most = greatest(now.byPlace.values());
  list.set(lines.length, widest(lines.length, at => lines[at]), {
    draw: at => [make("b", { textContent: at + 1 }), heatCell(now.byPlace.get(number + ":" + (at + 1)), most), make("span", { textContent: lines[at] })],
    about: () => ({ classes: "" }), text: at => lines[at], isLit: (at, lit) => lit.places.has(number + ":" + (at + 1)),
  });
  return list;
}

function textList() {
  const { strings, text } = now.code, line = at => strings[text.texts[at]];
  const list = new List("PTX", [["b", "", ""], ["i", "h", "cycles"], ["span", "", "PTX"]], "PTX");
  const most = greatest(now.byLine.values());
  list.set(text.lines.length, widest(text.lines.length, line), {
    draw: at => [make("b", { textContent: text.lines[at] }), heatCell(now.byLine.get(text.lines[at]), most), styled(line(at), strings[text.styles[at]])],
    about: () => ({ classes: "" }), text: line, isLit: (at, lit) => lit.lines.has(text.lines[at]),
  });
  return list;
}

function sassList(name, columns, side) {
  const { strings, pairs, heat } = now.code, own = side === 0;
  const list = new List(name, [["b", "", "addr."], ["i", "h", heat ? "waits" : "heat"], ["i", "s", "cycle"], ["i", "p", "live"], ["i", "w", "boards"], ["span", "", "instruction"]],
    own ? "SASS" : file.other);
  const row = pairs ? at => pairs[side][at] - 1 : at => at;
  const text = at => row(at) < 0 ? "" : strings[columns.texts[row(at)]];
  const count = pairs ? pairs[0].length : columns.texts.length;
  const peak = Math.max(greatest(columns.general), 1);
  const changes = ["", "changed", "removed", "added"];
  list.rowAt = pairs ? at => at < 0 ? -1 : pairs[0][at] - 1 : at => at;
  list.set(count, widest(columns.texts.length, at => strings[columns.texts[at]]), {
    draw: at => {
      const index = row(at);
      if (index < 0) return [make("span", { className: "none" })];
      const live = make("i", { className: "p", textContent: columns.general[index] });
      live.style.setProperty("--p", Math.round(100 * columns.general[index] / peak) + "%");
      const name = columns.functions.find(([first]) => first === index);
      return [make("b", { textContent: address(columns.addresses[index]).slice(2) }), own ? heatCell(now.cost[index], now.most) : make("i", { className: "h" }),
        make("i", { className: columns.waited[index] > 0 ? "s waits" : "s", textContent: columns.cycles ? columns.cycles[index] : "" }), live,
        make("i", { className: "w", textContent: strings[columns.boards[index]] }),
        make("span", {}, name ? make("em", { textContent: name[1] + ": " }) : null, text(at))];
    },
    about: at => {
      const index = row(at);
      const first = index >= 0 && (own ? now.starts.has(index) : columns.blocks.some(block => block[0] === index));
      return { classes: [first ? "first" : "", own && now.spills.has(index) ? "spill" : "", pairs ? changes[pairs[2][at]] : ""].join(" "),
        title: own && index >= 0 ? facts(index).join("\n") : "" };
    },
    text: at => { const name = columns.functions.find(([first]) => first === row(at)); return (name ? name[1] + ": " : "") + text(at); },
    isLit: (at, lit) => list.rowAt(at) >= 0 && rowIsLit(list.rowAt(at), lit),
  });
  return list;
}

// Shows the Ori after a phase.
function showPhase(number) {
  const { ori } = now, list = now.lists.find(one => one.name === "Ori");
  if (!ori || number < 0 || number >= ori.phases.length) return;
  now.phase = number;
  ori.shown = linesOf(ori.phases[number]);
  const before = number > 0 ? new Set(linesOf(ori.phases[number - 1])) : null;
  const line = at => ori.lines[ori.shown[at]];
  list.set(ori.shown.length, widest(ori.lines.length, at => ori.lines[at]), {
    draw: at => [make("span", { textContent: line(at) })],
    about: at => ({ classes: (before && !before.has(ori.shown[at]) ? "new" : "") + (ori.sources[ori.shown[at]] ? "" : " no-line") }),
    text: line, isLit: (at, lit) => lit.lines.has(ori.sources[ori.shown[at]]),
  });
  list.chooser.value = String(number);
  list.chooser.title = ori.phases[number].doc;
  list.light(now.lit);
}

function oriList() {
  const list = new List("Ori", [["span", "", "Ori"]], "Ori");
  list.set(0, 0, { isLit: () => false, text: () => "", about: () => ({ classes: "" }), draw: () => [] });
  list.chooser = make("select", { className: "phases", ariaLabel: "after phase" });
  list.chooser.addEventListener("change", () => showPhase(Number(list.chooser.value)));
  list.title.append(list.chooser);
  return list;
}

function showOri(ori, wanted) {
  const list = now.lists.find(one => one.name === "Ori");
  now.ori = { ...ori, shown: [] };
  list.chooser.replaceChildren(...ori.phases.map((phase, at) => make("option", { value: at, textContent: phase.name, title: phase.doc })));
  const known = ori.phases.findIndex(phase => phase.name === wanted);
  showPhase(known >= 0 ? known : ori.phases.length - 1);
}

function hotSpots() {
  const { code, byLine, byPlace, cost, total } = now, { strings, text, sass } = code;
  const list = name => now.lists.find(one => one.name === name);
  let spots;
  if (byLine.size) spots = [...byLine].map(([line, cycles]) => {
    const at = text.lines.indexOf(line);
    return { cycles, where: "line " + line, what: at >= 0 ? strings[text.texts[at]].trim() : "", go: () => goTo(list("PTX"), at), at };
  }).filter(spot => spot.at >= 0);
  else spots = cost.map((cycles, row) => ({ cycles, where: address(sass.addresses[row]), what: strings[sass.texts[row]],
    go: () => { for (let at = 0; at < list("SASS").count; at++) if (list("SASS").rowAt(at) === row) return goTo(list("SASS"), at); } }));
  spots = spots.filter(spot => spot.cycles > 0).sort((one, other) => other.cycles - one.cycles).slice(0, 8);
  const entry = spot => make("li", {}, make("button", { type: "button", onclick: spot.go },
    make("b", { textContent: percent(spot.cycles, total) }), ` ${spot.where} `, make("code", { textContent: spot.what })));
  const about = code.heat ? `Cycles that warps waited in ${file.launch}` : "Stalls and waits, each loop ten times";
  return make("details", { className: "hot", open: true }, make("summary", {}, "Hot spots ", make("span", { className: "hint", textContent: about })), make("ol", {}, ...spots.map(entry)));
}

function figure(caption, keys, chart, kind = "") {
  return make("figure", { className: kind }, make("figcaption", {}, caption, ...keys.map(([name, text]) => make("span", { className: name, textContent: text }))), chart);
}

function figures() {
  const { code } = now, { sass } = code;
  const step = nextStep(code.occupancy);
  const list = [figure("Live registers ", [["key general", "general"], ["key uniform", "uniform"], ["key limit", "given to the kernel"]], pressureChart(sass))];
  if (sass.span !== null) list.push(figure("What issues when ", [["key issue", "instructions by unit"], ["key wait", "waits for scoreboards"]], timelineChart(sass, file.units)));
  list.push(figure("Warps of an SM over registers of a thread", step ? [["hint", `with ${step[0]} registers it would be ${step[1]} warps`]] : [], occupancyChart(code.occupancy)));
  const scroll = make("div", { className: "scroll", tabIndex: 0 }, flowChart(code));
  list.push(figure(`Control flow: ${sass.blocks.length} blocks; the bar is the share of cycles, the colour the depth of loops`,
    code.graph.in_layers ? [] : [["hint", "too large for layers, drawn in the order of the code"]], scroll, "flow"));
  return make("div", { className: "figures" }, ...list);
}

// Shows and hides columns.
function toggles() {
  const toggle = list => make("button", { type: "button", textContent: list.title.firstChild.textContent, ariaPressed: String(!list.pane.hidden), onclick: event => {
    list.pane.hidden = !list.pane.hidden;
    if (list.pane.hidden) hidden.add(list.name); else hidden.delete(list.name);
    event.target.ariaPressed = String(!list.pane.hidden);
    spread();
    list.paint();
  } });
  return make("div", { className: "toggles", role: "group", ariaLabel: "Columns" }, ...now.lists.map(toggle));
}

function spread() {
  const shown = now.lists.filter(list => !list.pane.hidden);
  now.section.querySelector(".panes").style.setProperty("--columns", shown.map(list => list.rowAt ? "minmax(0, 1.35fr)" : "minmax(0, 1fr)").join(" ") || "1fr");
}

// Draws a kernel. The section is in the document when its columns are filled, so that they know their height.
function drawKernel(number, code) {
  now = kernelState(number, code);
  const card = ([name, value, bad]) => make("div", { className: bad ? "card bad" : "card" }, make("dt", { textContent: name }), make("dd", { textContent: value }));
  const sources = file.sources.filter(([number, , lines]) => lines.length && [...now.byPlace.keys(), ...now.linesOf.keys()].some(at => at.startsWith(number + ":")));
  now.lists = [...sources.map(sourceList), ...(file.has_text ? [textList(), oriList()] : []), sassList("SASS", code.sass, 0), ...(code.other ? [sassList("Other", code.other, 1)] : [])];
  for (const list of now.lists) list.pane.hidden = hidden.has(list.name);
  const panes = make("div", { className: "panes" }, ...now.lists.map(list => list.pane));
  now.section = make("section", { className: "kernel" },
    make("h2", { textContent: code.source || code.name }), code.source ? make("p", { className: "symbol", textContent: code.name }) : null,
    make("dl", { className: "cards" }, ...code.cards.map(card)),
    code.why.length ? make("ul", { className: "why" }, ...code.why.map(reason => make("li", { textContent: reason }))) : null,
    hotSpots(), toggles(), make("p", { className: "facts", ariaLive: "polite" }), panes, figures());
  if (file.other && !code.other) now.section.insertBefore(make("p", { className: "hint", textContent: `${file.other} has no kernel of this name.` }), panes);
  document.querySelector("main").replaceChildren(now.section);
  spread();
  for (const list of now.lists) list.paint();
  // The entry of a wide graph in sight.
  const scroll = now.section.querySelector(".scroll"), entry = scroll.querySelector(".node");
  if (entry) scroll.scrollLeft += entry.getBoundingClientRect().left - scroll.getBoundingClientRect().left - scroll.clientWidth / 2 + 84;
  listen();

}

// Charts of a kernel: live registers along the code, issues by unit, occupancy over registers, control flow. Each has no more points
// than columns of pixels.
const [LEFT, SPAN, WIDTH] = [50, 580, 640];

function shape(name, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}
const label = (x, y, text, kind = "") => shape("text", { x, y, class: kind }, String(text));
const across = part => (LEFT + SPAN * part).toFixed(1);

// At most about `count` round marks up to `most`.
function ticks(most, count) {
  let step = 1;
  while (most / step > count) step *= 2;
  return Array.from({ length: Math.floor(most / step) + 1 }, (_, at) => at * step);
}

function pressureChart(sass) {
  const [top, base, count] = [14, 150, sass.texts.length];
  const peak = sass.general.reduce((most, one) => Math.max(most, one), 0);
  const most = Math.max(sass.registers, peak, 8);
  const height = value => (base - (base - top) * value / most).toFixed(1);
  const columns = Math.min(Math.max(count, 1), SPAN);
  const curve = values => {
    let path = `M${LEFT} ${base}`;
    for (let column = 0; column < columns; column++) {
      let value = 0;
      for (let row = Math.floor(column * count / columns); row < Math.floor((column + 1) * count / columns); row++) value = Math.max(value, values[row]);
      path += `L${across(column / columns)} ${height(value)}H${across((column + 1) / columns)}`;
    }
    return path + `V${base}Z`;
  };
  const chart = shape("svg", { class: "chart pressure", viewBox: `0 0 ${WIDTH} 180`, role: "img",
    "aria-label": `Live registers along the code: at most ${peak} of ${sass.registers}` });
  for (const mark of ticks(most, 4)) chart.append(
    shape("line", { class: "grid", x1: LEFT, x2: LEFT + SPAN, y1: height(mark), y2: height(mark) }), label(LEFT - 6, Number(height(mark)) + 4, mark, "end"));
  chart.append(
    shape("path", { class: "general", d: curve(sass.general) }), shape("path", { class: "uniform", d: curve(sass.uniform) }),
    shape("line", { class: "limit", x1: LEFT, x2: LEFT + SPAN, y1: height(sass.registers), y2: height(sass.registers) }),
    shape("circle", { class: "peak", cx: across((sass.general.indexOf(peak) + .5) / Math.max(count, 1)), cy: height(peak), r: 4 }),
    label(LEFT, 172, "start of the code"), label(LEFT + SPAN, 172, "end", "end"),
    shape("line", { class: "cursor", y1: top, y2: base }));
  return chart;
}

function timelineChart(sass, units) {
  const lane = 20, span = Math.max(sass.span, 1), count = sass.texts.length;
  const used = units.map((_, at) => at + 1).filter(unit => sass.units.includes(unit));
  const column = cycle => Math.min(Math.floor(cycle / span * SPAN), SPAN);
  // Used columns as stretches.
  const stretches = of => {
    const filled = new Uint8Array(SPAN + 1);
    for (let row = 0; row < count; row++) {
      const time = of(row);
      if (time) filled.fill(1, column(time[0]), column(Math.max(time[1] - 1, time[0])) + 1);
    }
    let path = "";
    for (let at = 0; at < SPAN; at++) {
      let end = at;
      while (end < SPAN && filled[end]) end++;
      if (end > at) path += `M${across(at / SPAN)} 0h${end - at}v12h-${end - at}z`;
      at = end;
    }
    return path;
  };
  const height = lane * (used.length + 1);
  const waited = sass.waited.reduce((sum, one) => sum + one, 0);
  const chart = shape("svg", { class: "chart timeline", viewBox: `0 0 ${WIDTH} ${height + 24}`, role: "img",
    "aria-label": `What issues when: ${span} cycles, ${waited} of them waiting for scoreboards` });
  const line = (at, name, kind, path) => chart.append(shape("g", { transform: `translate(0 ${lane * at + 4})` },
    shape("rect", { class: "lane", x: LEFT, y: 0, width: SPAN, height: 12 }), shape("path", { class: kind, d: path }), label(LEFT - 6, 10, name, "end")));
  used.forEach((unit, at) => line(at, units[unit - 1], "issue",
    stretches(row => sass.units[row] === unit ? [sass.cycles[row], sass.cycles[row] + 1] : null)));
  line(used.length, "waits", "wait", stretches(row => sass.waited[row] > 0 ? [sass.cycles[row] - sass.waited[row], sass.cycles[row]] : null));
  chart.append(label(LEFT, height + 18, "cycle 0"), label(LEFT + SPAN, height + 18, span, "end"), shape("line", { class: "cursor", y1: 2, y2: height }));
  return chart;
}

function occupancyChart(occupancy) {
  const [top, base] = [14, 170];
  const { registers, warps, most, steps, registers_at_most: count } = occupancy;
  const height = value => Number((base - (base - top) * value / Math.max(most, 1)).toFixed(1));
  let path = "";
  for (const [from, value] of steps) path += path ? `H${across((from - 1) / count)}V${height(value)}` : `M${across((from - 1) / count)} ${height(value)}`;
  const point = Number(across((registers - .5) / count));
  const right = point > LEFT + SPAN / 2;
  const above = height(warps) - 9 < top + 4 ? height(warps) + 22 : height(warps) - 9;
  const chart = shape("svg", { class: "chart occupancy", viewBox: `0 0 ${WIDTH} 200`, role: "img",
    "aria-label": `Warps of an SM over registers of a thread: ${warps} of ${most} at ${registers}` });
  for (const mark of ticks(most, 4)) chart.append(
    shape("line", { class: "grid", x1: LEFT, x2: LEFT + SPAN, y1: height(mark), y2: height(mark) }), label(LEFT - 6, height(mark) + 4, mark, "end"));
  for (const mark of ticks(count, 8)) chart.append(label(across(mark / count), 190, mark, "middle"));
  chart.append(shape("path", { class: "curve", d: path + `H${LEFT + SPAN}` }),
    shape("line", { class: "limit", x1: point, x2: point, y1: top, y2: base }), shape("circle", { class: "peak", cx: point, cy: height(warps), r: 5 }),
    label(point + (right ? -10 : 10), above, `${registers} registers: ${warps} of ${most} warps`, "label " + (right ? "end" : "start")));
  return chart;
}

// The next smaller number of registers with more warps, and that number of warps.
function nextStep({ registers, steps }) {
  const at = steps.findLastIndex(([from]) => from <= registers);
  for (let step = at - 1; step >= 0; step--) if (steps[step][1] > steps[at][1]) return [steps[step + 1][0] - 1, steps[step][1]];
  return null;
}

function flowChart(code) {
  const { graph, sass } = code, [wide, high] = graph.block;
  const end = block => block + 1 < sass.blocks.length ? sass.blocks[block + 1][0] : sass.texts.length;
  const longest = sass.blocks.reduce((most, block) => Math.max(most, block[2]), 1);
  const chart = shape("svg", { class: "graph", width: graph.size[0], height: graph.size[1], viewBox: `0 0 ${graph.size[0]} ${graph.size[1]}`,
    role: "img", "aria-label": `Control-flow graph of ${sass.blocks.length} blocks` },
    shape("defs", {}, shape("marker", { id: "head", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" },
      shape("path", { d: "M0 0L8 4L0 8z" }))));
  graph.paths.forEach((path, at) => {
    const [from, to] = [graph.edges[2 * at], graph.edges[2 * at + 1]];
    const back = sass.blocks[to][0] <= sass.blocks[from][0] ? " back" : "";
    chart.append(shape("path", { class: "edge" + back, d: path, "marker-end": "url(#head)" }));
  });
  sass.blocks.forEach(([first, depth, cycles], at) => {
    const rows = Array.from({ length: Math.min(end(at) - first, 12) }, (_, more) => rowText(code, first + more));
    if (end(at) - first > 12) rows.push(`and ${end(at) - first - 12} more`);
    if (depth > 0) rows.push(depth === 1 ? "in 1 loop" : `in ${depth} loops`);
    const node = shape("g", { class: `node depth${Math.min(depth, 3)}`, "data-b": at, transform: `translate(${graph.corners[2 * at]} ${graph.corners[2 * at + 1]})` },
      shape("title", {}, rows.join("\n")), shape("rect", { class: "box", width: wide, height: high, rx: 5 }),
      shape("rect", { class: "share", y: high - 5, height: 5, width: Math.round(wide * cycles / longest) }),
      label(8, 16, `B${at}  ${address(sass.addresses[first] || 0)}`), label(8, 32, `${end(at) - first} instr., ${cycles} cycles`, "small"));
    const inner = sass.functions.find(([row]) => row === first);
    if (inner) node.append(label(0, -4, inner[1].slice(0, 26), "small"));
    chart.append(node);
  });
  return chart;
}

const address = value => "0x" + value.toString(16).padStart(4, "0");
const rowText = (code, row) => `${address(code.sass.addresses[row]).slice(2)}  ${code.strings[code.sass.texts[row]]}`;

// Lights, choosers and keys of the page. It changes what is shown and never what is told; without it all of the page is there
// but the phases before the last one.
"use strict";
(() => {
  const root = document.documentElement;
  root.classList.add("scripted");
  const sections = [...document.querySelectorAll("section.kernel")];
  const chooser = document.getElementById("kernels");
  const columns = ["PTX", "Ori", "SASS"];
  // Where curves begin, how wide they are, and the width of a drawing, in its units.
  const [LEFT, SPAN, WIDTH] = [50, 580, 640];
  const pages = sections.map(section => ({
    section,
    panes: columns.map(name => section.querySelector(".rows." + name)),
    phases: section.querySelector("select.phases"),
    history: null, byLine: new Map(), lit: [], kept: null, at: null,
  }));
  let current = 0;

  // Rows of a kernel by the line of PTX that they stem from.
  function index(page) {
    page.byLine = new Map();
    for (const row of page.section.querySelectorAll(".r[data-l]")) {
      const list = page.byLine.get(row.dataset.l);
      if (list) list.push(row); else page.byLine.set(row.dataset.l, [row]);
    }
  }

  function light(page, rows, blocks, name) {
    for (const item of page.lit) item.classList.remove("lit", "kept");
    page.lit = [...rows];
    for (const block of blocks) {
      const node = page.section.querySelector(`.node[data-b="${block}"]`);
      if (node) page.lit.push(node);
    }
    for (const item of page.lit) item.classList.add(item.classList.contains("node") ? "lit" : name);
  }

  function lightLine(page, line, name) {
    const rows = page.byLine.get(line) || [];
    light(page, rows, new Set(rows.map(row => row.dataset.b).filter(block => block !== undefined)), name);
    return rows;
  }

  const again = page => page.kept === null ? light(page, [], [], "lit") : lightLine(page, page.kept, "kept");

  function show(pane, row) {
    const top = row.getBoundingClientRect().top - pane.getBoundingClientRect().top;
    if (top < 40 || top > pane.clientHeight - 40) pane.scrollTop += top - pane.clientHeight / 3;
  }

  function keep(page, row) {
    page.kept = row.dataset.l ?? null;
    const own = row.closest(".rows");
    const rows = page.kept === null ? [] : lightLine(page, page.kept, "kept");
    for (const pane of page.panes) {
      const first = pane !== own && rows.find(other => pane.contains(other));
      if (first) show(pane, first);
    }
    cursors(page, row);
  }

  // Where a row of the code is in the curves.
  function cursors(page, row) {
    const all = page.rows ||= [...page.panes[2].querySelectorAll(".r")];
    const at = all.indexOf(row);
    const put = (chart, part) => {
      const line = chart && chart.querySelector(".cursor");
      if (!line) return;
      line.style.visibility = part === null ? "hidden" : "visible";
      if (part !== null) for (const end of ["x1", "x2"]) line.setAttribute(end, LEFT + SPAN * part);
    };
    const timeline = page.section.querySelector(".timeline");
    const cycle = at >= 0 ? Number(row.querySelector(".s").textContent) : 0;
    put(page.section.querySelector(".pressure"), at < 0 ? null : (at + .5) / all.length);
    put(timeline, at < 0 ? null : cycle / Number(timeline?.dataset.span));
  }

  function goTo(page, row) {
    if (!row) return;
    show(page.panes[2], row);
    step(page, row);
    if (row.dataset.l !== undefined) keep(page, row); else { page.kept = null; light(page, [row], [], "kept"); cursors(page, row); }
  }

  function step(page, row) {
    if (page.at) page.at.classList.remove("at");
    page.at = row;
    row.classList.add("at");
  }

  // The phases: each line is there once, a phase is a list of stretches of lines.
  function read(page) {
    return page.history ||= JSON.parse(page.section.querySelector("script.history").textContent);
  }

  function ids(stretches) {
    const all = [];
    for (let at = 0; at < stretches.length; at += 2) for (let more = 0; more < stretches[at + 1]; more++) all.push(stretches[at] + more);
    return all;
  }

  function phase(page, number) {
    const history = read(page);
    const before = number > 0 ? new Set(ids(history.phases[number - 1].lines)) : null;
    const pane = page.panes[1];
    const scroll = pane.scrollTop;
    const made = document.createDocumentFragment();
    let chunk = null;
    ids(history.phases[number].lines).forEach((id, at) => {
      if (at % 64 === 0) {
        chunk = document.createElement("div");
        chunk.className = "chunk";
        made.append(chunk);
      }
      const row = document.createElement("div"), text = document.createElement("span");
      row.className = before && !before.has(id) ? "r new" : "r";
      if (history.sources[id]) row.dataset.l = history.sources[id];
      text.textContent = history.lines[id];
      row.append(text);
      chunk.append(row);
    });
    for (const chunk of made.children) chunk.style.containIntrinsicHeight = chunk.children.length * 20 + "px";
    pane.replaceChildren(made);
    pane.scrollTop = scroll;
    page.phases.title = history.phases[number].doc;
    index(page);
    again(page);
  }

  function choose(number) {
    if (number < 0 || number >= pages.length) return;
    current = number;
    pages.forEach((page, at) => { page.section.hidden = at !== number; });
    if (chooser) chooser.value = String(number);
    scrollTo(0, 0);
    if (pages[number].byLine.size === 0) index(pages[number]);
    if (pages.length > 1) history.replaceState(null, "", "#k" + number);
    // The entry of a wide graph in sight.
    const [scroll, entry] = [".scroll", ".node"].map(part => pages[number].section.querySelector(part));
    if (entry && !pages[number].seen) {
      pages[number].seen = true;
      scroll.scrollLeft += entry.getBoundingClientRect().left - scroll.getBoundingClientRect().left - scroll.clientWidth / 2 + 84;
    }
  }

  pages.forEach(page => {
    const rowOf = event => event.target.closest?.(".r");
    for (const pane of page.panes) {
      pane.addEventListener("mouseover", event => {
        const row = rowOf(event);
        if (page.kept === null && row) lightLine(page, row.dataset.l, "lit");
      });
      pane.addEventListener("mouseleave", () => { if (page.kept === null) light(page, [], [], "lit"); });
      pane.addEventListener("click", event => {
        const row = rowOf(event);
        if (!row || String(getSelection())) return;
        step(page, row);
        if (page.kept !== null && page.kept === row.dataset.l) { page.kept = null; lightLine(page, row.dataset.l, "lit"); }
        else keep(page, row);
      });
      pane.addEventListener("keydown", event => {
        const rows = [...pane.querySelectorAll(".r")];
        const at = page.at && pane.contains(page.at) ? rows.indexOf(page.at) : -1;
        const moves = { ArrowDown: at + 1, ArrowUp: Math.max(at - 1, 0), PageDown: at + 20, PageUp: Math.max(at - 20, 0), Home: 0, End: rows.length - 1 };
        if (event.key in moves && rows.length) {
          const row = rows[Math.min(moves[event.key], rows.length - 1)];
          step(page, row);
          show(pane, row);
          if (page.kept === null) lightLine(page, row.dataset.l, "lit");
          event.preventDefault();
        } else if (event.key === "Enter" && at >= 0) keep(page, rows[at]);
      });
    }
    page.phases?.addEventListener("change", () => phase(page, Number(page.phases.value)));
    page.section.querySelector(".graph")?.addEventListener("click", event => {
      const node = event.target.closest(".node");
      if (!node) return;
      const rows = page.panes[2].querySelectorAll(`.r[data-b="${node.dataset.b}"]`);
      if (rows.length) { goTo(page, rows[0]); light(page, rows, [node.dataset.b], "kept"); }
    });
    const part = (chart, event) => {
      const box = chart.getBoundingClientRect();
      return Math.min(Math.max(((event.clientX - box.left) / box.width * WIDTH - LEFT) / SPAN, 0), 1);
    };
    page.section.querySelector(".pressure")?.addEventListener("click", function (event) {
      const rows = page.panes[2].querySelectorAll(".r");
      goTo(page, rows[Math.min(Math.floor(part(this, event) * rows.length), rows.length - 1)]);
    });
    page.section.querySelector(".timeline")?.addEventListener("click", function (event) {
      const cycle = part(this, event) * Number(this.dataset.span);
      const rows = [...page.panes[2].querySelectorAll(".r")];
      goTo(page, rows.findLast(row => Number(row.querySelector(".s").textContent) <= cycle) || rows[0]);
    });
  });

  addEventListener("keydown", event => {
    if (event.ctrlKey || event.metaKey || event.altKey || /^(SELECT|INPUT)$/.test(event.target.tagName)) return;
    const page = pages[current];
    const number = Number(page.phases?.value);
    if (event.key >= "1" && event.key <= "3") page.panes[event.key - 1].focus();
    else if (event.key === "[" && number > 0) { page.phases.value = String(number - 1); phase(page, number - 1); }
    else if (event.key === "]" && number + 1 < page.phases.length) { page.phases.value = String(number + 1); phase(page, number + 1); }
    else if (event.key === "j") choose(current + 1);
    else if (event.key === "k") choose(current - 1);
    else if (event.key === "?") document.getElementById("keys").showModal();
    else if (event.key === "Escape") { page.kept = null; again(page); }
  });
  document.getElementById("help").addEventListener("click", () => document.getElementById("keys").showModal());
  document.getElementById("theme").addEventListener("click", () => {
    const next = { "": "dark", dark: "light", light: "" }[root.dataset.theme || ""];
    if (next) root.dataset.theme = next; else delete root.dataset.theme;
  });
  chooser?.addEventListener("change", () => choose(Number(chooser.value)));
  choose(Math.min(Math.max(Number(location.hash.slice(2)) || 0, 0), pages.length - 1));
})();

// Columns of rows: only the rows that are in sight are elements, so that the size of a kernel does not matter. What a row
// shows is its column's matter.
const ROW = 20, MORE = 12;

class List {
  // `count` rows; `draw(index)` gives the cells of a row, `about(index)` { classes, title, block }, `text(index)` what a search looks at.
  constructor(name, heads, title) {
    this.name = name;
    this.count = 0;
    this.nodes = new Map();
    this.lit = null;
    this.at = -1;
    this.sheet = make("div", { className: "sheet" });
    this.heads = make("div", { className: "r heads", ariaHidden: "true" }, ...heads.map(([tag, className, text]) => make(tag, { className, textContent: text })));
    this.rows = make("div", { className: "rows " + name, tabIndex: 0, role: "region", ariaLabel: title }, this.heads, this.sheet);
    this.title = make("h3", {}, make("span", { textContent: title }));
    this.pane = make("div", { className: "pane" }, this.title, this.rows);
    this.rows.addEventListener("scroll", () => this.paint());
    new ResizeObserver(() => this.paint()).observe(this.rows);
  }

  // Shows other rows, at the same place.
  set(count, widest, methods) {
    Object.assign(this, methods);
    this.count = count;
    this.sheet.style.height = count * ROW + "px";
    this.rows.style.setProperty("--w", widest + 1 + "ch");
    for (const node of this.nodes.values()) node.remove();
    this.nodes.clear();
    if (this.at >= count) this.at = -1;
    this.paint();
  }

  paint() {
    const first = Math.max(Math.floor(this.rows.scrollTop / ROW) - MORE, 0);
    const end = Math.min(Math.ceil((this.rows.scrollTop + this.rows.clientHeight) / ROW) + MORE, this.count);
    for (const [index, node] of this.nodes) if (index < first || index >= end) { node.remove(); this.nodes.delete(index); }
    for (let index = first; index < end; index++) if (!this.nodes.has(index)) {
      const about = this.about(index);
      const node = make("div", { className: "r " + about.classes, title: about.title || null }, ...this.draw(index));
      node.style.top = index * ROW + "px";
      node.index = index;
      this.nodes.set(index, node);
      this.mark(node);
      this.sheet.append(node);
    }
  }

  mark(node) {
    const lit = this.lit !== null && this.isLit(node.index, this.lit);
    node.classList.toggle("lit", lit && !this.lit.kept);
    node.classList.toggle("kept", lit && this.lit.kept);
    node.classList.toggle("at", node.index === this.at);
  }

  light(lit) {
    this.lit = lit;
    for (const node of this.nodes.values()) this.mark(node);
  }

  step(index) {
    this.at = index;
    for (const node of this.nodes.values()) this.mark(node);
  }

  // Brings a row into sight, if it is not.
  show(index) {
    if (index < 0) return;
    const top = index * ROW, height = this.rows.clientHeight - ROW;
    if (top < this.rows.scrollTop + ROW || top > this.rows.scrollTop + height - 2 * ROW) this.rows.scrollTop = Math.max(top - height / 3, 0);
    this.paint();
  }

  firstLit(lit) {
    for (let index = 0; index < this.count; index++) if (this.isLit(index, lit)) return index;
    return -1;
  }
}

// A text in stretches of one style each: class and length one after the other.
function styled(text, style) {
  const made = make("span");
  let at = 0;
  for (const [, name, length] of style.matchAll(/([a-z])(\d+)/g)) {
    const stretch = text.slice(at, at += Number(length));
    made.append(name === "x" ? stretch : make("i", { className: name, textContent: stretch }));
  }
  made.append(text.slice(at));
  return made;
}

// Columns of a text, with tabs of four.
const width = text => text.length + 3 * (text.split("\t").length - 1);
const widest = (count, text) => { let most = 0; for (let at = 0; at < count; at++) most = Math.max(most, width(text(at))); return most; };

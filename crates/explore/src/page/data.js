// Where the data come from: the lines of the page itself, or the program that serves it. Nothing is drawn here.
const root = document.documentElement;
const byId = id => document.getElementById(id);
const served = root.hasAttribute("data-served");
// The file, its state, and its parts that were read already.
let file = null, revision = 0, parts = new Map();

// A page that is written has an element on each line: the file, then code and phases of each kernel.
const written = served ? [] : byId("data").textContent.split("\n").slice(1, -1);
const element = at => JSON.parse(written[at].endsWith(",") ? written[at].slice(0, -1) : written[at]);

// The program that serves the page, over HTTP; an editor that shows the page in a panel has put itself in its place.
const program = globalThis.orioleProgram ?? {
  async ask(path) {
    const answer = await fetch(path, { cache: "no-store" });
    if (!answer.ok) throw new Error(`${answer.status}: ${await answer.text()}`);
    return answer.json();
  },
  listen(changed, gone) {
    const events = new EventSource("events");
    events.addEventListener("state", event => changed(JSON.parse(event.data)));
    events.addEventListener("error", gone);
  },
};

// Reads the file anew. Parts of an older state are forgotten.
async function readFile() {
  if (!served) file = element(0);
  else ({ revision, file } = await program.ask("file"));
  parts = new Map();
}

// Texts are there as forms and numbers.
function expanded({ forms, of, numbers }) {
  let next = 0;
  return of.map(form => {
    const stretches = forms[form];
    let text = stretches[0];
    for (let at = 1; at < stretches.length; at++) text += numbers[next++] + stretches[at];
    return text;
  });
}

// Columns whose every number is 0 are left out.
function complete(columns, count) {
  columns.addresses ??= Array.from({ length: count }, (_, at) => at * columns.step);
  for (const name of ["lines", "files", "places", "waited", "uniform", "predicates"]) columns[name] ??= new Array(count).fill(0);
}

function readCode(code) {
  code.strings = expanded(code.strings);
  for (const columns of [code.sass, code.other, code.text]) if (columns) complete(columns, columns.texts.length);
  return code;
}

const readOri = ori => ({ ...ori, lines: expanded(ori.lines) });

// A part of a kernel, `code` or `ori`.
function part(kind, number) {
  const key = kind + number;
  if (!parts.has(key)) {
    const read = served ? program.ask(`${kind}?kernel=${number}&revision=${revision}`) : Promise.resolve().then(() => element(1 + 2 * number + (kind === "ori" ? 1 : 0)));
    const made = read.then(kind === "ori" ? readOri : readCode);
    parts.set(key, made);
    made.catch(() => parts.delete(key));
  }
  return parts.get(key);
}

// The next kernel of a page that is written whose data contain a text. The stretches between the numbers of the text are looked for
// in the data as they are; only kernels that have them all are read.
function kernelWith(text, start, step) {
  const count = file.kernels.length, wanted = text.toLowerCase();
  const stretches = wanted.split(/\d+/).map(stretch => JSON.stringify(stretch).slice(1, -1).replaceAll("<", "\\u003c")).filter(Boolean);
  for (let more = 1; more < count; more++) {
    const number = (start + step * more + count * more) % count, at = 1 + 2 * number;
    for (const [line, read] of [[at, data => readCode(data).strings], [at + 1, data => readOri(data).lines]]) {
      const raw = written[line].toLowerCase();
      if (stretches.every(stretch => raw.includes(stretch)) && read(element(line)).some(one => one.toLowerCase().includes(wanted))) return number;
    }
  }
  return null;
}

// The lines of a phase, by the stretches that it consists of.
function linesOf(phase) {
  const all = [];
  for (let at = 0; at < phase.lines.length; at += 2) for (let more = 0; more < phase.lines[at + 1]; more++) all.push(phase.lines[at] + more);
  return all;
}

function make(name, properties = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (value === null || value === undefined) continue;
    if (key in made && key !== "style" && key !== "role") made[key] = value; else made.setAttribute(key, value);
  }
  made.append(...children.filter(child => child !== null));
  return made;
}

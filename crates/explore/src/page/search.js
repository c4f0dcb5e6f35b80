// The search over all columns of a kernel, and from there to the next kernel that has the text.
const search = byId("search"), found = byId("found");

function places(text) {
  const list = [];
  for (const column of now.lists) if (!column.pane.hidden)
    for (let index = 0; index < column.count; index++) if (column.text(index).toLowerCase().includes(text)) list.push([column, index]);
  return list;
}

// The place after, or before, the row that the cursor is on.
async function seek(step) {
  const text = search.value.toLowerCase();
  if (!text) { found.textContent = ""; return; }
  let list = places(text);
  const column = now.lists.findIndex(one => one.at >= 0);
  const index = column < 0 ? -1 : now.lists[column].at;
  const compare = ([one, at]) => (now.lists.indexOf(one) - column) || (at - index);
  let next = step > 0 ? list.findIndex(spot => compare(spot) > 0) : list.findLastIndex(spot => compare(spot) < 0);
  if (next < 0) {
    // A page that is served has only what was looked at.
    const other = served ? null : kernelWith(search.value, now.number, step);
    if (other !== null) {
      await choose(other);
      list = places(text);
    }
    next = step > 0 ? 0 : list.length - 1;
  }
  found.textContent = list.length ? `${next + 1} of ${list.length}` : "none";
  if (list.length) goTo(...list[next]);
}

search.addEventListener("keydown", event => {
  if (event.key === "Enter") { event.preventDefault(); seek(event.shiftKey ? -1 : 1); }
  if (event.key === "Escape") { search.blur(); event.stopPropagation(); }
});
search.addEventListener("input", () => {
  const count = search.value ? places(search.value.toLowerCase()).length : 0;
  found.textContent = search.value ? `${count || "none"} here` : "";
});

// The students' table: a click on a heading sorts, a second one reverses; the field above searches.
"use strict";
const table = document.getElementById("table");
const body = table.tBodies[0];
const rows = Array.from(body.rows);
const headings = Array.from(table.tHead.rows[0].cells);

function key(row, column) {
  const text = row.cells[column].textContent.trim();
  const number = Number(text.replace("*", ""));
  return text === "–" ? -1 : text !== "" && Number.isFinite(number) ? number : text;
}

function compare(one, other) {
  if (typeof one === "number" && typeof other === "number") return one - other;
  return String(one).localeCompare(String(other), undefined, { numeric: true });
}

headings.forEach((heading, column) => {
  heading.querySelector("button").addEventListener("click", () => {
    const up = heading.getAttribute("aria-sort") !== "ascending";
    headings.forEach((each) => each.removeAttribute("aria-sort"));
    heading.setAttribute("aria-sort", up ? "ascending" : "descending");
    const keyed = rows.map((row) => [key(row, column), row]);
    keyed.sort(([one], [other]) => (up ? 1 : -1) * compare(one, other));
    body.append(...keyed.map(([, row]) => row));
  });
});

const search = document.getElementById("search");
const count = document.getElementById("count");
search.addEventListener("input", () => {
  const wanted = search.value.trim().toLowerCase();
  let shown = 0;
  for (const row of rows) {
    row.hidden = !row.textContent.toLowerCase().includes(wanted);
    shown += row.hidden ? 0 : 1;
  }
  count.textContent = wanted ? `${shown} of ${rows.length}` : "";
});

// On paper every list is unfolded; afterwards each is as it was.
const folded = Array.from(document.querySelectorAll("details"));
window.addEventListener("beforeprint", () => {
  folded.forEach((each) => {
    each.dataset.open = each.open;
    each.open = true;
  });
});
window.addEventListener("afterprint", () => {
  folded.forEach((each) => {
    each.open = each.dataset.open === "true";
  });
});

/* Code in cells breaks between parts of names. Tables that are wider than their box have smaller
   text; on telephones they fold, each cell behind the name of its column. Formulas and
   printed tables that are too wide become smaller. */
const narrow = window.matchMedia("(max-width: 600px)");
const tables = [...document.querySelectorAll(".bd-article table")];

for (const code of document.querySelectorAll(".bd-article td code .pre"))
  code.innerHTML = code.innerHTML.replace(/[_/.(=,]|[a-z](?=[A-Z])/g, "$&<wbr>");

for (const table of tables) {
  const names = [...table.querySelectorAll("thead tr:last-child th")].map((th) => th.textContent.trim());
  for (const row of table.querySelectorAll("tbody tr"))
    [...row.cells].forEach((cell, i) => { if (i && names[i]) cell.dataset.label = names[i]; });
}

const high = (table) => [...table.querySelectorAll("td")].some((cell) => cell.offsetHeight > 170);

function fit() {
  for (const table of tables) {
    const cut = () => table.parentElement.scrollWidth > table.parentElement.clientWidth;
    table.classList.remove("folded", "smaller", "squeezed");
    if (narrow.matches && (cut() || high(table))) table.classList.add("folded");
    if (!narrow.matches && (cut() || high(table))) table.classList.add("smaller");
    if (!narrow.matches && cut()) table.classList.add("squeezed");
  }
  for (const pre of document.querySelectorAll(".highlight-text pre")) {
    pre.style.cssText = narrow.matches ? "white-space: pre; width: fit-content" : "";
    const share = (0.98 * pre.parentElement.clientWidth) / pre.offsetWidth;
    pre.style.cssText = narrow.matches && share < 1 && share > 0.6 ? `white-space: pre; font-size: ${12 * share}px` : "";
  }
  for (const math of document.querySelectorAll(".bd-article math")) {
    math.style.fontSize = "";
    const box = math.parentElement.closest("p, dd, li, td, th, div, h2, h3").getBoundingClientRect();
    const room = box.right - math.getBoundingClientRect().left;
    const parts = [...math.querySelectorAll("*")].map((part) => part.getBoundingClientRect());
    const width = Math.max(...parts.map((part) => part.right)) - Math.min(...parts.map((part) => part.left));
    if (width > Math.min(room, box.width)) math.style.fontSize = `${Math.floor((95 * Math.min(room, box.width)) / width)}%`;
  }
}

/* On telephones methods are folded behind their signatures, which open them. */
const members = [...document.querySelectorAll("dl.py.class dl.py > dt.sig")];
for (const sig of members) {
  sig.parentElement.classList.add("foldable");
  sig.addEventListener("click", (event) => {
    if (!event.target.closest("a")) sig.parentElement.classList.toggle("open");
  });
}
const open = () => document.getElementById(location.hash.slice(1))?.closest("dl.foldable")?.classList.add("open");

fit();
open();
window.addEventListener("load", fit);
window.addEventListener("resize", fit);
window.addEventListener("hashchange", open);

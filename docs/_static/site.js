/* Tables that are wider than their box fold on telephones, each cell behind the name of its column;
   on wide screens their code may break. Formulas that are too wide become smaller. */
const narrow = window.matchMedia("(max-width: 600px)");
const tables = [...document.querySelectorAll(".bd-article table")];

for (const table of tables) {
  const names = [...table.querySelectorAll("thead tr:last-child th")].map((th) => th.textContent.trim());
  for (const row of table.querySelectorAll("tbody tr"))
    [...row.cells].forEach((cell, i) => { if (i && names[i]) cell.dataset.label = names[i]; });
}

function fit() {
  for (const table of tables) {
    const box = table.parentElement;
    table.classList.remove("folded", "squeezed");
    if (box.scrollWidth > box.clientWidth || (narrow.matches && table.rows[0]?.cells.length < 4 && table.offsetHeight > 300))
      table.classList.add(narrow.matches ? "folded" : "squeezed");
  }
  for (const math of document.querySelectorAll(".bd-article math")) {
    math.style.fontSize = "";
    const box = math.parentElement.closest("p, dd, li, td, div, h2, h3");
    const room = box.clientWidth - parseFloat(getComputedStyle(box).paddingLeft) - parseFloat(getComputedStyle(box).paddingRight);
    const width = math.getBoundingClientRect().width;
    if (width > room) math.style.fontSize = `${Math.floor((98 * room) / width)}%`;
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

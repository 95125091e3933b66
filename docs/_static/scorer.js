// Titles that have the words of the query come first, then the text of guides, and lists of the
// reference, examples and results last, unless a whole name of the reference was typed.
const typed = (new URLSearchParams(window.location.search).get("q") ?? "").toLowerCase().split(/\s+/).filter((word) => word.length > 2);
const last = /^(api|gallery|results|changelog|index|sg_exec)/;
const late = /^(theory|errata|reproductions|numbers|peers|contributing|architecture|add_a_space|extending)/;
var Scorer = {
  score: ([page, title, anchor, descr, score, file, kind]) => {
    if (kind === "object") return score < 11 ? score - 5 : score;
    const words = typed.filter((word) => ` ${title.toLowerCase()} `.match(RegExp(`[^a-z]${word.replace(/\W/g, ".")}(s|es)?[^a-z]`))).length;
    const found = kind === "title" ? 10 + score : Math.min(score, 6);
    return found + 3 * words - (last.test(page) ? 25 : late.test(page) ? 4 : 0);
  },
  objNameMatch: 11,
  objPartialMatch: 1,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};

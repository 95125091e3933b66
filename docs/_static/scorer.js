// Pages of the guide come before examples and the reference, unless a name was typed.
var Scorer = {
  score: ([page, title, anchor, descr, score, file, kind]) =>
    kind === "object" ? score : score - (/^(gallery|results)|changelog|sg_exec|contributing|add_a_space/.test(page) ? 6 : /^api/.test(page) ? 3 : 0),
  objNameMatch: 11,
  objPartialMatch: 1,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};

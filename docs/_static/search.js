// The search of the documentation: guides first, the sum over the words counts, and
// pages with only some of the words are found if no page has all of them.
if (typeof Search !== "undefined") {
  // The page, or an index entry, of [docname, title, anchor, description, score, file, kind].
  Scorer.score = ([page, , , , points, , kind]) => {
    const score = kind === "title" ? points + 50 : points; // the question is a heading
    if (/^(adr|reference\/library)\//.test(page)) return score - 100;
    if (/^(tour|howto\/run-an?-(bolt|ntcir))/.test(page)) return score + 8; // after the general guides
    if (/^roles/.test(page)) return score + 11;
    return /^howto/.test(page) ? score + 10 : score;
  };
  const search = Search.performTermsSearch;
  Search.performTermsSearch = (words, excluded) => {
    const sums = new Map();
    for (const word of words) {
      for (const row of search(new Set([word]), excluded)) {
        const sum = sums.get(row[0]);
        if (sum) sum[4] += row[4];
        else sums.set(row[0], row);
      }
    }
    const complete = search(words, excluded).map((row) => sums.get(row[0]));
    return complete.length ? complete : [...sums.values()];
  };
}

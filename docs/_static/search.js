// The search of the documentation finds pages by their headings, by the words of the index and by their text. A rare
// word counts more than a frequent one, and a heading more than the text of its page. Decisions and the library come
// last.
if (typeof Search !== "undefined") {
  const HEADING = 1;
  const PAGE_TITLE = 0.45;
  const TEXT = 0.25;
  const LAST = /^(adr|reference\/library)\//;

  const weight = (page) => {
    if (/^(tour|howto\/run-an?-(bolt|ntcir))/.test(page)) return 0.9; // after the general guides
    return /^(glossary|howto|roles|troubleshooting)/.test(page) ? 1.15 : 1;
  };

  const stems = (text) => {
    const stemmer = new Stemmer();
    const words = splitQuery(text.toLowerCase()).filter((word) => !stopwords.has(word));
    return new Set(words.map((word) => stemmer.stemWord(word)));
  };

  /** The headings of pages, and the words of the index. */
  const entries = () => {
    const { alltitles, indexentries } = Search._index;
    const kinds = [
      [alltitles, SearchResultKind.title],
      [indexentries, SearchResultKind.index],
    ];
    return kinds.flatMap(([titles, kind]) =>
      Object.entries(titles).flatMap(([title, places]) => {
        const words = stems(title);
        return places.map(([page, anchor]) => ({ page, title, anchor, words, kind }));
      }),
    );
  };

  /** The pages with a word in their text or title; else those with a word that contains it, or a part of it. */
  const pagesWith = (word) => {
    const { terms, titleterms } = Search._index;
    const indexes = [terms, titleterms];
    const pages = (term) => indexes.flatMap((index) => (Object.hasOwn(index, term) ? index[term] : []));
    const exact = pages(word);
    if (exact.length || word.length < 4) return new Set(exact);
    const isPart = (term) => term.includes(word) || (term.length > 4 && word.includes(term));
    return new Set(indexes.flatMap((index) => Object.keys(index).filter(isPart).flatMap(pages)));
  };

  const rank = (question) => {
    const { docnames, titles } = Search._index;
    const all = entries();
    const words = [...stems(question)].map((word) => {
      const pages = pagesWith(word);
      const n = Math.max(pages.size, all.filter((entry) => entry.words.has(word)).length);
      return { word, pages, rarity: Math.log(1 + docnames.length / (1 + n)) };
    });
    const titleWords = titles.map(stems);
    const best = new Map();
    for (const entry of all) {
      let points = 0;
      let hits = 0;
      for (const { word, pages, rarity } of words) {
        const isHit = entry.words.has(word);
        hits += isHit;
        if (isHit) points += HEADING * rarity;
        else if (titleWords[entry.page].has(word)) points += PAGE_TITLE * rarity;
        else if (pages.has(entry.page)) points += TEXT * rarity;
      }
      const isExact = hits === entry.words.size && hits === words.length;
      const share = hits / (entry.words.size + 2); // a long heading with one of the words means something else
      const name = docnames[entry.page];
      const score = points * (0.7 + share + isExact) * weight(name) - (LAST.test(name) ? 100 : 0);
      if (points && score > (best.get(entry.page)?.score ?? -100)) best.set(entry.page, { ...entry, hits, score });
    }
    return [...best.values()];
  };

  /** A row as Sphinx shows it. */
  const row = ({ page, title, anchor, kind, hits, score }) => {
    const { docnames, filenames, titles } = Search._index;
    const isSection = hits && title !== titles[page];
    const name = isSection ? `${titles[page]} > ${title}` : titles[page];
    return [docnames[page], name, isSection && anchor ? `#${anchor}` : "", null, score, filenames[page], kind];
  };

  Search._performSearch = (question, _words, _excluded, _marked, names) => {
    const objects = [...names].flatMap((name) => Search.performObjectSearch(name, names));
    for (const object of objects) object[4] -= 100;
    return [...rank(question).map(row), ...objects].sort(_orderResultsByScoreThenName);
  };
}

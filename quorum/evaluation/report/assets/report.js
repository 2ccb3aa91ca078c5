"use strict";
// The table of questions. The page holds an index of all questions, and their details in chunks of
// `questions_per_chunk` questions, all compressed (gzip, then base64).
// Everything that comes from questions, passages and models is set as text, never as markup.
(async () => {
  const byId = (id) => document.getElementById(id);
  const unpack = (id) => {
    const packed = Uint8Array.from(atob(byId(id).textContent), (character) => character.charCodeAt(0));
    return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).json();
  };
  const makeElement = (name, className, text) => {
    const node = document.createElement(name);
    if (className) node.className = className;
    if (text !== undefined && text !== null) node.textContent = String(text);
    return node;
  };
  const appendChildren = (parent, ...nodes) => { parent.append(...nodes.filter((node) => node !== null)); return parent; };

  makeSortable();
  highlightCurves();
  const data = await unpack("index");
  const { methods, rows, questions_per_chunk: questionsPerChunk, questions_per_page: questionsPerPage } = data;
  // A row: the question's id, the question, its accepted answers, then for each method a cell [score, mark, confidence].
  // The mark is a key of MARK_NAMES.
  const FIRST_CELL = 3; // index of the first cell in a row
  const MARK_SIGNS = { r: "✓", w: "✗", u: "?", e: "!", "": "–" };
  const MEASURE_NAMES = { em: "EM", f1: "F1", rouge_l: "ROUGE-L", str_em: "STR-EM" };
  const MARK_NAMES = { r: "right", w: "wrong", p: "partly right", u: "unknown", e: "failed", "": "not asked" };
  // kind: what the menu "Which questions" chooses: a key of ROW_TESTS, or "" for every question;
  // method: what the menu "By which method" chooses: the index of a method, or -1 for any method;
  // sort: what the rows are sorted by: -1 their order in the data, 0 the question, 1 the first method, ...;
  // open: the numbers of the rows whose methods are shown; openAnswers: "row/method" of the answers that are shown whole.
  const state = { text: "", kind: "", method: -1, sort: -1, descending: false, page: 0, open: new Set(), openAnswers: new Set() };
  const detailsOfChunks = new Map(); // number of a chunk -> promise of the details of its questions

  function unpackChunk(chunkNumber) {
    if (!detailsOfChunks.has(chunkNumber)) detailsOfChunks.set(chunkNumber, unpack("c" + chunkNumber));
    return detailsOfChunks.get(chunkNumber);
  }

  const getCells = (row) => row.slice(FIRST_CELL);
  const isRight = (cell) => cell[0] !== null && cell[0] > 0.999;
  // For each choice of the menu "Which questions": whether a row is shown.
  const ROW_TESTS = {
    differ: (row) => new Set(getCells(row).filter((cell) => cell[0] !== null).map((cell) => isRight(cell))).size > 1,
    none_right: (row) => !getCells(row).some(isRight),
    all: (row) => getCells(row).every(isRight),
    right: (row) => getChosenCells(row).some(isRight),
    wrong: (row) => getChosenCells(row).some((cell) => cell[1] === "w" || cell[1] === "p" || (cell[1] === "u" && !isRight(cell))),
    unknown: (row) => getChosenCells(row).some((cell) => cell[1] === "u"),
    failed: (row) => getChosenCells(row).some((cell) => cell[1] === "e"),
  };
  const getChosenCells = (row) => (state.method < 0 ? getCells(row) : [row[FIRST_CELL + state.method]]);

  function findShownNumbers() {
    const words = state.text.toLowerCase().split(/\s+/).filter(Boolean);
    const shownNumbers = [];
    rows.forEach((row, number) => {
      if (words.length) {
        const text = (row[0] + " " + row[1] + " " + row[2].join(" ")).toLowerCase();
        if (!words.every((word) => text.includes(word))) return;
      }
      if (!state.kind || ROW_TESTS[state.kind](row)) shownNumbers.push(number);
    });
    if (state.sort >= 0) {
      const value = (number) => (state.sort === 0 ? rows[number][1].toLowerCase() : getSortKey(rows[number][FIRST_CELL + state.sort - 1]));
      shownNumbers.sort((first, second) => {
        const [a, b] = [value(first), value(second)];
        return ((a > b) - (a < b)) * (state.descending ? -1 : 1) || first - second;
      });
    } else if (state.descending) shownNumbers.reverse();
    return shownNumbers;
  }
  // Failed and not asked come below unknown, and unknown below any score.
  const getSortKey = (cell) => (cell[1] === "e" || cell[1] === "" ? -2 : cell[1] === "u" && !isRight(cell) ? -1 : cell[0]);

  // The mark of an answer. An unknown answer that is right (the question has no answer) is shown as "✓?".
  function makeChip(cell) {
    const text = cell[1] === "p" ? Math.round(100 * cell[0]) : cell[1] === "u" && isRight(cell) ? "✓?" : MARK_SIGNS[cell[1]];
    const node = makeElement("span", "chip " + (cell[1] === "u" && isRight(cell) ? "r" : cell[1]), text);
    node.title = MARK_NAMES[cell[1]] + (cell[2] === null ? "" : ", confidence " + cell[2].toFixed(2));
    node.setAttribute("aria-label", node.title);
    return node;
  }

  function draw() {
    const shownNumbers = findShownNumbers();
    const pages = Math.max(1, Math.ceil(shownNumbers.length / questionsPerPage));
    state.page = Math.min(state.page, pages - 1);
    const body = byId("rows");
    body.replaceChildren();
    for (const number of shownNumbers.slice(state.page * questionsPerPage, (state.page + 1) * questionsPerPage)) {
      body.append(makeRow(number));
      if (state.open.has(number)) body.append(renderDetails(number));
    }
    byId("question-count").textContent = shownNumbers.length === rows.length
      ? rows.length.toLocaleString("en") + " questions"
      : shownNumbers.length.toLocaleString("en") + " of " + rows.length.toLocaleString("en") + " questions";
    byId("page-number").textContent = "page " + (state.page + 1) + " of " + pages;
    byId("previous-page").disabled = state.page === 0;
    byId("next-page").disabled = state.page >= pages - 1;
    document.querySelectorAll("#head th").forEach((head, place) => {
      const isSorted = place === state.sort + 1;
      head.setAttribute("aria-sort", isSorted ? (state.descending ? "descending" : "ascending") : "none");
    });
  }

  function makeRow(number) {
    const row = rows[number], node = makeElement("tr", state.open.has(number) ? "open" : ""), cell = makeElement("td", "q");
    const button = makeElement("button", "", row[1]);
    button.setAttribute("aria-expanded", String(state.open.has(number)));
    button.addEventListener("click", () => {
      state.open.has(number) ? state.open.delete(number) : state.open.add(number);
      draw();
      const newButton = byId("rows").querySelector('button[data-number="' + number + '"]');
      if (newButton) newButton.focus({ preventScroll: true });
    });
    button.dataset.number = number;
    appendChildren(cell, button, makeElement("small", "", row[2].length ? row[2].slice(0, 3).join(" · ") : "no answer in the data"));
    appendChildren(node, appendChildren(makeElement("td", "", number + 1), " ", makeElement("small", "", row[0])), cell);
    getCells(row).forEach((methodCell, place) => {
      const scoreCell = appendChildren(makeElement("td", "mark"), makeChip(methodCell));
      scoreCell.dataset.method = methods[place];
      node.append(scoreCell);
    });
    return node;
  }

  function renderDetails(number) {
    const node = makeElement("tr"), cell = makeElement("td", "details", "…");
    cell.colSpan = methods.length + 2;
    node.append(cell);
    unpackChunk(Math.floor(number / questionsPerChunk))
      .then((list) => {
        const details = list[number % questionsPerChunk];
        cell.replaceChildren(appendChildren(makeElement("p", "note"), "accepted: " + (rows[number][2].join(" · ") || "unknown"), " · id " + rows[number][0]));
        cell.append(makeAnswerTable(details, number));
      })
      .catch((error) => { cell.textContent = "This question cannot be unpacked: " + error.message; });
    return node;
  }

  // All methods of an opened question. A click on a method shows below its row how it came to its answer.
  const ANSWER_COLUMNS = ["method", "", "answer", "confidence", "calls", "tokens", "seconds"];
  function makeAnswerTable(question, number) {
    const table = makeElement("table", "answers"), body = makeElement("tbody");
    const heads = ANSWER_COLUMNS.map((title) => { const head = makeElement(title ? "th" : "td", "", title); if (title) head.scope = "col"; return head; });
    appendChildren(table, appendChildren(makeElement("thead"), appendChildren(makeElement("tr"), ...heads)), body);
    question.answers.forEach((answer, place) => {
      if (!answer) return;
      const key = number + "/" + place, line = makeElement("tr"), button = makeElement("button", "", methods[place]);
      const whole = appendChildren(makeElement("tr"), appendChildren(makeElement("td", "whole"), renderAnswer(answer, question)));
      whole.firstChild.colSpan = ANSWER_COLUMNS.length;
      const show = () => {
        const isOpen = state.openAnswers.has(key);
        button.setAttribute("aria-expanded", String(isOpen));
        line.classList.toggle("open", isOpen);
        isOpen ? line.after(whole) : whole.remove();
      };
      button.addEventListener("click", () => { state.openAnswers.delete(key) || state.openAnswers.add(key); show(); });
      const numbers = answer.calls === undefined ? ["", "", ""] : [
        answer.confidence === undefined ? "" : answer.confidence.toFixed(2), answer.calls, (answer.input_tokens + answer.output_tokens).toLocaleString("en"),
      ];
      appendChildren(line, appendChildren(makeElement("td"), button), appendChildren(makeElement("td"), makeChip(rows[number][FIRST_CELL + place])),
        appendChildren(makeElement("td", "said"), makeElement("div", "", answer.error ? "failed" : answer.headline)),
        ...[...numbers, answer.seconds.toFixed(2)].map((text) => makeElement("td", "number", text)));
      body.append(line);
      show();
    });
    return appendChildren(makeElement("div", "wide"), table);
  }

  // What an answer lacks is left out of its object; it names passages and other texts by their indexes in `question`.
  function renderAnswer(answer, question) {
    const { summaries = [], votes = [], replies = [] } = answer;
    const node = makeElement("section", "answer"), head = makeElement("header");
    const facts = [];
    for (const [name, value] of Object.entries(answer.scores_by_measure)) facts.push(name === "judged" ? "judged " + (value ? "right" : "wrong") : (MEASURE_NAMES[name] || name) + " " + (100 * value).toFixed(0));
    if (answer.confidence !== undefined) facts.push("confidence " + answer.confidence.toFixed(2));
    if (answer.calls !== undefined) facts.push(answer.calls + (answer.calls === 1 ? " call" : " calls"), (answer.input_tokens + answer.output_tokens).toLocaleString("en") + " tokens");
    facts.push(answer.seconds.toFixed(2) + " s");
    if (answer.malformed) facts.push(answer.malformed + " malformed");
    if (answer.wordy_answers) facts.push(answer.wordy_answers + " wordy");
    if (answer.dropped) facts.push(answer.dropped + " passages dropped");
    appendChildren(head, makeElement("b", "", answer.error ? "failed" : answer.headline), makeElement("span", "facts", facts.join(" · ")));
    appendChildren(node, head);
    if (answer.error) return appendChildren(node, makeElement("p", "text", answer.error));
    appendChildren(node, makePath(answer.path || []), makeCandidateTable(answer, summaries.map((text) => question.texts[text])));
    if (votes.length) node.append(makeTable(["voted", "votes", "by passage"], votes));
    if (answer.rationale !== undefined) node.append(makeFolded("Rationale", makeElement("p", "text", question.texts[answer.rationale])));
    return appendChildren(node, makePassageList(answer, question.passages), makeReplyList(replies, question.texts));
  }

  // The nodes that the method ran.
  function makePath(names) {
    const node = makeElement("div", "path");
    names.forEach((name, place) => appendChildren(node, place ? makeElement("i", "", "→") : null, makeElement("span", "", name)));
    return node;
  }

  function makeFolded(title, ...nodes) {
    return appendChildren(makeElement("details"), makeElement("summary", "", title), ...nodes);
  }

  function makeTable(heads, lines) {
    const node = makeElement("table"), head = makeElement("tr");
    heads.forEach((text) => head.append(makeElement("th", "", text)));
    node.append(head);
    lines.forEach((line) => node.append(appendChildren(makeElement("tr"), ...line.map((text) => makeElement("td", "", text)))));
    return appendChildren(makeElement("div", "wide"), node);
  }

  function makeCandidateTable(answer, summaries) {
    const { candidates: names, scores, validity } = answer;
    if (!names) return null;
    const heads = ["candidate", scores && "score", validity && "supported", summaries.length && "summary"].filter(Boolean);
    return makeTable(heads, names.map((name, place) => [
      name, ...(scores ? [scores[place]] : []), ...(validity ? [validity[place] ? "yes" : "no"] : []), ...(summaries.length ? [summaries[place] || ""] : []),
    ]));
  }

  function makePassageList(answer, passages) {
    if (!answer.passages) return null;
    const evidenceOf = new Map((answer.evidence || []).map(([passage, start, end]) => [passage, [start, end]]));
    const voters = new Set(answer.voters_without_evidence || []), evidenceLabel = answer.has_citations ? " cited" : answer.badge === "votes" ? " that voted for it" : " with evidence";
    const node = makeFolded(answer.passages.length + " passages" + (evidenceOf.size ? ", " + evidenceOf.size + evidenceLabel : ""));
    answer.passages.forEach((passageNumber, rank) => {
      const [id, title, text, where] = passages[passageNumber], part = makeElement("div", "passage"), evidence = evidenceOf.get(passageNumber), body = makeElement("p");
      appendChildren(part, makeElement("b", "", rank + 1 + ". " + (title || id)), makeElement("small", "", (where || id) + (voters.has(passageNumber) ? " · voted for the answer, does not contain it" : "")), body);
      if (evidence && evidence[0] !== null && evidence[1] !== null) {
        const characters = [...text]; // spans count Unicode characters, not UTF-16 units
        appendChildren(body, characters.slice(0, evidence[0]).join(""), makeElement("mark", "", characters.slice(...evidence).join("")), characters.slice(evidence[1]).join(""));
      } else body.textContent = text;
      if (evidence) part.classList.add("evidence");
      node.append(part);
    });
    return node;
  }

  function makeReplyList(replies, texts) {
    if (!replies.length) return null;
    const node = makeFolded(replies.length + (replies.length === 1 ? " reply" : " replies") + " of the model");
    for (const [name, text, sent, received, seconds, isReused] of replies) {
      const facts = sent.toLocaleString("en") + " → " + received.toLocaleString("en") + " tokens, " + seconds.toFixed(2) + " s" + (isReused ? ", shared or stored" : "");
      appendChildren(node, makeElement("p", "reply", name + " · " + facts), makeElement("pre", "", texts[text]));
    }
    return node;
  }

  // Makes the column titles of the table of questions, and the entries of the menu "By which method".
  function makeHeads() {
    ["#", "question", ...methods].forEach((name, place) => {
      const head = makeElement("th"), button = makeElement("button", "", name);
      head.scope = "col";
      button.addEventListener("click", () => {
        const sort = place - 1;
        state.descending = state.sort === sort ? !state.descending : place > 1;
        state.sort = sort; state.page = 0;
        draw();
      });
      appendChildren(byId("head"), appendChildren(head, button));
    });
    methods.forEach((name, place) => { const option = makeElement("option", "", name); option.value = place; byId("method").append(option); });
  }

  // The table of all methods: a click on a title sorts by that column; rows without a number come last.
  function makeSortable() {
    const table = document.querySelector("table.methods"), body = table.tBodies[0], lines = [...body.rows];
    const titles = [...table.tHead.rows[0].cells];
    const value = (line, place) => {
      const text = line.cells[place].textContent;
      return place === 0 ? text.toLowerCase() : Number.parseFloat(text.replace(/[$,<]/g, ""));
    };
    titles.forEach((head, place) => {
      const button = makeElement("button", "", head.textContent);
      button.addEventListener("click", () => {
        const descending = head.getAttribute("aria-sort") ? head.getAttribute("aria-sort") === "ascending" : place > 0;
        titles.forEach((title) => title.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", descending ? "descending" : "ascending");
        lines.sort((first, second) => {
          const [a, b] = [value(first, place), value(second, place)];
          return Number.isNaN(a) || Number.isNaN(b) ? Number.isNaN(a) - Number.isNaN(b) : ((a > b) - (a < b)) * (descending ? -1 : 1);
        });
        body.replaceChildren(...lines);
      });
      head.replaceChildren(button);
    });
  }

  // The risk-coverage chart, with one curve for each method: a curve is highlighted while the pointer is over it or over
  // the method's name.
  function highlightCurves() {
    const section = document.querySelector(".key.lines")?.parentElement;
    if (!section) return;
    section.addEventListener("pointerover", (event) => {
      const method = event.target.closest("[data-method]")?.dataset.method;
      section.classList.toggle("chosen-line", method !== undefined);
      section.querySelectorAll(".line").forEach((line) => line.classList.toggle("lit", line.dataset.method === method));
    });
  }

  makeHeads();
  document.querySelector(".questions").classList.toggle("many", methods.length > 8);
  byId("text").addEventListener("input", (event) => { state.text = event.target.value; state.page = 0; draw(); });
  byId("kind").addEventListener("change", (event) => { state.kind = event.target.value; state.page = 0; draw(); });
  byId("method").addEventListener("change", (event) => { state.method = Number(event.target.value); state.page = 0; draw(); });
  byId("previous-page").addEventListener("click", () => { state.page -= 1; draw(); });
  byId("next-page").addEventListener("click", () => { state.page += 1; draw(); });
  draw();
  byId("explore").hidden = false;
})();

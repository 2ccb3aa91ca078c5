"use strict";
// The table of questions. The page holds an index of all questions; their details are packed, 25 questions at a time.
// Everything that comes from questions, passages and models is set as text, never as markup.
(() => {
  const data = JSON.parse(document.getElementById("index").textContent);
  const { methods, rows, measure, chunk, page: size } = data;
  const FIRST = 3; // where a row's cells begin
  const MARKS = { r: "✓", w: "✗", u: "?", e: "!", "": "–" };
  const SCORES = { em: "EM", f1: "F1", rouge_l: "ROUGE-L", str_em: "STR-EM" };
  const NAMES = { r: "right", w: "wrong", p: "partly right", u: "unknown", e: "failed", "": "not asked" };
  const state = { text: "", kind: "", method: -1, sort: -1, down: false, page: 0, open: new Set() };
  const unpacked = new Map();

  const make = (name, className, text) => {
    const node = document.createElement(name);
    if (className) node.className = className;
    if (text !== undefined && text !== null) node.textContent = String(text);
    return node;
  };
  const add = (parent, ...nodes) => { parent.append(...nodes.filter((node) => node !== null)); return parent; };
  const byId = (id) => document.getElementById(id);

  async function unpack(number) {
    if (!unpacked.has(number)) {
      const packed = Uint8Array.from(atob(byId("c" + number).textContent), (sign) => sign.charCodeAt(0));
      const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
      unpacked.set(number, new Response(stream).json());
    }
    return unpacked.get(number);
  }

  const cells = (row) => row.slice(FIRST);
  const right = (cell) => cell[0] !== null && cell[0] > 0.999;
  const KINDS = {
    differ: (row) => new Set(cells(row).filter((cell) => cell[0] !== null).map((cell) => right(cell))).size > 1,
    none: (row) => !cells(row).some(right),
    all: (row) => cells(row).every(right),
    right: (row) => selectCells(row).some(right),
    wrong: (row) => selectCells(row).some((cell) => cell[1] === "w" || cell[1] === "p" || (cell[1] === "u" && !right(cell))),
    unknown: (row) => selectCells(row).some((cell) => cell[1] === "u"),
    failed: (row) => selectCells(row).some((cell) => cell[1] === "e"),
  };
  const selectCells = (row) => (state.method < 0 ? cells(row) : [row[FIRST + state.method]]);

  function findRows() {
    const words = state.text.toLowerCase().split(/\s+/).filter(Boolean);
    const kept = [];
    rows.forEach((row, number) => {
      if (words.length) {
        const text = (row[0] + " " + row[1] + " " + row[2].join(" ")).toLowerCase();
        if (!words.every((word) => text.includes(word))) return;
      }
      if (!state.kind || KINDS[state.kind](row)) kept.push(number);
    });
    if (state.sort >= 0) {
      const value = (number) => (state.sort === 0 ? rows[number][1].toLowerCase() : rank(rows[number][FIRST + state.sort - 1]));
      kept.sort((one, other) => {
        const [a, b] = [value(one), value(other)];
        return ((a > b) - (a < b)) * (state.down ? -1 : 1) || one - other;
      });
    } else if (state.down) kept.reverse();
    return kept;
  }
  const rank = (cell) => (cell[1] === "e" || cell[1] === "" ? -2 : cell[1] === "u" && !right(cell) ? -1 : cell[0]);

  function chip(cell) {
    const text = cell[1] === "p" ? Math.round(100 * cell[0]) : cell[1] === "u" && right(cell) ? "✓?" : MARKS[cell[1]];
    const node = make("span", "chip " + (cell[1] === "u" && right(cell) ? "r" : cell[1]), text);
    node.title = NAMES[cell[1]] + (cell[2] === null ? "" : ", confidence " + cell[2].toFixed(2));
    node.setAttribute("aria-label", node.title);
    return node;
  }

  function draw() {
    const kept = findRows();
    const pages = Math.max(1, Math.ceil(kept.length / size));
    state.page = Math.min(state.page, pages - 1);
    const body = byId("rows");
    body.replaceChildren();
    for (const number of kept.slice(state.page * size, (state.page + 1) * size)) {
      body.append(line(number));
      if (state.open.has(number)) body.append(renderDetails(number));
    }
    byId("found").textContent = kept.length === rows.length
      ? rows.length.toLocaleString("en") + " questions"
      : kept.length.toLocaleString("en") + " of " + rows.length.toLocaleString("en") + " questions";
    byId("where").textContent = "page " + (state.page + 1) + " of " + pages;
    byId("before").disabled = state.page === 0;
    byId("after").disabled = state.page >= pages - 1;
    document.querySelectorAll("#head th").forEach((head, place) => {
      const here = place === state.sort + 1;
      head.setAttribute("aria-sort", here ? (state.down ? "descending" : "ascending") : "none");
    });
  }

  function line(number) {
    const row = rows[number], node = make("tr", state.open.has(number) ? "open" : ""), cell = make("td", "q");
    const button = make("button", "", row[1]);
    button.setAttribute("aria-expanded", String(state.open.has(number)));
    button.addEventListener("click", () => {
      state.open.has(number) ? state.open.delete(number) : state.open.add(number);
      draw();
      const again = byId("rows").querySelector('button[data-number="' + number + '"]');
      if (again) again.focus({ preventScroll: true });
    });
    button.dataset.number = number;
    add(cell, button, make("small", "", row[2].length ? row[2].slice(0, 3).join(" · ") : "no answer in the data"));
    add(node, make("td", "", number + 1), cell);
    cells(row).forEach((one, place) => {
      const mark = add(make("td", "mark"), chip(one));
      mark.dataset.method = methods[place];
      node.append(mark);
    });
    return node;
  }

  function renderDetails(number) {
    const node = make("tr"), cell = make("td", "inside", "…");
    cell.colSpan = methods.length + 2;
    node.append(cell);
    unpack(Math.floor(number / chunk))
      .then((list) => {
        const one = list[number % chunk];
        cell.replaceChildren(add(make("p", "note"), "accepted: " + (rows[number][2].join(" · ") || "unknown"), " · id " + rows[number][0]));
        one.answers.forEach((answer, place) => answer && cell.append(renderAnswer(answer, methods[place], one.passages, rows[number][FIRST + place])));
      })
      .catch((error) => { cell.textContent = "This question cannot be unpacked: " + error.message; });
    return node;
  }

  function renderAnswer(answer, method, passages, mark) {
    const node = make("section", "answer"), head = make("header");
    const facts = [];
    for (const [name, value] of Object.entries(answer.marks)) facts.push(name === "judged" ? "judged " + (value ? "right" : "wrong") : (SCORES[name] || name) + " " + (100 * value).toFixed(0));
    if (answer.confidence !== null && answer.confidence !== undefined) facts.push("confidence " + answer.confidence.toFixed(2));
    if (answer.calls !== null) facts.push(answer.calls + (answer.calls === 1 ? " call" : " calls"), (answer.input_tokens + answer.output_tokens).toLocaleString("en") + " tokens");
    facts.push(answer.seconds.toFixed(2) + " s");
    if (answer.malformed) facts.push(answer.malformed + " malformed");
    if (answer.verbose) facts.push(answer.verbose + " verbose");
    if (answer.dropped) facts.push(answer.dropped + " passages dropped");
    add(head, make("span", "method", method), chip(mark), make("b", "", answer.error ? "failed" : answer.unknown ? "unknown" : answer.answer), make("span", "facts", facts.join(" · ")));
    add(node, head);
    if (answer.error) return add(node, make("p", "text", answer.error));
    add(node, path(answer.steps || []), candidates(answer), votes(answer));
    if (answer.rationale && !(answer.summaries || []).includes(answer.rationale)) add(node, makeFolded("Rationale", make("p", "text", answer.rationale)));
    return add(node, listing(answer, passages), replies(answer.replies || []));
  }

  function path(steps) {
    const node = make("div", "path");
    let last = null, count = 0;
    const top = steps.filter((step) => step.within === null && step.node !== "begin");
    top.forEach((step, place) => {
      count += 1;
      if (top[place + 1] && top[place + 1].node === step.node && top[place + 1].round === step.round) return;
      if (last !== null) node.append(make("i", "", "→"));
      node.append(make("span", "", step.node + (count > 1 ? " ×" + count : "")));
      last = step; count = 0;
    });
    return node;
  }

  function makeFolded(title, ...nodes) {
    return add(make("details"), make("summary", "", title), ...nodes);
  }

  function grid(heads, lines) {
    const node = make("table"), head = make("tr");
    heads.forEach((text) => head.append(make("th", "", text)));
    node.append(head);
    lines.forEach((line) => node.append(add(make("tr"), ...line.map((text) => make("td", "", text)))));
    return add(make("div", "wide"), node);
  }

  function candidates(answer) {
    if (!answer.candidates || !answer.candidates.length) return null;
    const { candidates: names, scores, validity, summaries } = answer;
    const heads = ["candidate", scores && "score", validity && "supported", summaries && "summary"].filter(Boolean);
    return grid(heads, names.map((name, place) => [
      name, ...(scores ? [scores[place]] : []), ...(validity ? [validity[place] ? "yes" : "no"] : []), ...(summaries ? [summaries[place] || ""] : []),
    ]));
  }

  function votes(answer) {
    if (!answer.votes || !answer.votes.length) return null;
    const counted = new Map();
    for (const vote of answer.votes) {
      const name = vote.unknown ? "unknown" : vote.answer, old = counted.get(name) || [0, []];
      counted.set(name, [old[0] + 1, [...old[1], vote.rank + 1]]);
    }
    const lines = [...counted].sort((one, other) => other[1][0] - one[1][0]).map(([name, [count, ranks]]) => [name, count, [...new Set(ranks)].join(", ")]);
    return grid(["voted", "votes", "by passage"], lines);
  }

  function listing(answer, passages) {
    if (!answer.passages.length) return null;
    const marked = new Map((answer.evidence || []).map((one) => [one.passage, one]));
    const voters = new Set(answer.unsupported || []), claim = answer.claimed ? " that voted for it" : " with evidence";
    const node = makeFolded(answer.passages.length + " passages" + (marked.size ? ", " + marked.size + claim : ""));
    answer.passages.forEach((place, rank) => {
      const [id, title, text, where] = passages[place], part = make("div", "passage"), found = marked.get(id), body = make("p");
      add(part, make("b", "", rank + 1 + ". " + (title || id)), make("small", "", (where || id) + (voters.has(id) ? " · voted for it, does not contain it" : "")), body);
      if (found && found.start !== null && found.end !== null) {
        const signs = [...text]; // spans count Unicode characters, not UTF-16 units
        add(body, signs.slice(0, found.start).join(""), make("mark", "", signs.slice(found.start, found.end).join("")), signs.slice(found.end).join(""));
      } else body.textContent = text;
      if (found) part.classList.add("evidence");
      node.append(part);
    });
    return node;
  }

  function replies(calls) {
    if (!calls.length) return null;
    const node = makeFolded(calls.length + (calls.length === 1 ? " reply" : " replies") + " of the model");
    for (const call of calls) {
      const facts = call.input_tokens.toLocaleString("en") + " → " + call.output_tokens.toLocaleString("en") + " tokens, " + call.seconds.toFixed(2) + " s" + (call.stored ? ", shared or stored" : "");
      add(node, make("h4", "", call.name + " · " + facts), make("pre", "", call.reply));
    }
    return node;
  }

  function heads() {
    ["#", "question", ...methods].forEach((name, place) => {
      const head = make("th"), button = make("button", "", name);
      head.scope = "col";
      button.addEventListener("click", () => {
        const sort = place - 1;
        state.down = state.sort === sort ? !state.down : place > 1;
        state.sort = sort; state.page = 0;
        draw();
      });
      add(byId("head"), add(head, button));
    });
    methods.forEach((name, place) => { const option = make("option", "", name); option.value = place; byId("method").append(option); });
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
      const button = make("button", "", head.textContent);
      button.addEventListener("click", () => {
        const down = head.getAttribute("aria-sort") ? head.getAttribute("aria-sort") === "ascending" : place > 0;
        titles.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        lines.sort((one, other) => {
          const [a, b] = [value(one, place), value(other, place)];
          return Number.isNaN(a) || Number.isNaN(b) ? Number.isNaN(a) - Number.isNaN(b) : ((a > b) - (a < b)) * (down ? -1 : 1);
        });
        body.replaceChildren(...lines);
      });
      head.replaceChildren(button);
    });
  }

  // The curves of confidence: a curve is highlighted while the pointer is over the curve or over its name.
  function highlightCurves() {
    const section = document.querySelector(".key.lines")?.parentElement;
    if (!section) return;
    section.addEventListener("pointerover", (event) => {
      const method = event.target.closest("[data-method]")?.dataset.method;
      section.classList.toggle("chosen-line", method !== undefined);
      section.querySelectorAll(".line").forEach((line) => line.classList.toggle("lit", line.dataset.method === method));
    });
  }

  makeSortable();
  highlightCurves();
  heads();
  document.querySelector(".questions").classList.toggle("many", methods.length > 8);
  byId("text").addEventListener("input", (event) => { state.text = event.target.value; state.page = 0; draw(); });
  byId("kind").addEventListener("change", (event) => { state.kind = event.target.value; state.page = 0; draw(); });
  byId("method").addEventListener("change", (event) => { state.method = Number(event.target.value); state.page = 0; draw(); });
  byId("before").addEventListener("click", () => { state.page -= 1; draw(); });
  byId("after").addEventListener("click", () => { state.page += 1; draw(); });
  byId("explore").hidden = false;
  draw();
})();

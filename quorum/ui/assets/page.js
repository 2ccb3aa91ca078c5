"use strict";
// Lights the nodes of a graph: a figure says in data-lights how each node stands, {name: [phase, begun, ended]}, and
// this puts it on the nodes of the drawing, whichever of the two comes first.
(() => {
  const SVG = "http://www.w3.org/2000/svg";

  function nodes(figure) {
    const found = new Map();
    for (const node of figure.querySelectorAll("g.node")) {
      const name = /flowchart-(.+)-\d+$/.exec(node.id);
      if (name) found.set(name[1], node);
    }
    return found;
  }

  function count(node, begun, ended) {
    let badge = node.querySelector(":scope > .times");
    if (begun < 2 && !badge) return;
    if (!badge) {
      const box = node.getBBox();
      badge = document.createElementNS(SVG, "text");
      badge.setAttribute("class", "times");
      badge.setAttribute("x", box.x + box.width + 4);
      badge.setAttribute("y", box.y + 8);
      node.append(badge);
    }
    const text = ended < begun ? ended + "/" + begun : "×" + begun;
    if (badge.textContent !== text) badge.textContent = text; // only what changes, or the observer would see it for ever
  }

  function light(figure) {
    const drawn = nodes(figure);
    for (const [name, [phase, begun, ended]] of Object.entries(JSON.parse(figure.dataset.lights || "{}"))) {
      const node = drawn.get(name);
      if (!node) continue;
      if (node.dataset.state !== phase) node.dataset.state = phase;
      count(node, begun, ended);
    }
  }

  new MutationObserver((changes) => {
    const figures = new Set();
    for (const change of changes) {
      const figure = change.target.closest?.("figure.graph");
      if (figure) figures.add(figure);
      for (const added of change.addedNodes) added.querySelectorAll?.("figure.graph").forEach((one) => figures.add(one));
    }
    figures.forEach(light);
  }).observe(document, { subtree: true, childList: true, attributes: true, attributeFilter: ["data-lights"] });
})();

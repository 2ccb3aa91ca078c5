"use strict";
// Colours the nodes of a graph during a run. The attribute data-node-states of a figure holds the state of each node:
// {name: [phase, how often the node has begun, how often it has ended]}. This script copies the states to the nodes of the
// SVG, whether the attribute or the SVG is added to the page first.
(() => {
  const SVG = "http://www.w3.org/2000/svg";

  function findNodes(figure) {
    const nodesByName = new Map();
    for (const node of figure.querySelectorAll("g.node")) {
      const match = /flowchart-(.+)-\d+$/.exec(node.id); // Mermaid's id of the node, which contains its name
      if (match) nodesByName.set(match[1], node);
    }
    return nodesByName;
  }

  // If a node runs several times, writes a count beside it: "2/5" while two of five runs have ended, then "×5".
  function showCount(node, begun, ended) {
    let badge = node.querySelector(":scope > .run-count");
    if (begun < 2 && !badge) return;
    if (!badge) {
      const box = node.getBBox();
      badge = document.createElementNS(SVG, "text");
      badge.setAttribute("class", "run-count");
      badge.setAttribute("x", box.x + box.width + 4);
      badge.setAttribute("y", box.y + 8);
      node.append(badge);
    }
    const text = ended < begun ? ended + "/" + begun : "×" + begun;
    if (badge.textContent !== text) badge.textContent = text; // write only a change: each write calls the observer again
  }

  function showStates(figure) {
    const svgNodes = findNodes(figure);
    for (const [name, [phase, begun, ended]] of Object.entries(JSON.parse(figure.dataset.nodeStates || "{}"))) {
      const node = svgNodes.get(name);
      if (!node) continue;
      if (node.dataset.state !== phase) node.dataset.state = phase;
      showCount(node, begun, ended);
    }
  }

  new MutationObserver((changes) => {
    const figures = new Set();
    for (const change of changes) {
      const figure = change.target.closest?.("figure.graph");
      if (figure) figures.add(figure);
      for (const added of change.addedNodes) added.querySelectorAll?.("figure.graph").forEach((graph) => figures.add(graph));
    }
    figures.forEach(showStates);
  }).observe(document, { subtree: true, childList: true, attributes: true, attributeFilter: ["data-node-states"] });
})();

"use strict";
// Draws the recording on a canvas: panning and zooming thousands of nodes stays smooth, which elements would not.
(() => {
  const recording = JSON.parse(document.getElementById("recording").textContent);
  const { nodes, edges, groups, hazards } = recording;
  const { width: nodeWidth, height: nodeHeight } = recording.node;
  const canvas = document.getElementById("drawing");
  const context = canvas.getContext("2d");
  const details = document.getElementById("details");
  const search = document.getElementById("search");
  const matchesText = document.getElementById("matches");
  const MOST_LISTED = 200;
  const SMALLEST_TEXT = 0.45;
  const SMALLEST_ARROW = 0.25;

  const indexOf = new Map(nodes.map((node, index) => [node.id, index]));
  const waitsFor = nodes.map(() => []);
  const waitedBy = nodes.map(() => []);
  for (const [source, target] of edges) {
    waitsFor[target].push(source);
    waitedBy[source].push(target);
  }
  const hazardsOf = nodes.map(() => []);
  for (const hazard of hazards) {
    for (const id of hazard.nodes) hazardsOf[indexOf.get(id)].push(hazard);
  }

  const view = { x: 0, y: 0, scale: 1 };
  let selected = -1;
  let matches = [];
  let current = -1;
  let colours = {};
  let waiting = false;

  function readColours() {
    const style = getComputedStyle(document.documentElement);
    for (const name of ["paper", "ink", "faint", "line", "edge", "inferred", "event", "hazard", "accent", "group",
      "fill", "update", "copy", "dispatch", "other", "join"]) {
      colours[name] = style.getPropertyValue("--" + name).trim();
    }
  }

  function redraw() {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; draw(); });
  }

  function resize() {
    const ratio = window.devicePixelRatio || 1;
    canvas.width = Math.max(1, Math.round(canvas.clientWidth * ratio));
    canvas.height = Math.max(1, Math.round(canvas.clientHeight * ratio));
    redraw();
  }

  function fit() {
    const margin = 40;
    const across = (canvas.clientWidth - margin) / Math.max(recording.width, 1);
    const down = (canvas.clientHeight - margin) / Math.max(recording.height, 1);
    view.scale = Math.min(1.2, Math.max(0.01, Math.min(across, down)));
    view.x = (canvas.clientWidth - recording.width * view.scale) / 2;
    view.y = Math.max(margin / 2, (canvas.clientHeight - recording.height * view.scale) / 2);
    redraw();
  }

  function screenPosition(index) {
    const { x, y } = nodes[index];
    return [(x + nodeWidth / 2) * view.scale + view.x, (y + nodeHeight / 2) * view.scale + view.y];
  }

  function nodeAt(screenX, screenY) {
    const x = (screenX - view.x) / view.scale;
    const y = (screenY - view.y) / view.scale;
    return nodes.findIndex((node) => x >= node.x && x <= node.x + nodeWidth && y >= node.y && y <= node.y + nodeHeight);
  }

  function visibleArea() {
    return {
      left: -view.x / view.scale, top: -view.y / view.scale,
      right: (canvas.clientWidth - view.x) / view.scale, bottom: (canvas.clientHeight - view.y) / view.scale,
    };
  }

  function draw() {
    const ratio = window.devicePixelRatio || 1;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.fillStyle = colours.paper;
    context.fillRect(0, 0, canvas.clientWidth, canvas.clientHeight);
    context.setTransform(view.scale * ratio, 0, 0, view.scale * ratio, view.x * ratio, view.y * ratio);
    const area = visibleArea();
    drawGroups(area);
    drawEdges(area);
    drawHazards();
    drawNodes(area);
  }

  function drawGroups(area) {
    context.lineWidth = 1 / view.scale;
    context.setLineDash([6 / view.scale, 4 / view.scale]);
    context.font = "12px system-ui, sans-serif";
    for (const group of groups) {
      if (group.bottom < area.top || group.top > area.bottom) continue;
      const pad = 12 - 3 * Math.min(group.depth, 3);
      context.strokeStyle = group.color ?? colours.group;
      context.strokeRect(group.left - pad, group.top - pad, group.right - group.left + 2 * pad,
        group.bottom - group.top + 2 * pad);
      if (view.scale >= SMALLEST_ARROW) {
        context.fillStyle = group.color ?? colours.group;
        context.fillText(group.label, group.left - pad + 2, group.top - pad - 3);
      }
    }
    context.setLineDash([]);
  }

  function drawEdges(area) {
    context.lineWidth = Math.max(1, 0.6 / view.scale);
    for (const kind of ["barrier", "inferred", "event"]) {
      context.strokeStyle = kind === "barrier" ? colours.edge : colours[kind];
      context.beginPath();
      for (const edge of edges) if (edge[2] === kind) tracePath(edge, area);
      context.stroke();
    }
    if (selected < 0) return;
    context.strokeStyle = colours.accent;
    context.lineWidth *= 2;
    context.beginPath();
    for (const edge of edges) if (edge[0] === selected || edge[1] === selected) tracePath(edge, area);
    context.stroke();
  }

  function tracePath([source, target], area) {
    const fromX = nodes[source].x + nodeWidth / 2, fromY = nodes[source].y + nodeHeight;
    const toX = nodes[target].x + nodeWidth / 2, toY = nodes[target].y;
    if (toY < area.top || fromY > area.bottom) return;
    if (Math.max(fromX, toX) < area.left || Math.min(fromX, toX) > area.right) return;
    context.moveTo(fromX, fromY);
    if (view.scale < SMALLEST_ARROW) {
      context.lineTo(toX, toY);
      return;
    }
    const bend = (toY - fromY) / 2;
    context.bezierCurveTo(fromX, fromY + bend, toX, toY - bend, toX, toY);
    context.moveTo(toX - 4, toY - 7);
    context.lineTo(toX, toY);
    context.lineTo(toX + 4, toY - 7);
  }

  function drawHazards() {
    context.lineWidth = 2 / view.scale;
    context.setLineDash([5 / view.scale, 3 / view.scale]);
    context.strokeStyle = colours.hazard;
    for (const hazard of hazards) {
      const [first, second] = hazard.nodes.map((id) => nodes[indexOf.get(id)]);
      context.beginPath();
      context.moveTo(first.x + nodeWidth / 2, first.y + nodeHeight / 2);
      context.lineTo(second.x + nodeWidth / 2, second.y + nodeHeight / 2);
      context.stroke();
    }
    context.setLineDash([]);
  }

  function drawNodes(area) {
    const marked = new Set(matches);
    context.textBaseline = "middle";
    nodes.forEach((node, index) => {
      if (node.x > area.right || node.x + nodeWidth < area.left) return;
      if (node.y > area.bottom || node.y + nodeHeight < area.top) return;
      context.fillStyle = colours[node.kind] || colours.other;
      context.beginPath();
      context.roundRect(node.x, node.y, nodeWidth, nodeHeight, node.kind === "join" ? nodeHeight / 2 : 6);
      context.fill();
      context.strokeStyle = index === selected || marked.has(index) ? colours.accent
        : hazardsOf[index].length ? colours.hazard : colours.line;
      context.lineWidth = (index === selected ? 3 : marked.has(index) ? 2 : 1) / Math.min(1, view.scale * 2);
      context.stroke();
      if (view.scale >= SMALLEST_TEXT) drawText(node);
    });
    context.textBaseline = "alphabetic";
  }

  function drawText(node) {
    context.save();
    context.beginPath();
    context.rect(node.x + 6, node.y, nodeWidth - 12, nodeHeight);
    context.clip();
    context.fillStyle = colours.ink;
    context.font = "600 13px system-ui, sans-serif";
    context.fillText(node.lines[0], node.x + 9, node.y + (node.lines.length > 1 ? 15 : nodeHeight / 2));
    if (node.microseconds !== undefined) {
      context.fillStyle = colours.accent;
      context.font = "12px system-ui, sans-serif";
      context.textAlign = "right";
      context.fillText(`${node.microseconds} us`, node.x + nodeWidth - 8, node.y + 15);
      context.textAlign = "left";
    }
    if (node.lines.length > 1) {
      context.fillStyle = colours.faint;
      context.font = "12px ui-monospace, monospace";
      context.fillText(node.lines[1], node.x + 9, node.y + 33);
    }
    context.restore();
  }

  function element(name, text, className) {
    const made = document.createElement(name);
    made.textContent = text;
    if (className) made.className = className;
    return made;
  }

  function listNodes(heading, indices) {
    if (!indices.length) return;
    details.append(element("h3", `${heading} (${indices.length})`));
    for (const index of indices.slice(0, MOST_LISTED)) {
      const link = element("a", nodes[index].lines[0]);
      link.tabIndex = 0;
      link.onclick = () => select(index, true);
      link.onkeydown = (event) => { if (event.key === "Enter") select(index, true); };
      details.append(link);
    }
    if (indices.length > MOST_LISTED) details.append(element("p", `and ${indices.length - MOST_LISTED} more`));
  }

  function select(index, bring) {
    selected = index;
    details.replaceChildren();
    if (index < 0) {
      details.append(element("p", "Click a node for its details."));
      redraw();
      return;
    }
    const node = nodes[index];
    details.append(element("h2", node.lines[0]), element("pre", node.lines.slice(1).join("\n")));
    if (node.groups.length) details.append(element("h3", "in " + node.groups.join(" / ")));
    details.append(element("h3", `layer ${node.layer}, node ${node.id}`));
    for (const hazard of hazardsOf[index]) details.append(element("p", hazard.text, "hazard"));
    listNodes("waits for", waitsFor[index]);
    listNodes("waited for by", waitedBy[index]);
    history.replaceState(null, "", "#" + node.id);
    if (bring) bringIntoView(index);
    redraw();
  }

  function bringIntoView(index) {
    view.scale = Math.max(view.scale, 0.7);
    const [x, y] = screenPosition(index);
    view.x += canvas.clientWidth / 2 - x;
    view.y += canvas.clientHeight / 2 - y;
  }

  function find() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    matches = [];
    if (words.length) {
      nodes.forEach((node, index) => {
        const text = (node.id + "\n" + node.lines.join("\n") + "\n" + node.groups.join("\n")).toLowerCase();
        if (words.every((word) => text.includes(word))) matches.push(index);
      });
    }
    current = -1;
    matchesText.textContent = words.length ? `${matches.length} found` : "";
    redraw();
  }

  function nextMatch(step) {
    if (!matches.length) return;
    current = (current + step + matches.length) % matches.length;
    matchesText.textContent = `${current + 1} of ${matches.length}`;
    select(matches[current], true);
  }

  function zoom(factor, x, y) {
    const scale = Math.min(4, Math.max(0.005, view.scale * factor));
    view.x = x - (x - view.x) * (scale / view.scale);
    view.y = y - (y - view.y) * (scale / view.scale);
    view.scale = scale;
    redraw();
  }

  let drag = null;
  canvas.addEventListener("pointerdown", (event) => {
    drag = { x: event.offsetX, y: event.offsetY, moved: false };
    if (event.isTrusted) canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!drag) return;
    const dx = event.offsetX - drag.x, dy = event.offsetY - drag.y;
    if (!drag.moved && Math.abs(dx) + Math.abs(dy) < 4) return;
    drag = { x: event.offsetX, y: event.offsetY, moved: true };
    view.x += dx;
    view.y += dy;
    redraw();
  });
  canvas.addEventListener("pointerup", (event) => {
    if (drag && !drag.moved) select(nodeAt(event.offsetX, event.offsetY), false);
    drag = null;
  });
  canvas.addEventListener("pointercancel", () => { drag = null; });
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    zoom(Math.exp(-event.deltaY * (event.ctrlKey ? 0.01 : 0.0015)), event.offsetX, event.offsetY);
  }, { passive: false });
  search.addEventListener("input", find);
  search.addEventListener("keydown", (event) => {
    if (event.key === "Enter") nextMatch(event.shiftKey ? -1 : 1);
    if (event.key === "Escape") { search.value = ""; find(); canvas.focus(); }
  });
  document.getElementById("fit").addEventListener("click", fit);
  document.addEventListener("keydown", (event) => {
    if (event.target === search || event.ctrlKey || event.metaKey || event.altKey) return;
    const middle = [canvas.clientWidth / 2, canvas.clientHeight / 2];
    const step = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] }[event.key];
    if (event.key === "/") { event.preventDefault(); search.focus(); }
    else if (event.key === "0") fit();
    else if (event.key === "+" || event.key === "=") zoom(1.25, ...middle);
    else if (event.key === "-") zoom(0.8, ...middle);
    else if (event.key === "Escape") select(-1, false);
    else if (step) { event.preventDefault(); view.x += step[0]; view.y += step[1]; redraw(); }
  });
  window.addEventListener("resize", resize);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { readColours(); redraw(); });

  document.getElementById("title").textContent = recording.title;
  document.getElementById("summary").textContent = recording.summary;
  readColours();
  resize();
  fit();
  const linked = indexOf.get(decodeURIComponent(location.hash.slice(1)));
  if (linked !== undefined) select(linked, true);
  draw();
  window.viewer = { nodes, screenPosition: (id) => screenPosition(indexOf.get(id)) };
  document.documentElement.dataset.ready = "yes";
})();

"use strict";
// What every figure on the page uses: nodes, axes, a box that tells values. The data is in the page.
const draw = (() => {
  const svgNode = (parent, name, attributes, text) => {
    const node = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const key in attributes) node.setAttribute(key, attributes[key]);
    if (text !== undefined) node.textContent = text;
    parent.append(node);
    return node;
  };
  const htmlNode = (parent, name, className, text) => {
    const node = document.createElement(name);
    if (className) node.className = className;
    if (text !== undefined) node.textContent = text;
    parent.append(node);
    return node;
  };
  const colour = (index) => `var(--s${index % 7})`;

  // A step of 1, 2 or 5 times a power of ten that divides `span` into at most about `count` parts.
  const niceStep = (span, count) => {
    const raw = span / count, power = 10 ** Math.floor(Math.log10(raw));
    return power * [1, 2, 5, 10].find((factor) => factor * power >= raw * 0.9);
  };
  const short = (value) => value === 0 ? "0" : String(Number(value.toPrecision(3)));

  // An axis from `low`, or a mark below it, to a little above `high`: where a value stands between 0 and 1, and the
  // marks to write.
  const linear = (low, high, count) => {
    const step = niceStep(high - low || Math.abs(high) || 1, count);
    const from = Math.floor(low / step + 1e-9) * step, to = high > from ? high + (high - from) * 0.03 : from + step;
    const marks = [];
    for (let i = 0; from + i * step <= to; i++) marks.push(from + i * step);
    return { at: (value) => (value - from) / (to - from), marks: marks.map((value) => [value, short(value)]) };
  };
  const logarithmic = (low, high) => {
    const from = Math.floor(Math.log10(low) + 1e-9), to = Math.max(Math.ceil(Math.log10(high) - 1e-9), from + 1);
    const factors = to - from > 3 ? [1] : to - from > 1 ? [1, 3] : [1, 2, 5], marks = [];
    for (let power = from; power <= to; power++) {
      for (const factor of factors) if (power < to || factor === 1) marks.push(factor * 10 ** power);
    }
    return { at: (value) => (Math.log10(value) - from) / (to - from), marks: marks.map((value) => [value, short(value)]) };
  };

  // A box beside the cursor: a heading, and a line with its colour for each value.
  const tip = (figure) => {
    const box = htmlNode(figure, "div", "tip");
    box.setAttribute("aria-live", "polite");
    return {
      hide: () => { box.style.visibility = "hidden"; },
      show: (heading, rows, x, width) => {
        box.replaceChildren();
        htmlNode(box, "div", "at", heading);
        for (const row of rows) {
          const line = htmlNode(box, "div");
          htmlNode(line, "i", "swatch").style.background = row.colour;
          line.append(row.text);
        }
        box.style.left = x > width / 2 ? "" : `${x + 12}px`;
        box.style.right = x > width / 2 ? `${width - x + 12}px` : "";
        box.style.visibility = "visible";
      },
    };
  };

  // How wide a figure is drawn: no wider than there is room, so that its text is not made smaller.
  const widthIn = (box, most) => Math.min(most, box.clientWidth || most);
  const onResize = (redraw) => {
    let asked = 0;
    addEventListener("resize", () => { cancelAnimationFrame(asked); asked = requestAnimationFrame(redraw); });
  };

  // A figure without pointer: arrow keys, Home and End move through `count()` places, Escape hides.
  const onKeys = (node, count, move, hide) => {
    let place = -1;
    node.tabIndex = 0;
    node.addEventListener("blur", hide);
    node.addEventListener("keydown", (event) => {
      const last = count() - 1, big = Math.max(1, Math.round(last / 20));
      const steps = { ArrowRight: place + 1, ArrowLeft: place < 0 ? last : place - 1, PageDown: place + big, PageUp: place - big, Home: 0, End: last };
      if (event.key === "Escape") { place = -1; return hide(); }
      if (!(event.key in steps) || last < 0) return;
      event.preventDefault();
      place = Math.min(last, Math.max(0, steps[event.key]));
      move(place);
    });
  };

  const data = JSON.parse(document.getElementById("data").textContent);
  const each = (selector, render) => {
    for (const place of document.querySelectorAll(selector)) render(place, data[Number(place.dataset.index)]);
  };

  // The labels of rows stay in sight, one behind the other, while numbers are scrolled under them.
  const pinLabels = () => {
    for (const table of document.querySelectorAll("table.numbers")) {
      const most = table.parentElement.clientWidth * 0.6, places = [];
      let left = 0;
      for (const title of table.tHead.rows[table.tHead.rows.length - 1].querySelectorAll("th.label")) {
        places.push(left + title.offsetWidth <= most ? `${left}px` : "");
        left += title.offsetWidth;
      }
      for (const row of table.rows) row.querySelectorAll("th.label").forEach((label, column) => { label.style.left = places[column]; });
    }
  };
  pinLabels();
  onResize(pinLabels);

  // Of the compared measures one is shown at a time; without this script, and in print, all are.
  for (const place of document.querySelectorAll(".measures")) {
    const parts = [...place.querySelectorAll(".measure")];
    if (parts.length < 2) continue;
    const label = document.createElement("label");
    const choice = htmlNode(label, "select");
    label.prepend("Measure ");
    label.className = "choice";
    parts.forEach((part, index) => { htmlNode(choice, "option", "", part.dataset.title).value = index; });
    const show = () => parts.forEach((part, index) => { part.hidden = index !== Number(choice.value); });
    choice.addEventListener("change", show);
    place.prepend(label);
    show();
  }
  return { svgNode, htmlNode, colour, short, linear, logarithmic, tip, widthIn, onResize, onKeys, each };
})();

// Draws the [[figures]] of scenarios: a pane for each value of one key, a line for each value of another, whiskers for
// the 95 % intervals; of one measure over another points, and ellipses for one standard deviation of the runs. Lines can be switched off, both axes changed, and every value be read by pointer or arrow keys.
(() => {
  const { svgNode, htmlNode, colour, linear, logarithmic } = draw;
  const MOST_WIDTH = 460, HEIGHT = 300, LEFT = 52, RIGHT = 14, TOP = 12, BOTTOM = 44;
  const DASHES = ["", "6 4", "2 3", "8 3 2 3"];
  const MARKS = [
    (x, y) => `M${x - 3.5} ${y}a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0z`,
    (x, y) => `M${x - 3.2} ${y - 3.2}h6.4v6.4h-6.4z`,
    (x, y) => `M${x} ${y - 4.4}l4 7h-8z`,
    (x, y) => `M${x} ${y - 4.6}l4.6 4.6l-4.6 4.6l-4.6 -4.6z`,
    (x, y) => `M${x} ${y + 4.4}l4 -7h-8z`,
  ];
  const STEP = 0, Y = 1, LOW = 2, HIGH = 3, TEXT = 4, INTERVAL = 5, CELL = 6, SPREAD = 7;
  const MEAN_X = 0, MEAN_Y = 1, DEVIATION_X = 2, DEVIATION_Y = 3, CORRELATION = 4, CORNERS = 48;

  const withUnit = (text, unit) => unit ? `${text} ${unit}` : text;
  // The unit of an axis is in its labels where the file writes it there: 5%, 20ms.
  const axisTitle = (axis) => axis.unit ? `${axis.title}, ${axis.unit}` : axis.title;
  const nameOf = (figure, line) => {
    const own = figure.legend[line.label] || "", entry = figure.entries.length > 1 ? figure.entries[line.entry] : "";
    return [own, entry].filter(Boolean).join(", ") || figure.y.title;
  };

  // What both axes can be: logarithmic only without zeros, numbers only where every value is one.
  const scalesOf = (figure) => {
    const numbers = figure.x.steps.map((step) => step[1]);
    const x = figure.x.measured ? ["linear"] : numbers.every((value) => value !== null) ? ["linear", "even"] : ["even"];
    if (x[0] === "linear" && numbers.every((value) => value > 0)) x.splice(1, 0, "log");
    const values = figure.panes.flatMap((pane) => pane.lines.flatMap((line) => line.points.map((point) => point[Y])));
    return { x, y: values.some((value) => value > 0) ? ["linear", "log"] : ["linear"] };
  };

  // How the runs lie around the points that are shown, and how far that reaches along one axis.
  const spreads = (figure, state) => figure.panes.flatMap((pane) => pane.lines.filter((line) => isShown(state, line)))
    .flatMap((line) => line.points.map((point) => point[SPREAD]).filter(Boolean));
  const ends = (spread, mean, deviation) => [spread[mean] - spread[deviation], spread[mean] + spread[deviation]];

  // Corners of a polygon along the ellipse of one standard deviation.
  const outline = (spread) => {
    const own = Math.sqrt(1 - spread[CORRELATION] ** 2);
    return Array.from({ length: CORNERS }, (_, corner) => {
      const angle = 2 * Math.PI * corner / CORNERS, [sine, cosine] = [Math.sin(angle), Math.cos(angle)];
      return [spread[MEAN_X] + spread[DEVIATION_X] * cosine, spread[MEAN_Y] + spread[DEVIATION_Y] * (spread[CORRELATION] * cosine + own * sine)];
    });
  };

  const horizontal = (figure, state) => {
    const steps = figure.x.steps;
    if (state.x === "even") {
      const at = (step) => (step + 0.5) / steps.length;
      return { at, marks: steps.map((step, index) => [index, step[0]]), isEven: true };
    }
    const numbers = steps.map((step) => step[1]);
    const spread = spreads(figure, state).flatMap((spread) => ends(spread, MEAN_X, DEVIATION_X));
    const inside = numbers.concat(spread).filter((value) => state.x !== "log" || value > 0);
    const [low, high] = [Math.min(...inside), Math.max(...inside)];
    const axis = state.x === "log" ? logarithmic(low, high) : linear(low, high, 5);
    const marks = axis.marks.map(([value, text]) => [value, text]);
    return { at: (step) => axis.at(numbers[step]), marks, place: axis.at };
  };

  const vertical = (figure, state) => {
    const visible = figure.panes.flatMap((pane) => pane.lines.filter((line) => isShown(state, line)));
    const intervals = visible.flatMap((line) => line.points.flatMap((point) => figure.x.measured ? [point[Y]] : [point[Y], point[LOW], point[HIGH]]));
    const around = spreads(figure, state).flatMap((spread) => ends(spread, MEAN_Y, DEVIATION_Y));
    const values = intervals.concat(around).filter((value) => value !== null);
    if (state.y === "log") {
      const positive = values.filter((value) => value > 0);
      return positive.length ? logarithmic(Math.min(...positive), Math.max(...positive)) : linear(0, 1, 5);
    }
    return linear(Math.min(0, ...values), Math.max(0, ...values) || 1, 5);
  };

  const isShown = (state, line) => !state.hiddenLabels.has(line.label) && !state.hiddenEntries.has(line.entry);

  // Labels of evenly spaced places that do not fit side by side.
  const needsSlant = (x, width) => Boolean(x.isEven) && x.marks.some(([, text]) => text.length * 6 > (width - LEFT - RIGHT) / x.marks.length);

  const drawAxes = (svg, figure, width, x, y, px, py, isSlanted) => {
    for (const [value, text] of y.marks) {
      const at = py(y.at(value));
      svgNode(svg, "line", { class: "grid", x1: LEFT, x2: width - RIGHT, y1: at, y2: at });
      svgNode(svg, "text", { x: LEFT - 6, y: at + 3.5, "text-anchor": "end" }, text);
    }
    for (const [value, text] of x.marks) {
      const at = px(x.place ? x.place(value) : x.at(value)), base = HEIGHT - BOTTOM;
      svgNode(svg, "line", { class: "axis", x1: at, x2: at, y1: base, y2: base + 4 });
      const attributes = isSlanted
        ? { x: at, y: base + 12, "text-anchor": "end", transform: `rotate(-25 ${at} ${base + 12})` }
        : { x: at, y: base + 16, "text-anchor": "middle" };
      svgNode(svg, "text", attributes, text.length > 22 ? `${text.slice(0, 21)}…` : text);
    }
    svgNode(svg, "line", { class: "axis", x1: LEFT, x2: width - RIGHT, y1: HEIGHT - BOTTOM, y2: HEIGHT - BOTTOM });
    const isNumbers = !x.isEven;
    svgNode(svg, "text", { class: "title", x: (LEFT + width - RIGHT) / 2, y: HEIGHT - 4 + (isSlanted ? 14 : 0), "text-anchor": "middle" }, isNumbers ? axisTitle(figure.x) : figure.x.title);
    svgNode(svg, "text", { class: "title", transform: `rotate(-90 12 ${HEIGHT / 2 - 14})`, x: 12, y: HEIGHT / 2 - 14, "text-anchor": "middle" }, axisTitle(figure.y));
  };

  const drawLine = (svg, figure, line, x, y, px, py, isLog) => {
    const drawable = line.points.filter((point) => !isLog || point[Y] > 0);
    const place = (point) => [px(x.at(point[STEP])), py(y.at(point[Y]))];
    const group = svgNode(svg, "g", { class: "line", style: `--c:${colour(line.label)}` });
    const path = drawable.map((point) => place(point).map((value) => value.toFixed(1)).join(" ")).join("L");
    for (const spread of figure.x.measured ? drawable.map((point) => point[SPREAD]).filter(Boolean) : []) {
      const corners = outline(spread).map(([right, up]) => [px(x.place(right)), py(y.at(up))].map((value) => value.toFixed(1)).join(" "));
      if (!corners.join().includes("NaN")) svgNode(group, "path", { class: "spread", d: `M${corners.join("L")}Z` });
    }
    if (path && !figure.x.measured) svgNode(group, "path", { class: "curve", d: "M" + path, "stroke-dasharray": DASHES[line.entry % DASHES.length] });
    for (const point of drawable) {
      const [at, level] = place(point);
      if (point[LOW] !== null && !figure.x.measured && (!isLog || point[LOW] > 0)) {
        const [low, high] = [py(y.at(point[LOW])), py(y.at(point[HIGH]))];
        svgNode(group, "path", { class: "whisker", d: `M${at - 3} ${low}h6m-3 0V${high}m-3 0h6` });
      }
      svgNode(group, "path", { class: "mark", d: MARKS[line.label % MARKS.length](at, level) });
    }
  };

  const drawPane = (parent, figure, pane, state) => {
    const box = htmlNode(parent, "figure");
    if (pane.title) htmlNode(box, "figcaption", "", pane.title);
    const lines = pane.lines.filter((line) => isShown(state, line));
    const x = horizontal(figure, state), y = vertical(figure, state), width = draw.widthIn(box, MOST_WIDTH), isSlanted = needsSlant(x, width);
    const svg = svgNode(box, "svg", {
      viewBox: `0 0 ${width} ${HEIGHT + (isSlanted ? 14 : 0)}`, role: "group",
      "aria-label": `${figure.title}${pane.title ? `, ${pane.title}` : ""}; arrow keys move through the values`,
    });
    const px = (share) => LEFT + share * (width - LEFT - RIGHT), py = (share) => TOP + (1 - share) * (HEIGHT - TOP - BOTTOM);
    drawAxes(svg, figure, width, x, y, px, py, isSlanted);
    for (const line of lines) drawLine(svg, figure, line, x, y, px, py, state.y === "log");
    const cursor = svgNode(svg, "line", { class: "cursor", y1: TOP, y2: HEIGHT - BOTTOM });
    const tip = draw.tip(box);
    const hide = () => { cursor.style.visibility = "hidden"; tip.hide(); };
    const steps = [...new Set(lines.flatMap((line) => line.points.map((point) => point[STEP])))].sort((a, b) => x.at(a) - x.at(b));
    const show = (step) => {
      const at = px(x.at(step)), scale = svg.getBoundingClientRect().width / width;
      cursor.setAttribute("x1", at);
      cursor.setAttribute("x2", at);
      cursor.style.visibility = "visible";
      const rows = lines.flatMap((line) => line.points.filter((point) => point[STEP] === step).map((point) => ({
        colour: colour(line.label),
        text: `${[nameOf(figure, line), point[CELL]].filter(Boolean).join(", ")}: ${withUnit(point[TEXT], figure.y.unit)}${point[INTERVAL] ? ` (${point[INTERVAL]})` : ""}`,
      })));
      tip.show(`${figure.x.title} ${figure.x.steps[step][0]}`, rows, at * scale, width * scale);
    };
    svg.addEventListener("pointerleave", hide);
    svg.addEventListener("pointermove", (event) => {
      const frame = svg.getBoundingClientRect(), at = (event.clientX - frame.left) / frame.width * width;
      if (!steps.length) return hide();
      show(steps.reduce((best, step) => Math.abs(px(x.at(step)) - at) < Math.abs(px(x.at(best)) - at) ? step : best));
    });
    draw.onKeys(svg, () => steps.length, (place) => show(steps[place]), hide);
  };

  const button = (parent, text, isPressed, onClick) => {
    const node = htmlNode(parent, "button", "", text);
    node.type = "button";
    const set = (pressed) => node.setAttribute("aria-pressed", String(pressed));
    set(isPressed);
    node.addEventListener("click", () => set(onClick()));
    return node;
  };

  const toggle = (hidden, index) => {
    if (!hidden.delete(index)) hidden.add(index);
    return !hidden.has(index);
  };

  // Names of lines; pressed is shown.
  const drawLegend = (parent, figure, state, redraw) => {
    const legend = htmlNode(parent, "div", "legend");
    legend.setAttribute("role", "group");
    legend.setAttribute("aria-label", `Lines${figure.lines_by ? `: ${figure.lines_by}` : ""}`);
    if (figure.legend.length > 1 || figure.legend[0]) figure.legend.forEach((label, index) => {
      const node = button(legend, "", true, () => { const shown = toggle(state.hiddenLabels, index); redraw(); return shown; });
      const key = svgNode(node, "svg", { viewBox: "0 0 26 12", width: 26, height: 12, "aria-hidden": "true", style: `--c:${colour(index)}` });
      svgNode(key, "path", { class: "curve", d: "M1 6H25" });
      svgNode(key, "path", { class: "mark", d: MARKS[index % MARKS.length](13, 6) });
      node.append(label || "all");
    });
    if (figure.entries.length > 1) figure.entries.forEach((entry, index) => {
      const node = button(legend, "", true, () => { const shown = toggle(state.hiddenEntries, index); redraw(); return shown; });
      const key = svgNode(node, "svg", { viewBox: "0 0 26 12", width: 26, height: 12, "aria-hidden": "true", style: "--c:currentColor" });
      svgNode(key, "path", { class: "curve", d: "M1 6H25", "stroke-dasharray": DASHES[index % DASHES.length] });
      node.append(entry);
    });
  };

  const drawScales = (parent, figure, state, redraw) => {
    const scales = scalesOf(figure), box = htmlNode(parent, "div", "scales");
    for (const axis of ["x", "y"]) {
      if (scales[axis].length < 2) continue;
      const label = htmlNode(box, "label", "choice", axis === "x" ? "→ " : "↑ ");
      const choice = htmlNode(label, "select");
      choice.setAttribute("aria-label", `Scale of ${figure[axis].title}`);
      for (const scale of scales[axis]) htmlNode(choice, "option", "", { even: "evenly spaced", log: "logarithmic", linear: "linear" }[scale]).value = scale;
      choice.value = state[axis];
      choice.addEventListener("change", () => { state[axis] = choice.value; redraw(); });
    }
  };

  // The numbers as a table: for those who cannot see the figure, and to copy from.
  const drawNumbers = (parent, figure) => {
    const details = htmlNode(parent, "details");
    htmlNode(details, "summary", "", "Numbers");
    const scroll = htmlNode(details, "div", "scroll");
    scroll.tabIndex = 0;
    const table = htmlNode(scroll, "table", "text"), head = htmlNode(htmlNode(table, "thead"), "tr"), body = htmlNode(table, "tbody");
    for (const text of [...(figure.panes.some((pane) => pane.title) ? ["pane"] : []), "line", ...(figure.x.measured ? ["cell", axisTitle(figure.x)] : [figure.x.title]), axisTitle(figure.y), "95 % interval"]) htmlNode(head, "th", "", text).scope = "col";
    for (const pane of figure.panes) for (const line of pane.lines) for (const point of line.points) {
      const row = htmlNode(body, "tr");
      for (const text of [...(pane.title ? [pane.title] : []), nameOf(figure, line), ...(figure.x.measured ? [point[CELL]] : []), figure.x.steps[point[STEP]][0], point[TEXT], point[INTERVAL] || "–"]) htmlNode(row, "td", "", text);
    }
  };

  draw.each(".sweep", (place, figure) => {
    const card = htmlNode(place, "div", "card");
    const heading = htmlNode(card, "div", "heading");
    htmlNode(heading, "h3", "", figure.title);
    if (!figure.panes.length) return htmlNode(card, "p", "note", "No cell of this figure has such a measure.");
    const state = { x: figure.x.scale, y: "linear", hiddenLabels: new Set(), hiddenEntries: new Set() };
    const panes = document.createElement("div");
    panes.className = `sweep-panes n${Math.min(figure.panes.length, 3)}`;
    const redraw = () => { panes.replaceChildren(); for (const pane of figure.panes) drawPane(panes, figure, pane, state); };
    drawScales(heading, figure, state, redraw);
    drawLegend(card, figure, state, redraw);
    card.append(panes);
    redraw();
    draw.onResize(redraw);
    htmlNode(card, "p", "facts", figure.sources.join(" · "));
    drawNumbers(card, figure);
  });
})();

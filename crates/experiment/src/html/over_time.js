// Draws what each cell did over time. The data is in the page: a list of cards for each world; a card compares
// the lines of one row of the table in four panels that share their time axis. Where gateways believe something of a link
// whose rate varies, a wider panel shows that beside the link's own rate.
(() => {
  const WIDTH = 320, WIDE = 658, HEIGHT = 150, LEFT = 38, RIGHT = 6, TOP = 8, BOTTOM = 18;
  const PANELS = [
    { title: "Goodput, Mbit/s, means of 0.5 s", values: (flow) => smooth(flow.at_ms, flow.goodput_bps).map((v) => v / 1e6), ceiling: true },
    { title: "Congestion window, kB", values: (flow) => flow.cwnd_bytes.map((v) => v / 1e3) },
    { title: "Smoothed RTT, ms", values: (flow) => flow.rtt_us.map((v) => v / 1e3) },
    { title: "Repairs so far", values: (flow) => flow.repairs, optional: true },
  ];

  const { svgNode, htmlNode, colour, short, linear } = draw;

  // What arrives in order arrives in bursts: means over the half second that ends at each sample.
  const smooth = (at, rates) => {
    const means = [];
    let first = 0, area = 0;
    const width = (i) => at[i] - (i > 0 ? at[i - 1] : 0);
    for (let i = 0; i < rates.length; i++) {
      area += rates[i] * width(i);
      while (at[i] - at[first] >= 500) { area -= rates[first] * width(first); first += 1; }
      means.push(area / Math.max(1, at[i] - (first > 0 ? at[first - 1] : 0)));
    }
    return means;
  };

  // The lines of a panel: one for each flow of each scheme.
  const linesOf = (card, panel) => card.lines.flatMap((line, index) => line.flows.map((flow) => ({
    name: line.flows.length > 1 ? `${line.name} ${flow.name}` : line.name || flow.name,
    colour: colour(index),
    at: flow.at_ms.map((ms) => ms / 1000),
    values: panel.values(flow),
  })));

  // Goodput of the flows that go over a link, added up: flows of a run are sampled at the same times.
  const goodputOf = (line, names) => {
    const sums = new Map();
    for (const flow of line.flows.filter((flow) => names.includes(flow.name))) {
      flow.at_ms.forEach((at, i) => sums.set(at, (sums.get(at) || 0) + flow.goodput_bps[i]));
    }
    const at = [...sums.keys()].sort((a, b) => a - b);
    return { at_ms: at, rate_bps: smooth(at, at.map((time) => sums.get(time))) };
  };

  // The lines of a link's panel: its rate, once for all schemes that met the same, what gateways believed, and goodput. A
  // gateway that knows nothing yet has a gap.
  const ratesOf = (card, link) => {
    const line = (name, colour, series, style) => ({
      name, colour, style,
      at: series.at_ms.map((ms) => ms / 1000),
      values: series.rate_bps.map((bps) => bps > 0 || style !== "belief" ? bps / 1e6 : null),
    });
    const met = new Set(), found = [];
    card.lines.forEach((scheme, index) => {
      const rate = scheme.rates.find((rate) => rate.link === link);
      if (!rate) return;
      const course = JSON.stringify(rate.real);
      if (!met.has(course)) found.unshift(line("link", "var(--quiet)", rate.real, "real"));
      met.add(course);
      for (const belief of rate.beliefs) found.push(line(`${scheme.name} ${belief.name.split(".").pop()} believes`, colour(index), belief, "belief"));
      if (rate.flows.length) found.push(line(`${scheme.name} goodput`, colour(index), goodputOf(scheme, rate.flows), "goodput"));
    });
    return found;
  };

  // A high peak at the start, slow start's, does not flatten the rest: the axis ends above nearly all values.
  const topOf = (lines, ceiling) => {
    const all = lines.flatMap((line) => line.values).sort((a, b) => a - b);
    const most = all[Math.floor((all.length - 1) * 0.995)] || 0;
    return Math.max(most * 1.08, ceiling * 1.08, 1e-9);
  };

  const drawPanels = (parent, card, end) => {
    for (const panel of PANELS) {
      const lines = linesOf(card, panel);
      if (panel.optional && !lines.some((line) => line.values.some((value) => value > 0))) continue;
      const ceiling = panel.ceiling ? Math.max(0, ...card.lines.map((line) => (line.ceiling || 0) / 1e6)) : 0;
      drawPanel(parent, card, { title: panel.title, lines, ceiling, most: WIDTH }, end);
    }
    for (const link of new Set(card.lines.flatMap((line) => line.rates.map((rate) => rate.link)))) {
      const title = `Rate of ${link} and what gateways believe, Mbit/s`;
      drawPanel(parent, card, { title, lines: ratesOf(card, link), ceiling: 0, most: WIDE }, end);
    }
  };

  const drawPanel = (parent, card, { title, lines, ceiling, most }, end) => {
    const figure = htmlNode(parent, "figure", most === WIDE ? "wide" : ""), width = draw.widthIn(figure, most);
    const top = topOf(lines, ceiling);
    const x = (at) => LEFT + (at / end) * (width - LEFT - RIGHT);
    const y = (value) => TOP + (1 - Math.min(value, top) / top) * (HEIGHT - TOP - BOTTOM);

    htmlNode(figure, "figcaption", "", title);
    const svg = svgNode(figure, "svg", { viewBox: `0 0 ${width} ${HEIGHT}`, role: "group", "aria-label": `${title}, ${card.title}; arrow keys move through time` });
    for (const [value, text] of linear(0, top / 1.03, 4).marks) {
      svgNode(svg, "line", { class: "grid", x1: LEFT, x2: width - RIGHT, y1: y(value), y2: y(value) });
      svgNode(svg, "text", { x: LEFT - 5, y: y(value) + 3, "text-anchor": "end" }, text);
    }
    for (const [at, text] of linear(0, end, 5).marks) {
      if (at > end + 1e-9) continue;
      svgNode(svg, "text", { x: x(at), y: HEIGHT - 4, "text-anchor": "middle" }, at === 0 ? "0 s" : text);
    }
    if (ceiling > 0) svgNode(svg, "line", { class: "ceiling", x1: LEFT, x2: width - RIGHT, y1: y(ceiling), y2: y(ceiling) });
    for (const line of lines) {
      const known = (i) => i >= 0 && line.values[i] !== null;
      const points = line.at.map((at, i) => known(i) ? `${known(i - 1) ? "L" : "M"}${x(at).toFixed(1)} ${y(line.values[i]).toFixed(1)}` : "");
      const d = points.join("");
      if (d) svgNode(svg, "path", { class: line.style ? `curve ${line.style}` : "curve", d, style: `--c:${line.colour}` });
    }
    addCursor(figure, svg, lines, { x, end, width });
  };

  const addCursor = (figure, svg, lines, { x, end, width: whole }) => {
    const cursor = svgNode(svg, "line", { class: "cursor", y1: TOP, y2: HEIGHT - BOTTOM });
    const tip = draw.tip(figure);
    const hide = () => { cursor.style.visibility = "hidden"; tip.hide(); };
    const show = (at) => {
      const rows = lines.flatMap((line) => {
        const i = line.at.findIndex((time) => time >= at - 1e-9);
        return i < 0 || line.values[i] === null ? [] : [{ colour: line.colour, text: `${line.name || "value"} ${short(line.values[i])}` }];
      });
      cursor.setAttribute("x1", x(at));
      cursor.setAttribute("x2", x(at));
      cursor.style.visibility = "visible";
      const width = svg.getBoundingClientRect().width;
      tip.show(`${at.toFixed(1)} s`, rows, x(at) / whole * width, width);
    };
    svg.addEventListener("pointerleave", hide);
    svg.addEventListener("pointermove", (event) => {
      const box = svg.getBoundingClientRect();
      const at = ((event.clientX - box.left) / box.width * whole - LEFT) / (whole - LEFT - RIGHT) * end;
      if (at < 0 || at > end) hide(); else show(at);
    });
    const times = lines.reduce((longest, line) => line.at.length > longest.length ? line.at : longest, []);
    draw.onKeys(svg, () => times.length, (place) => show(times[place]), hide);
  };

  const drawCard = (parent, card) => {
    const box = htmlNode(parent, "div", "card");
    const heading = htmlNode(box, "h4", "", card.title);
    card.lines.forEach((line, index) => {
      if (!line.name) return;
      const key = htmlNode(heading, "span", "key");
      htmlNode(key, "i", "swatch").style.background = colour(index);
      key.append(line.name);
    });
    const times = card.lines.flatMap((line) => line.flows.map((flow) => flow.at_ms[flow.at_ms.length - 1] || 0));
    const end = Math.max(1, ...times) / 1000;
    const panels = htmlNode(box, "div", "panels");
    drawPanels(panels, card, end);
    draw.onResize(() => { panels.replaceChildren(); drawPanels(panels, card, end); });
  };

  draw.each(".cards", (place, cards) => {
    // Cards are drawn when they come near the window: a sweep has hundreds.
    for (const card of cards) {
      const slot = htmlNode(place, "div");
      slot.style.minHeight = "230px";
      const render = () => { slot.style.minHeight = ""; drawCard(slot, card); };
      if (cards.length <= 40 || !("IntersectionObserver" in window)) { render(); continue; }
      const observer = new IntersectionObserver((entries) => {
        if (entries.some((entry) => entry.isIntersecting)) { observer.disconnect(); render(); }
      }, { rootMargin: "600px" });
      observer.observe(slot);
    }
  });
})();

// What is wrong with a page as it looks now, as a list of sentences: wider than the window, a picture that is not drawn, text
// without contrast (WCAG 2.1, 1.4.3) or too small to read. For the tests of reports and for the site.
(() => {
  const faults = [], root = document.documentElement;
  if (root.scrollWidth > innerWidth) {
    const scrolls = e => e && (['auto', 'scroll', 'hidden'].includes(getComputedStyle(e).overflowX) || scrolls(e.parentElement));
    const wide = [...document.querySelectorAll('main *, article *')].find(e => e.getBoundingClientRect().right > innerWidth + 1 && !scrolls(e));
    faults.push(`${root.scrollWidth} px wide: ${wide ? wide.outerHTML.slice(0, 120) : ''}`);
  }
  for (const image of document.images)
    if (image.loading !== 'lazy' && !(image.complete && image.naturalWidth)) faults.push('not drawn: ' + image.src);
  const parse = text => { const n = (text.match(/[\d.]+/g) || []).map(Number); return [n[0], n[1], n[2], n[3] ?? 1]; };
  const over = (top, under) => [0, 1, 2].map(i => top[i] * top[3] + under[i] * (1 - top[3])).concat(1);
  const behind = e => {
    let colour = [0, 0, 0, 0];
    for (; e && colour[3] < 1; e = e.parentElement) {
      const own = parse(getComputedStyle(e).backgroundColor);
      if (own[3]) colour = colour[3] ? over(colour, own) : own;
    }
    return colour[3] ? colour : [255, 255, 255, 1];
  };
  const light = c => { const [r, g, b] = c.map(v => (v /= 255) <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4);
    return .2126 * r + .7152 * g + .0722 * b; };
  const faded = e => e ? getComputedStyle(e).opacity * faded(e.parentElement) : 1;
  const told = new Set(), walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const e = walk.currentNode.parentElement, style = getComputedStyle(e), box = e.getBoundingClientRect();
    if (!walk.currentNode.data.trim() || !box.width || box.width < 2 || style.visibility !== 'visible' || e.closest('script, style, noscript')) continue;
    const drawing = e.closest('svg'), grown = drawing?.getScreenCTM()?.a ?? 1;
    const back = behind(e), drawn = drawing ? style.fill : style.color;
    const [red, green, blue, alpha] = parse(drawn), front = over([red, green, blue, alpha * faded(e)], back);
    const [low, high] = [light(front), light(back)].sort((a, b) => a - b), ratio = (high + .05) / (low + .05);
    const size = parseFloat(style.fontSize) * grown, large = size >= 24 || size >= 18.66 && style.fontWeight >= 700;
    if (size < 9) told.add(`${size.toFixed(1)} px small: ${e.tagName}.${e.className.baseVal ?? e.className} ${e.textContent.slice(0, 30)}`);
    if (ratio < (large ? 3 : 4.5)) told.add(`contrast ${ratio.toFixed(2)}: ${e.tagName}.${e.className} ${drawn} on rgb(${back.slice(0, 3)})`);
  }
  return faults.concat([...told].slice(0, 5));
})()

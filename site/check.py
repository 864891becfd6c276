"""Checks the built site without a browser; prints a line for each fault, and ends with 1 if there is one.

Links and anchors lead somewhere; nothing of a page comes from elsewhere; each page has a title of its own and headings in
order; pictures have words; the palette has contrast; every page of docs/ and every link of README.md is there.
"""

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import conf

TREE = Path(__file__).resolve().parent.parent
CONTRAST = 4.5
# Attributes by which a page loads something; of `a` a reader loads it.
LOADS = {"src", "srcset", "poster", "data", "href", "xlink:href"}


class Page(HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.path, self.ids, self.links, self.loads, self.headings, self.faults = path, set(), [], [], [], []
        self.title, self.open, self.drawings = "", [], []
        self.feed(path.read_text())

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.ids |= {given[name] for name in ("id", "name") if given.get(name)}
        if tag == "html" and not given.get("lang"):
            self.faults.append("the page has no language")
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif tag != "a":
            self.loads += [given[name] for name in LOADS & given.keys() if given[name]]
            self.loads += re.findall(r"url\(['\"]?([^'\")]+)", given.get("style") or "")
        if tag == "img" and not (given.get("alt") or "").strip():
            self.faults.append(f"a picture without words: {given.get('src')}")
        if tag == "svg":
            self.drawings.append(given.get("role") != "img" or bool(given.get("aria-label")))
        if tag == "title" and self.drawings:
            self.drawings[-1] = True
            return
        if re.fullmatch("h[1-6]", tag):
            self.headings.append([int(tag[1]), ""])
        if tag in ("title", "h1", "h2", "h3", "h4", "h5", "h6"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag == "svg" and self.drawings and not self.drawings.pop():
            self.faults.append("a drawing without words")
        if self.open and self.open[-1] == tag:
            self.open.pop()

    def handle_data(self, data):
        if not self.open:
            return
        if self.open[-1] == "title":
            self.title += data
        else:
            self.headings[-1][1] += data.replace("¶", "")


def check(site):
    paths = [path for path in sorted(site.rglob("*.html")) if not path.relative_to(site).parts[0] == "api"]
    pages = {path: Page(path) for path in paths}
    faults = []
    titles = {}
    for path, page in pages.items():
        name = path.relative_to(site)
        found = page.faults + list(of_links(page, pages, site)) + list(of_loads(page, site))
        if path.name != "report.html":
            found += of_headings(page)
            if not page.title.strip() or page.title in titles:
                found.append(f"its title is that of {titles.get(page.title, 'no page')}")
            titles[page.title] = name
        faults += [f"{name}: {fault}" for fault in found]
    for style in site.rglob("*.css"):
        if style.relative_to(site).parts[0] != "api":
            for target in re.findall(r"url\(['\"]?([^'\")]+)|@import ['\"]([^'\"]+)", style.read_text()):
                faults += [f"{style.relative_to(site)}: asks elsewhere for {one}" for one in target if is_elsewhere(one)]
    faults += of_pages(site) + of_palette("light", conf.LIGHT) + of_palette("dark", conf.DARK)
    return len(pages), faults


def is_elsewhere(target):
    return not target.startswith("data:") and bool(urlsplit(target).netloc or urlsplit(target).scheme)


def of_links(page, pages, site):
    for target in set(page.links):
        if is_elsewhere(target):
            continue
        place, _, anchor = target.partition("#")
        path = (page.path.parent / unquote(place)).resolve() if place else page.path
        if not path.is_file() or not path.is_relative_to(site):
            yield f"a link leads nowhere: {target}"
        elif anchor and path in pages and unquote(anchor) not in pages[path].ids:
            yield f"a link leads to no place of its page: {target}"


def of_loads(page, site):
    for target in set(page.loads):
        if is_elsewhere(target):
            yield f"asks elsewhere for {target}"
        elif not target.startswith(("data:", "#")) and not (page.path.parent / unquote(urlsplit(target).path)).exists():
            yield f"asks for {target}, which is not there"


def of_headings(page):
    levels = [level for level, _ in page.headings]
    faults = [] if levels.count(1) == 1 else [f"{levels.count(1)} headings of the first level"]
    for (above, _), (level, text) in zip([[0, ""]] + page.headings, page.headings):
        if level > above + 1:
            faults.append(f"heading '{text}' is of level {level} behind one of {above}")
    return faults + ["an empty heading" for _, text in page.headings if not text.strip()]


def of_pages(site):
    """Every page of docs/, and every page that README.md names for what it says."""
    wanted = {path.relative_to(TREE).as_posix() for path in (TREE / "docs").glob("*.md")}
    wanted |= set(re.findall(r"\]\(([^)#:]+\.md)", (TREE / "README.md").read_text()))
    return [f"{name} has no page" for name in sorted(wanted) if not (site / name).with_suffix(".html").exists()]


def of_palette(name, colours):
    backgrounds = [key for key in colours if "background" in key]
    pairs = [(key, back) for key in colours if key not in backgrounds for back in backgrounds]
    ratios = [(contrast(colours[key], colours[back]), key, back) for key, back in pairs]
    return [f"{name}: {key} on {back} has a contrast of {ratio:.2f}" for ratio, key, back in ratios if ratio < CONTRAST]


def contrast(one, other):
    """WCAG 2.1's contrast ratio of two colours written #rrggbb."""

    def luminance(colour):
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted([luminance(one), luminance(other)])
    return (high + 0.05) / (low + 0.05)


if __name__ == "__main__":
    count, faults = check(Path(sys.argv[1]).resolve())
    print("\n".join(faults), end="\n" if faults else "")
    print(f"site: {count} pages, {len(faults)} faults")
    sys.exit(bool(faults) or count < 50)

"""A page for each paper: verdicts out of docs/verdicts.md, figures out of the results of `airtcp reproduce`."""

import html
import json
import re


def pages(tree, picture):
    """The pages by their paths, and the figures and reports by their place in the site."""
    verdicts = (tree / "docs/verdicts.md").read_text()
    found, files = {}, {}
    for folder in sorted(path for path in (tree / "papers").iterdir() if (path / "paper.toml").exists()):
        slug = folder.name
        section = re.search(rf"<!-- {slug} -->(.*?)<!-- end of {slug} -->", verdicts, re.S)
        if not section:
            raise SystemExit(f"docs/verdicts.md has no section of {slug}; `make verdicts` writes it")
        title, authors, counts = re.search(r"^## (.*)\n\n(.*)\n\n(.*)$", section[1], re.M).groups()
        results = _results(tree, slug)
        parts = [
            f"# {title}",
            f"{authors} [What we built](../docs/{slug}.md) · [How we read it]({slug}/notes.md) · [Where thresholds come from]({slug}/thresholds.md)",
            picture(slug),
            f"## Verdicts\n\n{counts} [Every check, setting and mutation](../docs/verdicts.md); [how claims are judged](../docs/papers.md).",
            _table(section[1]),
            f"## Figures\n\n{_figures(results, slug, files)}",
        ]
        if results:
            files[f"papers/{slug}/report.html"] = results / "report.html"
            parts.append(f'<p><a href="{slug}/report.html">The whole report</a>, with every figure to point at</p>')
        parts.append(f"```{{toctree}}\n:hidden:\n\n{slug}/notes\n{slug}/thresholds\n```")
        found[f"papers/{slug}.md"] = "\n\n".join(parts) + "\n"
    return found, files


def _table(section):
    """What a reader asks first; the verdict comes early, so that a telephone shows it."""
    rows = []
    for line in section.splitlines():
        cells = re.split(r"(?<!\\) \| ", line.removeprefix("| ").removesuffix(" |"))
        if len(cells) == 9 and re.match(r"[A-Z]+-C", cells[0]):
            rows.append("| " + " | ".join([cells[0], f"**{cells[6]}**", cells[1], cells[4], cells[5]]) + " |")
    if not rows:
        raise SystemExit("docs/verdicts.md: its tables have other columns than site/papers.py reads")
    return "\n".join(["| claim | verdict | the paper | ours | theirs |", "|---|---|---|---|---|", *rows])


def _results(tree, slug):
    """The directory of the newest results of a paper, full ones before quick ones."""
    places = [path for root in ("results", "target/site-results") for path in (tree / root).glob(f"paper-{slug}-*/claims.json")]
    told = [(json.loads(path.read_text()), path) for path in places]
    plain = [(not claims["quick"], path.stat().st_mtime, path.parent) for claims, path in told if not claims["control"] and not claims["mutations"]]
    return max(plain)[2] if plain else None


def _figures(results, slug, files):
    if results is None:
        return f"`airtcp reproduce {slug}` draws them; this site was built without its results."
    is_quick = json.loads((results / "claims.json").read_text())["quick"]
    runs = "few and short runs (`--quick`), an indication; the verdicts above are of full runs" if is_quick else "full runs"
    parts = [f"Of {runs}: `airtcp reproduce {slug}`."]
    for path in sorted(results.glob("*/*/figures/*.svg")):
        world = path.parent.parent
        about = re.search(r'^about = "(.*)"$', (world / "scenario.toml").read_text(), re.M)
        title = html.unescape(re.search(r"<title>(.*?)</title>", path.read_text())[1])
        about = about[1] if about else path.stem
        name = f"{world.parent.name}-{path.name}"
        files[f"papers/{slug}/{name}"] = path
        alt = html.escape(f"{title}. {about}")
        parts.append(f'<figure>\n<img src="{slug}/{name}" alt="{alt}" loading="lazy">\n<figcaption>{html.escape(about)}</figcaption>\n</figure>')
    return "\n\n".join(parts)

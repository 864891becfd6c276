"""Builds the site: gathers the pages of the tree in a directory, and has Sphinx make HTML of them. `scripts/site` calls it.

What is in docs/, papers/ and README.md is not copied by hand anywhere: site/pages take sections of README.md by their
headings (`<!-- README: Two commands -->`), pictures from the pages that have them (`<!-- picture: docs/gsnoop.md -->`),
and the order of all pages from the lists in README.md. Their links to what is made here begin with `site:`.
"""

import argparse
import posixpath
import re
import shutil
import subprocess
import sys
from pathlib import Path

import papers
import reference
import sequence

SITE = Path(__file__).resolve().parent
TREE = SITE.parent
FENCE = re.compile(r"(^ *```.*?^ *```[ \t]*$)", re.M | re.S)
# Not an image, `![...](...)`.
LINK = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")
MARK = re.compile(r"<!-- (README|picture|contents|crates)(?:: (.*?))? -->")


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--command", required=True, help="the airtcp to ask for reference")
    arguments.add_argument("--crates", type=Path, required=True, help="what cargo doc made, if it is there")
    arguments.add_argument("--output", type=Path, required=True)
    given = arguments.parse_args()
    readme = Readme((TREE / "README.md").read_text())
    pages, files = gather(given.command)
    crates = sorted(path.parent.name for path in given.crates.glob("airtcp*/index.html"))
    pages = {path: finish(path, fill(text, pages, readme, crates), pages, readme) for path, text in pages.items()}

    source = TREE / "target/site-source"
    shutil.rmtree(source, ignore_errors=True)
    for path, text in pages.items():
        place = source / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    shutil.copytree(TREE / "docs/figures", source / "docs/figures")
    shutil.rmtree(given.output, ignore_errors=True)
    # A link that leads nowhere and a page that no list has are warnings, and warnings are errors.
    sphinx = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-E", "-c", SITE, "-d", TREE / "target/site-doctrees"]
    done = subprocess.run([*sphinx, source, given.output])
    if done.returncode:
        raise SystemExit(done.returncode)
    for path, original in files.items():
        (given.output / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(original, given.output / path)
    if crates:
        shutil.copytree(given.crates, given.output / "api")


def gather(command):
    """Every page by its path, and the files that pages show, by theirs."""
    paths = [path for pattern in ("docs/*.md", "papers/*/*.md", "*.md") for path in sorted(TREE.glob(pattern))]
    pages = {path.relative_to(TREE).as_posix(): path.read_text() for path in paths if path.name != "README.md"}
    pages |= {path.name: path.read_text() for path in (SITE / "pages").glob("*.md")}
    pages |= reference.pages(command, TREE)
    made, files = papers.pages(TREE, lambda slug: f"<!-- picture: docs/{slug}.md -->")
    return pages | made, files


class Readme:
    """README.md by its sections, and which page of the site shows which."""

    def __init__(self, text):
        pieces = re.split(r"^## (.*)$", text, flags=re.M)
        self.sections = dict(zip(pieces[1::2], pieces[2::2]))
        self.intro = pieces[0].partition("\n")[2].strip()
        shown = sorted((SITE / "pages").glob("*.md"))
        marks = [(path.name, match[2]) for path in shown for match in MARK.finditer(path.read_text()) if match[1] == "README"]
        self.pages = {slug(heading): page for page, heading in marks if heading}

    def section(self, heading):
        if not heading:
            return self.from_root(self.intro)
        if heading not in self.sections:
            raise SystemExit(f"README.md has no section '{heading}', which site/pages asks for")
        return f"## {heading}\n\n{self.from_root(self.sections[heading].strip())}"

    @staticmethod
    def from_root(text):
        """Its links, for pages that are elsewhere."""
        return LINK.sub(lambda link: link[0] if "://" in link[2] else f"[{link[1]}](site:{'README.md' * (link[2][0] == '#')}{link[2]})", text)

    def contents(self):
        """A list of pages for each list of the section `Learn more`, in its order."""
        lists = re.findall(r"^(.*):\n\n((?:[-* ].*\n?)+)", self.sections["Learn more"], re.M)
        captioned = [(caption, re.findall(r"\]\(([^)#]+)\.md\)", text)) for caption, text in lists]
        return "\n\n".join(
            f"```{{toctree}}\n:hidden:\n:caption: {caption}\n\n" + "\n".join(dict.fromkeys(names)) + "\n```"
            for caption, names in captioned
        )


def fill(text, pages, readme, crates):
    """Puts in what marks stand for."""

    def put(match):
        kind, what = match.groups()
        if kind == "README":
            return readme.section(what)
        if kind == "contents":
            return readme.contents()
        if kind == "crates":
            links = [f'<a href="api/{crate}/index.html"><code>{crate}</code></a>' for crate in crates]
            return f"<p>{', '.join(links)}</p>" if links else "`make doc` builds it; this site was built without."
        block = re.search(r"^```sequence$.*?^```$", pages[what], re.M | re.S)
        if not block:
            raise SystemExit(f"{what} has no picture")
        return block[0]

    return MARK.sub(put, text)


def finish(page, text, pages, readme):
    """Draws pictures, and follows links to where the site has their page; to what it has not, the words stay alone."""
    is_own = (SITE / "pages" / page).exists()
    folder = "site/pages" if is_own else posixpath.dirname(page)

    def link(match):
        label, target = match.groups()
        if target.startswith("#") or re.match(r"(?!site:)[a-z]+:", target):
            return match[0]
        path, _, anchor = target.removeprefix("site:").partition("#")
        resolved = path if target.startswith("site:") else posixpath.normpath(posixpath.join(folder, path))
        resolved = resolved.removeprefix("site/pages/")
        if resolved == "README.md":
            resolved = readme.pages.get(anchor, "index.md")
        if resolved not in pages:
            return label
        return f"[{label}]({posixpath.relpath(resolved, posixpath.dirname(page) or '.')}{'#' if anchor else ''}{anchor})"

    parts = FENCE.split(text)
    for index, part in enumerate(parts):
        if index % 2 == 0:
            parts[index] = LINK.sub(link, part)
        elif part.startswith("```sequence"):
            parts[index] = sequence.figure(part.removeprefix("```sequence").removesuffix("```"))
    return "".join(parts)


def slug(heading):
    """The anchor of a heading, as forges make it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


if __name__ == "__main__":
    main()

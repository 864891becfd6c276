"""Pages of reference, from what `airtcp show`, `airtcp --help` and the sources of the Python package say."""

import ast
import json
import re
import subprocess
from pathlib import Path

FILES = ["scenario", "link", "wlan", "flow", "workload", "probe", "sockets", "metrics", "data", "paper", "gateway", "forward"]
COLUMNS = [("name", "name"), ("value", "default or example"), ("kind", "kind"), ("about", "meaning"), ("source", "source")]


def pages(command, tree):
    """Every page by its path, the first one being the list of the others."""
    show = json.loads(_output(command, "show", "--json"))
    topics = {topic["name"]: topic for topic in show["topics"]}
    found = {}
    for name in FILES:
        found[name] = _topic(topics[name], f"Keys: {name}" if name not in ("metrics", "data") else f"Names: {name}")
    for name in show["schemes"]:
        found[f"scheme-{name}"] = _topic(topics[name], f"Scheme: {name}")
    controllers = [_topic(topics[name], name, 2) for name in show["controllers"]]
    found["controllers"] = "# Controllers\n\n" + _text(topics["controllers"]["about"]) + "\n\n" + "\n\n".join(controllers)
    found["scenarios"] = _scenarios(tree, show["scenarios"])
    found["commands"] = _commands(command)
    found["python"] = _python(tree / "crates/python/python/airtcp")
    first = (
        "# Reference\n\nThe command itself says all this: `airtcp show NAME`, `airtcp VERB --help`. These pages are made of its answers.\n\n"
        "```{toctree}\n:maxdepth: 1\n\n" + "\n".join(found) + "\n```\n"
    )
    return {"reference/index.md": first, **{f"reference/{name}.md": text for name, text in found.items()}}


def _output(command, *arguments):
    done = subprocess.run([command, *arguments], capture_output=True, text=True, check=True, env={"TERM": "dumb"})
    return done.stdout


def _topic(topic, title, level=1):
    parts = [f"{'#' * level} {_text(title)}", _text(topic["about"])]
    if topic["notes"]:
        parts.append("\n".join(f"- {_text(note)}" for note in topic["notes"]))
    for section in topic["sections"]:
        parts.append(f"{'#' * (level + 1)} {_text(section['title'][:1].upper() + section['title'][1:])}")
        columns = [column for column in COLUMNS if any(key[column[0]] for key in section["keys"])]
        rows = [[heading for _, heading in columns], ["---"] * len(columns)]
        rows += [[_cell(key[name], name) for name, _ in columns] for key in section["keys"]]
        parts.append("\n".join("| " + " | ".join(row) + " |" for row in rows))
    return "\n\n".join(parts)


def _cell(text, column):
    if column in ("name", "value") and text and "`" not in text:
        return "`" + text.replace("|", "\\|") + "`"
    return _text(text)


def _text(text):
    """As Markdown that reads like the plain text; what stands between backticks is code."""
    pieces = text.split("`")
    escaped = [re.sub(r"([\\*_\[\]<>{}#~$|&])", r"\\\1", piece) for piece in pieces[::2]]
    code = ["`" + piece.replace("|", "\\|") + "`" for piece in pieces[1::2]]
    return "".join(part for pair in zip(escaped, code + [""]) for part in pair)


def _scenarios(tree, names):
    parts = ["# Scenarios that ship", "`airtcp run NAME` runs one, and `base = \"NAME\"` begins a file of your own with it."]
    for name in names:
        path = next(path for path in (tree / "scenarios").glob("*.toml") if path.stem == name)
        parts.append(f"## {name}\n\n```toml\n{path.read_text().rstrip()}\n```")
    return "\n\n".join(parts)


def _commands(command):
    overview = _output(command, "--help")
    verbs = re.findall(r"^  ([a-z]+)  ", overview.partition("Commands:")[2].partition("Options:")[0], re.M)
    parts = ["# Commands", f"```text\n{overview.rstrip()}\n```"]
    for verb in verbs:
        if verb != "help":
            parts.append(f"## airtcp {verb}\n\n```text\n{_output(command, verb, '--help').rstrip()}\n```")
    # Help names the program as it was called.
    return "\n\n".join(parts).replace(Path(command).name + " ", "airtcp ")


def _python(package):
    """What `airtcp.__all__` names, read and not run: the package need not be built."""
    trees = {path.name: ast.parse(path.read_text()) for path in sorted(package.iterdir()) if path.suffix in (".py", ".pyi")}
    names = next(
        ast.literal_eval(node.value)
        for node in trees["__init__.py"].body
        if isinstance(node, ast.Assign) and node.targets[0].id == "__all__"
    )
    defined = {node.name: node for tree in trees.values() for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    parts = ["# Python API", "[The Python package](../docs/python.md) says how it is installed and used.", _docstring(trees["__init__.py"])]
    parts += [_definition(defined[name], "airtcp.") for name in names if name in defined]
    return "\n\n".join(parts)


def _definition(node, prefix, level=2):
    heading = f"{'#' * level} {_text(prefix + node.name)}"
    if isinstance(node, ast.ClassDef):
        members = [member for member in node.body if isinstance(member, ast.FunctionDef)]
        shown = [member for member in members if not member.name.startswith("_") and ast.get_docstring(member)]
        return "\n\n".join([heading, _docstring(node), *(_definition(member, f"{node.name}.", level + 1) for member in shown)])
    is_property = any(isinstance(name, ast.Name) and name.id == "property" for name in node.decorator_list)
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    signature = f"{node.name}{'' if is_property else f'({ast.unparse(node.args)})'}{returns}"
    return f"{heading}\n\n```python\n{signature}\n```\n\n{_docstring(node)}"


def _docstring(node):
    paragraphs = (ast.get_docstring(node) or "").split("\n\n")
    return "\n\n".join(f"```pycon\n{part}\n```" if part.startswith(">>>") else part for part in paragraphs)

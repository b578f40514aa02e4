"""Code that was handed in where nobody reads it: under another ending, in a text box.

It is named with what to do. To read it all the same would be a guess at what was meant to count.
"""

from collections.abc import Iterable, Iterator

from autograder.submissions.contents import holds_python, is_notebook
from autograder.submissions.intake import Member, listed, shown, suffix_of

SOURCES = (".py", ".ipynb")
_TEXTS = (".txt", ".text", ".md", ".json", ".html", ".htm", ".rtf")
_DOCUMENTS = (".pdf", ".docx", ".doc", ".odt", ".rtf", ".pages", ".pptx", ".html", ".htm", ".txt")


def hidden_code(members: Iterable[Member]) -> Iterator[str]:
    """A line for each file that holds code and is not read, with the remedy."""
    for member in members:
        suffix = suffix_of(member.path)
        if suffix not in _TEXTS:
            continue
        meant = meant_name(member.path)
        if meant is not None:
            yield (
                f"{shown(member.path)} is not read, since its name ends in {suffix}: rename it"
                f" {shown(meant)} and hand it in anew"
            )
        elif suffix == ".json" and is_notebook(member.data):
            stem = member.path.rsplit("/", 1)[-1][: -len(suffix)]
            yield (
                f"{shown(member.path)} is a notebook that is not read for its ending: rename it"
                f" {shown(stem)}.ipynb and hand it in anew"
            )
        elif suffix in (".txt", ".text", ".rtf") and holds_python(member.data):
            yield (
                f"{shown(member.path)} holds code and is not read, since its name ends in"
                f" {suffix}: save it as a .py file and hand it in anew"
            )
        elif suffix in (".html", ".htm") and _is_typed_in(member.path):
            yield (
                f"{shown(member.path)} is what was typed into the platform's box, which is not"
                " read as code: hand in a .py file or a notebook"
            )


def meant_name(path: str) -> str | None:
    """`causal.py` of `a/causal.py.txt`; None where the name says nothing of the kind."""
    name = path.rsplit("/", 1)[-1]
    stem = name.rsplit(".", 1)[0]
    if suffix_of(name) in (*_TEXTS, ".download") and suffix_of(stem) in SOURCES:
        return stem
    return None


def other_documents(members: Iterable[Member]) -> str | None:
    """The reports and pictures that were handed in, where there is no code beside them."""
    found = [each.path for each in members if suffix_of(each.path) in _DOCUMENTS]
    return listed(found) if found else None


def _is_typed_in(path: str) -> bool:
    """Whether a page is the text or the link that a platform kept of a hand-in."""
    name = path.rsplit("/", 1)[-1].casefold()
    return name in ("onlinetext.html", "text.html", "link.html") or name.endswith(
        ("_text.html", "_link.html", "onlinetext.html")
    )

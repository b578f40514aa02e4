"""The line of a key in a TOML file, for messages: `tomllib` does not keep lines."""

import re
from collections import Counter

HEADER = re.compile(r"\s*(\[\[?)\s*([\w.\- ]+?)\s*\]\]?\s*(?:#.*)?")
KEY = re.compile(r"\s*([\w\-.]+|\"[^\"]*\")\s*=")


def line_of(text: str, path: str) -> int | None:
    """The line of a path such as `$.stages[2].criteria[0].points`, or of its nearest parent.

    Args:
        text: The TOML file.
        path: A path as msgspec writes it in its messages.

    Returns:
        The line, counted from 1; None if not even the first part of the path is in the text.
    """
    lines = _lines(text)
    ends = [part.end() for part in re.finditer(r"\.[^.\[]+|\[[^\]]*\]", path)]
    return next((lines[path[:end]] for end in reversed(ends) if path[:end] in lines), None)


def _lines(text: str) -> dict[str, int]:
    """Each table's and each key's line by its path."""
    lines: dict[str, int] = {}
    seen: Counter[str] = Counter()
    table = "$"
    for number, line in enumerate(text.splitlines(), start=1):
        header = HEADER.fullmatch(line)
        if header is not None:
            table = "$"
            parts = header[2].split(".")
            for position, part in enumerate(parts):
                table += f".{part.strip()}"
                is_last = position == len(parts) - 1
                if is_last and header[1] == "[[":
                    seen[table] += 1
                if seen[table]:
                    table += f"[{seen[table] - 1}]"
            lines.setdefault(table, number)
            continue
        key = KEY.match(line)
        if key is not None:
            name = key[1].strip('"')
            lines.setdefault(f"{table}.{name}", number)
    return lines

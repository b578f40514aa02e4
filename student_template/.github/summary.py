"""What the public checks found, as a page: a line a stage, and the first thing to do in each.

Run as `python .github/summary.py report.xml`, with a report that `pytest --junitxml` wrote.
"""

import html
import sys
from collections import defaultdict
from pathlib import Path
from xml.etree import ElementTree

SHOWN = 1_200  # characters of a failure


def summary(report: Path) -> str:
    """The page, in Markdown."""
    lines = ["# Public checks", ""]
    try:
        cases = list(ElementTree.parse(report).iter("testcase"))
    except (OSError, ElementTree.ParseError):
        return "\n".join([*lines, "The checks did not run: see the step before this one.", ""])
    stages: dict[str, list[ElementTree.Element]] = defaultdict(list)
    for case in cases:
        module = case.get("classname", "").split(".")[-1].removeprefix("test_")
        stages[module or "collecting"].append(case)
    lines += ["| stage | passed | first to look at |", "|---|---|---|"]
    details = []
    for stage, found in sorted(stages.items()):
        failed = [case for case in found if _failure(case) is not None]
        passed = len(found) - len(failed)
        first = f"`{_name(failed[0])}`" if failed else ""
        mark = "✅" if not failed else "⬜" if not passed else "🟨"
        lines.append(f"| {mark} {_words(stage)} | {passed} of {len(found)} | {first} |")
        if failed:
            details += ["", f"**{_words(stage)}**: {_name(failed[0])}", "", _quoted(failed[0])]
    lines += [
        *details,
        "",
        "These are the public checks. The score comes from hidden ones, which try more sizes,"
        " larger numbers and batches of different sequences.",
        "",
    ]
    return "\n".join(lines)


def _failure(case: ElementTree.Element) -> "ElementTree.Element | None":
    return next((each for each in case if each.tag in ("failure", "error")), None)


def _quoted(case: ElementTree.Element) -> str:
    failure = _failure(case)
    text = "" if failure is None else (failure.text or failure.get("message") or "").strip()
    text = text if len(text) <= SHOWN else text[:SHOWN] + " ..."
    return f"<pre>{html.escape(text)}</pre>"


def _name(case: ElementTree.Element) -> str:
    return case.get("name", "").removeprefix("test_").split("[")[0].replace("`", "")


def _words(stage: str) -> str:
    return html.escape(stage.replace("_", " ", 1))


if __name__ == "__main__":
    sys.stdout.reconfigure(encoding="utf-8")
    print(summary(Path(sys.argv[1])))

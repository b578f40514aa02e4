"""What a student reads for a lost share.

What was called, what was returned, what was expected, what that usually means, where to read. Never
hidden inputs, and no expected numbers unless the course's feedback policy allows them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from autograder.assignment.assignment import Assignment, Criterion, Share, Stage
from autograder.checks.evidence import Recorded
from autograder.checks.failures import told_shape
from autograder.diagnosis.dimensions import told
from autograder.scoring.name_status import NameStatus
from autograder.scoring.verdict import Verdict, Witness


def criterion_message(
    assignment: Assignment,
    stage: Stage,
    criterion: Criterion,
    lost: Sequence[tuple[Share, Verdict, NameStatus]],
    witnesses: Mapping[str, Witness],
) -> str:
    """One paragraph for each thing that went wrong; empty where nothing was lost."""
    if not lost:
        return ""
    paragraphs: dict[str, list[str]] = {}
    for share, verdict, standing in lost:
        said = _told(assignment, share, verdict, standing, witnesses[share.name])
        paragraphs.setdefault(said, []).append(f"`{share.name}`")
    lines = [f"{' and '.join(dict.fromkeys(names))}: {said}" for said, names in paragraphs.items()]
    if any(verdict.status not in ("blocked", "missing") for _, verdict, _ in lost):
        lines.append(f"Read {stage.handout.name}, section “{heading(criterion.section)}”.")
    return "\n".join(lines)


def heading(anchor: str) -> str:
    """A section's title from its anchor."""
    words = anchor.replace("-", " ")
    return words[:1].upper() + words[1:]


def _told(
    assignment: Assignment,
    share: Share,
    verdict: Verdict,
    standing: NameStatus,
    witness: Witness,
) -> str:
    if standing.kind == "absent":
        return f"{standing.text}, so its points could not be earned."
    if standing.kind == "null":
        return standing.text
    if verdict.status == "blocked":
        return f"not seen, since the call ended early ({_first_words(standing, verdict)})"
    said = _either(verdict, standing)
    said += [mistake.message for mistake in verdict.mistakes]
    text = _with_sizes(verdict.text, witness)
    if text and not verdict.mistakes:
        said.append(_sentence(text))
    elif verdict.status in ("error", "timeout", "killed") and text:
        said.append(f"It raised {text}.")
    if verdict.failing is not None:
        said.append(_evidence(assignment, verdict))
    called = _called(verdict, witness)
    if called and not verdict.text:
        said.append(called)
    return " ".join(said)


def _with_sizes(text: str, witness: Witness) -> str:
    """An exception's text with the names of its sizes, where it is known what was called."""
    for entry in witness.recorded:
        exception = entry.observation.exception
        if exception and exception.partition(": ")[2] in text:
            return told(text, entry.observation.given)
    return text


def _either(verdict: Verdict, standing: NameStatus) -> list[str]:
    """The other explanations that fit as well, where they differ from what was told."""
    charged = {mistake.id for mistake in verdict.mistakes}
    others = {
        mistake.title: None
        for setting in standing.explanation.alternatives
        for mistake in setting.misconceptions
        if mistake.id not in charged and mistake.id not in {entry.id for entry in standing.mistakes}
    }
    if not verdict.mistakes or not others:
        return []
    first = " and ".join(mistake.title for mistake in verdict.mistakes)
    which = "both" if len(others) == 1 else "all"
    return [f"Either {first}, or {', or '.join(list(others)[:3])}: {which} give these numbers."]


def _evidence(assignment: Assignment, verdict: Verdict) -> str:
    failing = verdict.failing
    assert failing is not None
    rationale = failing.check.rationale
    if failing.text:
        return f"{rationale} {_sentence(failing.text)}"
    said = f"{rationale} Expected: {failing.expected}; found: {failing.found}."
    if failing.numbers and assignment.feedback.show_expected_numbers:
        said += f" ({failing.numbers})"
    return said


def _called(verdict: Verdict, witness: Witness) -> str:
    """What was called and what shape came back, in the first comparison that was not right."""
    spoke = {outcome.check_id for outcome in verdict.outcomes}
    for entry in witness.recorded:
        if entry.check_id in spoke and not entry.right:
            return f"Seen when {call_in_words(entry)}."
    return ""


def call_in_words(entry: Recorded) -> str:
    """`called with tokens (2, 6, 7); (2, 6, 15) came back, (2, 6, 15) was expected`."""
    given = entry.observation.given
    asked = f"`{entry.check.name}` was called with {given.in_words()}"
    if entry.shape is None:
        return f"{asked}; nothing of shape {told_shape(entry.expected_shape)} came back"
    if entry.shape != entry.expected_shape:
        return (
            f"{asked}; shape {told_shape(entry.shape)} came back, "
            f"{told_shape(entry.expected_shape)} was expected"
        )
    return f"{asked}; the shape {told_shape(entry.shape)} was right, the numbers were not"


def _first_words(standing: NameStatus, verdict: Verdict) -> str:
    """What kept a share from being seen, in short; it is told in full where it is charged."""
    if verdict.failing is not None:
        return verdict.failing.found
    return (verdict.text or standing.text).split("\n")[0].split(": ")[0].split(" (")[0]


def _sentence(text: str) -> str:
    stripped = text.strip()
    return stripped if stripped.endswith((".", "!", "?")) else stripped + "."

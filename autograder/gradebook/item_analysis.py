"""Classical item analysis of a class: how hard each criterion was, and how well it discriminates.

Pure functions of scores. An item is a criterion of the rubric. Small classes say little about
items: below `FEWEST` students, figures that depend on how students vary are left out; below
`ENOUGH` they come with a warning.

Source: Crocker and Algina, Introduction to Classical and Modern Test Theory, chapters 6 and 14.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from autograder.results.result import CriterionResult, Result

FEWEST = 10  # students; with fewer, discrimination and reliability are not reported
ENOUGH = 30  # with fewer, they come with a warning

BINS = 10  # of a distribution


@dataclass(frozen=True, slots=True)
class Distribution:
    """How scores are spread between 0 and `max_score`; `bins` counts them in ten equal steps."""

    count: int
    max_score: float
    mean: float
    deviation: float
    lowest: float
    quartiles: tuple[float, float, float]
    highest: float
    bins: tuple[int, ...]

    @property
    def median(self) -> float:
        """The score in the middle."""
        return self.quartiles[1]


@dataclass(frozen=True, slots=True)
class Item:
    """How a class did on a criterion.

    Attributes:
        stage: The stage's id.
        criterion: The criterion's id.
        title: The criterion's title.
        max_score: Its points.
        passed: The share of students who kept all of its points, 0 to 1.
        difficulty: The mean share of its points, 0 to 1; 1 if it cost nobody anything.
        discrimination: The point-biserial correlation of passing it with the points of all other
            criteria; None if nothing varies or the class is too small.
    """

    stage: str
    criterion: str
    title: str
    max_score: float
    passed: float
    difficulty: float
    discrimination: float | None


@dataclass(frozen=True, slots=True)
class ItemAnalysis:
    """The items of a class, and how well their sum measures anything (Cronbach's alpha)."""

    students: int
    items: tuple[Item, ...]
    alpha: float | None

    @property
    def told(self) -> bool:
        """Whether the class is large enough for figures that depend on how students vary."""
        return self.students >= FEWEST

    @property
    def warning(self) -> str:
        """What a small class means for these figures; empty for one that is large enough."""
        if not self.told:
            return (
                f"With {self.students} graded submission{'s' if self.students != 1 else ''} neither"
                f" discrimination nor reliability is reported; that takes {FEWEST} or more."
            )
        if self.students < ENOUGH:
            return (
                f"A small class: with {self.students} submissions a discrimination is uncertain by"
                f" about ±{uncertainty(self.students):.2f}. Take these figures as hints."
            )
        return ""


def distribution(scores: Sequence[float], max_score: float) -> Distribution | None:
    """How scores are spread; None if there are no scores."""
    if not scores:
        return None
    bins = [0] * BINS
    for score in scores:
        share = score / max_score if max_score else 0.0
        bins[min(max(int(share * BINS + 1e-9), 0), BINS - 1)] += 1
    return Distribution(
        count=len(scores),
        max_score=max_score,
        mean=statistics.fmean(scores),
        deviation=statistics.stdev(scores) if len(scores) > 1 else 0.0,
        lowest=min(scores),
        quartiles=quartiles(scores),
        highest=max(scores),
        bins=tuple(bins),
    )


def quartiles(scores: Sequence[float]) -> tuple[float, float, float]:
    """The three quartiles, interpolated linearly between scores."""
    if len(scores) == 1:
        return (scores[0],) * 3
    first, median, third = statistics.quantiles(scores, n=4, method="inclusive")
    return first, median, third


def point_biserial(passed: Sequence[bool], scores: Sequence[float]) -> float | None:
    """The correlation of a yes or no with a score; None if either does not vary."""
    if len(set(passed)) < 2 or len(set(scores)) < 2:
        return None
    return statistics.correlation([float(each) for each in passed], scores)


def cronbach_alpha(rows: Sequence[Sequence[float]]) -> float | None:
    """The internal consistency of items; None if nothing varies.

    Args:
        rows: Points, students by items.
    """
    if len(rows) < 2 or len(rows[0]) < 2:
        return None
    total = statistics.variance([math.fsum(row) for row in rows])
    if total <= 0:
        return None
    count = len(rows[0])
    parts = math.fsum(statistics.variance(column) for column in zip(*rows, strict=True))
    return count / (count - 1) * (1 - parts / total)


def uncertainty(students: int) -> float:
    """Half the width of a correlation's 95% interval around 0."""
    return 1.96 / math.sqrt(students - 1)


def analyse(results: Sequence[Result]) -> ItemAnalysis:
    """Analyse the items of all submissions that were graded on the same criteria.

    A submission that could not be read says nothing about an item, whatever points it was given by
    hand.
    """
    graded = [result for result in results if result.stages and result.status is None]
    if not graded:
        return ItemAnalysis(0, (), None)
    columns = [_criteria(result) for result in graded]
    rows = [[criterion.score for _, criterion in column] for column in columns]
    told = len(graded) >= FEWEST
    items = []
    for number, (stage, criterion) in enumerate(columns[0]):
        scores = [row[number] for row in rows]
        rest = [math.fsum(row) - row[number] for row in rows]
        passed = [score >= criterion.max_score for score in scores]
        items.append(
            Item(
                stage=stage,
                criterion=criterion.id,
                title=criterion.title,
                max_score=criterion.max_score,
                passed=sum(passed) / len(passed),
                difficulty=statistics.fmean(scores) / criterion.max_score,
                discrimination=point_biserial(passed, rest) if told else None,
            )
        )
    return ItemAnalysis(len(graded), tuple(items), cronbach_alpha(rows) if told else None)


def _criteria(result: Result) -> list[tuple[str, CriterionResult]]:
    return [(stage.id, criterion) for stage in result.stages for criterion in stage.criteria]


def remark(item: Item) -> str:
    """What a teacher may want to do about an item; empty for one that works well."""
    if item.discrimination is not None and item.discrimination < 0:
        return "stronger students lose it more often: is its check fair?"
    if item.passed == 1:
        return "everybody passes"
    if item.passed == 0:
        return "nobody passes: was it taught?"
    if item.difficulty < 0.5:
        return "hard: worth explaining again"
    if item.discrimination is not None and item.discrimination < 0.1:
        return "hardly separates strong from weak students"
    return ""

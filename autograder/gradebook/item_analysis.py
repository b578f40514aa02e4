"""Classical item analysis of a class: how hard each criterion was, and how well it tells apart.

Pure functions of scores. An item is a criterion of the rubric. Small classes say little about
items, so what depends on how students vary is left out below `FEWEST`, and comes with a warning
below `ENOUGH`.

Source: Crocker and Algina, Introduction to Classical and Modern Test Theory, chapters 6 and 14.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from autograder.results.result import CriterionResult, Result

FEWEST = 10  # students; with fewer, discrimination and reliability are not told
ENOUGH = 30  # with fewer, they are told with a warning

BINS = 10  # of a distribution


@dataclass(frozen=True, slots=True)
class Distribution:
    """How scores lie between 0 and `max_score`; `bins` counts them in ten equal steps."""

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
    """A criterion as a class met it.

    passed: the share of students who kept all of its points. difficulty: the mean share of its
    points, 1 for an item that costs nobody anything. discrimination: the point-biserial
    correlation of passing it with the points of all other criteria; None where nothing varies or
    the class is too small.
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
        """Whether the class is large enough for what depends on how students vary."""
        return self.students >= FEWEST

    @property
    def warning(self) -> str:
        """What a small class does to these figures; empty for one that is large enough."""
        if not self.told:
            return (
                f"With {self.students} graded submission{'s' if self.students != 1 else ''} neither"
                f" discrimination nor reliability can be told; it takes {FEWEST} or more."
            )
        if self.students < ENOUGH:
            return (
                f"A small class: with {self.students} submissions a discrimination is uncertain by"
                f" about ±{uncertainty(self.students):.2f}. Take these figures as hints."
            )
        return ""


def distribution(scores: Sequence[float], max_score: float) -> Distribution | None:
    """How scores lie; None of no scores."""
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
    """The three quartiles, interpolated between scores."""
    if len(scores) == 1:
        return (scores[0],) * 3
    first, median, third = statistics.quantiles(scores, n=4, method="inclusive")
    return first, median, third


def point_biserial(passed: Sequence[bool], scores: Sequence[float]) -> float | None:
    """The correlation of a yes or no with a score; None where either does not vary."""
    if len(set(passed)) < 2 or len(set(scores)) < 2:
        return None
    return statistics.correlation([float(each) for each in passed], scores)


def cronbach_alpha(rows: Sequence[Sequence[float]]) -> float | None:
    """The internal consistency of items, students by items; None where nothing varies."""
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
    """The items of all submissions that were graded on the same criteria.

    One that could not be read says nothing about an item, whatever points it was given by hand.
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
    """What a teacher may want to do about an item; empty for one that does its work."""
    if item.discrimination is not None and item.discrimination < 0:
        return "stronger students lose it more often: is its check fair?"
    if item.passed == 1:
        return "everybody has it"
    if item.passed == 0:
        return "nobody has it: was it taught?"
    if item.difficulty < 0.5:
        return "hard: worth explaining again"
    if item.discrimination is not None and item.discrimination < 0.1:
        return "tells strong and weak students hardly apart"
    return ""

"""From outcomes and explanations to shares, criteria and stages: the rules of scoring."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from msgspec import structs

from autograder.assignment.assignment import Assignment, Criterion, Share, Stage
from autograder.checks.evidence import Evidence, Recorded, by_name
from autograder.checks.session import CheckSession
from autograder.checks.tie_breaks import TieBreaks
from autograder.diagnosis.catalogue import Catalogue, stage_catalogue
from autograder.diagnosis.explain import borne_out, separated
from autograder.diagnosis.fingerprint import Fingerprint, plain, trace_of
from autograder.results.result import (
    SCHEMA,
    CheckOutcome,
    CriterionResult,
    Result,
    ShareResult,
    StageResult,
    Status,
    worst,
)
from autograder.scoring.name_status import NameStatus, name_status_of
from autograder.scoring.nothing_found import why_nothing
from autograder.scoring.student_messages import criterion_message
from autograder.scoring.verdict import Verdict, Witness
from autograder.submissions.submission import Submission

_Place = tuple[str, int]


def score(
    assignment: Assignment,
    submission: Submission,
    session: CheckSession,
    evidence: Evidence,
    stages: frozenset[str] | None,
    further: TieBreaks | None = None,
) -> tuple[Result, dict[str, Any]]:
    """Score one submission.

    Args:
        assignment: The assignment.
        submission: What was handed in.
        session: What the submission's checks share: its guest and what loading it found.
        evidence: What the checks found.
        stages: The ids of the stages to score; None for all.
        further: Asks a name again if several explanations fit equally well; None if its guest is
            gone.

    Returns:
        The result, and the details that only a teacher may read, ready for JSON.
    """
    chosen = [stage for stage in assignment.stages if stages is None or stage.id in stages]
    witnesses = {stage.id: _witnesses(assignment, stage, evidence, further) for stage in chosen}
    results = tuple(_stage(assignment, stage, witnesses[stage.id]) for stage in chosen)
    result = Result(
        schema=SCHEMA,
        submission=submission.name,
        digest=submission.digest,
        assignment=assignment.id,
        score=round(sum(stage.score for stage in results), 4),
        max_score=float(sum(stage.points for stage in chosen)),
        stages=results,
        notes=(*submission.notes, *session.report.notes, *session.session.matched),
        message=why_nothing(submission, chosen, session.report),
    )
    standings = {
        name: witness.standing for group in witnesses.values() for name, witness in group.items()
    }
    return result, _details(standings, evidence)


def _witnesses(
    assignment: Assignment, stage: Stage, evidence: Evidence, further: TieBreaks | None
) -> dict[str, Witness]:
    catalogue = stage_catalogue(assignment, stage)
    outcomes_of, recorded_of = by_name(evidence.outcomes), by_name(evidence.recorded)
    found = {}
    for name in stage.names:
        outcomes, recorded = outcomes_of.get(name, []), recorded_of.get(name, [])
        standing = name_status_of(name, catalogue, outcomes, recorded)
        steady = not any(outcome.unsteady for outcome in outcomes)
        if name in evidence.borrowed and standing.kind != "null" and steady:
            standing = NameStatus(name, "borrowed")
        if standing.explanation.alternatives and further is not None:
            standing = _asked_once_more(catalogue, standing, recorded, further)
        found[name] = Witness(catalogue, standing, outcomes, recorded, assignment.forbidden)
    settled = {
        name: replace(witness, standing=_settled(stage, witness.standing, found))
        for name, witness in found.items()
        if witness.standing.explanation.alternatives
    }
    return {**found, **settled}


def _asked_once_more(
    catalogue: Catalogue, standing: NameStatus, recorded: Sequence[Recorded], further: TieBreaks
) -> NameStatus:
    """Of explanations that fit equally well, those that other inputs confirm."""
    name, chain = standing.name, catalogue.chains[standing.name]
    special = [entry.observation for entry in recorded if entry.check.criteria]
    explanation = borne_out(chain, standing.explanation, special)
    questions = further.questions(name)
    explanation = separated(
        chain,
        explanation,
        [question.given for question in questions],
        lambda number: further.ask(name, questions[number]),
    )
    mistake = standing.mistake and explanation.misconceptions[0]
    return replace(standing, explanation=explanation, mistake=mistake)


def _settled(stage: Stage, standing: NameStatus, all_of: Mapping[str, Witness]) -> NameStatus:
    """Of several explanations that fit equally well, the one that the other names confirm.

    Preferred is one whose mistakes other names of the stage show too, then one whose criteria this
    name has shares in, then the catalogue's first.
    """
    explanation = standing.explanation
    if not explanation.alternatives:
        return standing
    shown = {
        mistake.id
        for name, witness in all_of.items()
        if name != standing.name
        for setting in (witness.standing.explanation, *witness.standing.explanation.alternatives)
        for mistake in setting.misconceptions
    }
    own = {criterion.id for _, criterion, _ in _places(stage, standing.name)}
    settings = [replace(explanation, alternatives=()), *explanation.alternatives]
    settings.sort(
        key=lambda setting: (
            not all(mistake.id in shown for mistake in setting.misconceptions),
            not all(mistake.criterion in own for mistake in setting.misconceptions),
        )
    )
    return replace(standing, explanation=replace(settings[0], alternatives=tuple(settings[1:])))


def _stage(assignment: Assignment, stage: Stage, witnesses: Mapping[str, Witness]) -> StageResult:
    verdicts: dict[_Place, Verdict] = {}
    for criterion in stage.criteria:
        for number, share in enumerate(criterion.shares):
            verdicts[criterion.id, number] = witnesses[share.name].verdict(criterion, share)
    _tell_once(stage, witnesses, verdicts)
    _charge_unpaid(stage, witnesses, verdicts)
    criteria = tuple(
        _criterion(assignment, stage, criterion, witnesses, verdicts)
        for criterion in stage.criteria
    )
    return StageResult(
        id=stage.id,
        title=stage.title,
        score=round(sum(criterion.score for criterion in criteria), 4),
        max_score=float(stage.points),
        criteria=criteria,
    )


def _places(stage: Stage, name: str) -> list[tuple[_Place, Criterion, Share]]:
    """The shares of one name in the rubric's order."""
    return [
        ((criterion.id, number), criterion, share)
        for criterion in stage.criteria
        for number, share in enumerate(criterion.shares)
        if share.name == name
    ]


def _tell_once(
    stage: Stage, witnesses: Mapping[str, Witness], verdicts: dict[_Place, Verdict]
) -> None:
    """Report a name that raised at one share, as `error`; its other shares are blocked."""
    for name, witness in witnesses.items():
        standing = witness.standing
        if standing.kind != "unseen" or standing.mistake is not None:
            continue
        if standing.status == "failed":
            continue  # its weights could not be found, for which `state` is charged
        for place, _, _ in _places(stage, name):
            if verdicts[place].status == "blocked":
                verdicts[place] = structs.replace(verdicts[place], status=standing.status)
                break


def _charge_unpaid(
    stage: Stage, witnesses: Mapping[str, Witness], verdicts: dict[_Place, Verdict]
) -> None:
    """Charge a mistake that no share of its criterion pays for to the last step of its name.

    The rubric divides a step's points among the names that show it best; a name without a share
    in that criterion may still be the only one that is wrong.
    """
    for name, witness in witnesses.items():
        if witness.standing.kind != "explained":
            continue
        chain = witness.catalogue.chains[name]
        mine = [
            place
            for place, criterion, share in _places(stage, name)
            if criterion.id in chain.names and share.aspect is None
        ]
        if not mine:
            continue
        last = verdicts[mine[-1]]
        if witness.standing.partial and all(
            verdicts[place].status == "passed" for place, _, _ in _places(stage, name)
        ):
            verdicts[mine[-1]] = Verdict(
                "error",
                last.outcomes,
                mistakes=witness.sizes_built_in(),
                text=witness.standing.text,
            )
        for mistake in witness.standing.mistakes:
            paid = any(
                place[0] == mistake.criterion and mistake in verdict.mistakes
                for place, verdict in verdicts.items()
            )
            if not paid:
                told = (*verdicts[mine[-1]].mistakes, mistake)
                verdicts[mine[-1]] = Verdict("failed", last.outcomes, mistakes=told)


def _criterion(
    assignment: Assignment,
    stage: Stage,
    criterion: Criterion,
    witnesses: Mapping[str, Witness],
    verdicts: Mapping[_Place, Verdict],
) -> CriterionResult:
    shares = []
    lost: list[tuple[Share, Verdict, NameStatus]] = []
    named: dict[str, None] = {}
    for number, share in enumerate(criterion.shares):
        verdict = verdicts[criterion.id, number]
        shares.append(_share(assignment, share, verdict))
        if verdict.status != "passed":
            lost.append((share, verdict, witnesses[share.name].standing))
            named.update(dict.fromkeys(mistake.id for mistake in verdict.mistakes))
    status: Status = worst(tuple(share.status for share in shares))
    return CriterionResult(
        id=criterion.id,
        title=criterion.title,
        score=round(sum(share.score for share in shares), 4),
        max_score=float(criterion.points),
        status=status,
        message=criterion_message(assignment, stage, criterion, lost, witnesses),
        misconceptions=tuple(named),
        shares=tuple(shares),
    )


def _share(assignment: Assignment, share: Share, verdict: Verdict) -> ShareResult:
    earned = 0.0
    if verdict.status == "passed":
        earned = float(share.points)
    elif verdict.status == "blocked":
        earned = round(share.points * assignment.blocked_earns, 4)
    return ShareResult(
        name=share.name,
        score=earned,
        max_score=float(share.points),
        status=verdict.status,
        checks=tuple(
            CheckOutcome(outcome.check_id, outcome.status) for outcome in verdict.outcomes
        ),
        aspect=share.aspect,
    )


def _details(standings: Mapping[str, NameStatus], evidence: Evidence) -> dict[str, Any]:
    """For a teacher: the status of each name, and what each failing check saw."""
    return {
        "standings": {
            name: {
                "kind": standing.kind,
                "misconceptions": [mistake.id for mistake in standing.mistakes],
                "alternatives": [
                    [mistake.id for mistake in setting.misconceptions]
                    for setting in standing.explanation.alternatives
                ],
            }
            for name, standing in standings.items()
        },
        "failures": [
            {
                "check": outcome.check_id,
                "status": outcome.status,
                "found": outcome.found,
                "expected": outcome.expected,
                "numbers": outcome.numbers,
                "text": outcome.text,
            }
            for outcome in evidence.outcomes
            if outcome.status != "passed"
        ],
        # Of names that nothing explains: students who share an unknown mistake share these.
        "fingerprints": {
            name: plain(fingerprint_of(evidence.of(name)))
            for name, standing in standings.items()
            if standing.kind == "unexplained"
        },
    }


def fingerprint_of(recorded: Sequence[Recorded]) -> Fingerprint:
    """The fingerprint of a name's outputs on the inputs that all students get."""
    return tuple(
        trace_of(entry.observation.value, entry.observation.exception)
        for entry in recorded
        if not entry.check.criteria
    )

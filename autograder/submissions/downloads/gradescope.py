"""Gradescope's export of submissions: `submission_123/` beside `submission_metadata.yml`.

The YAML has Ruby's symbols for keys, such as `:submitters:`. Several submitters are a group.
"""

from collections.abc import Iterator
from typing import Any

import yaml

from autograder.submissions.downloads.handin import HandIn, Origin, Piece
from autograder.submissions.downloads.listing import Listing
from autograder.submissions.intake import clean_text
from autograder.submissions.roster import Person

METADATA = "submission_metadata.yml"
LARGEST = 50_000_000  # bytes: it holds the results of every submission, too


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Reads what Ruby wrote as plain lists, tables and words; makes no objects of anything."""


def _plain(loader: Any, _tag: str, node: yaml.Node) -> object:
    if isinstance(node, yaml.MappingNode):
        return loader.construct_mapping(node, deep=True)
    if isinstance(node, yaml.SequenceNode):
        return loader.construct_sequence(node, deep=True)
    return loader.construct_scalar(node)


_Loader.add_multi_constructor("!", _plain)


def hand_ins(listing: Listing) -> Iterator[HandIn]:
    """What was handed in, a student or group at a time."""
    names = listing.names()
    if METADATA not in names:
        return
    for key, table in sorted(_metadata(listing).items()):
        folder = f"{key}/"
        if folder not in names or not isinstance(table, dict):
            continue
        submitters = table.get(":submitters")
        people = tuple(
            Person(
                name=_word(each.get(":name")),
                number=_word(each.get(":sid")),
                email=_word(each.get(":email")),
            )
            for each in (submitters if isinstance(submitters, list) else ())
            if isinstance(each, dict)
        )
        label = " and ".join(each.name or each.email for each in people)
        yield HandIn(
            label=label or str(key),
            pieces=(Piece(listing.prefix + folder, ""),),
            names=(folder,),
            origin=Origin(
                "gradescope",
                said=people[0] if len(people) == 1 else Person(),
                people=people if len(people) > 1 else (),
                submitted=_word(table.get(":created_at")),
                attempt=str(key).removeprefix("submission_"),
            ),
        )


def _metadata(listing: Listing) -> dict[str, object]:
    try:
        found = yaml.load(listing.head(METADATA, LARGEST), Loader=_Loader)
    except (yaml.YAMLError, ValueError, RecursionError):
        return {}
    return {str(key): value for key, value in found.items()} if isinstance(found, dict) else {}


def _word(value: object) -> str:
    return "" if value is None else clean_text(str(value)).strip()

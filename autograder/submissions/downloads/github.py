"""A folder of cloned repositories, such as `hw1-adalove`; each has a `.git`.

Only the roster can say whose a repository is: names of repositories and of people may both have
hyphens in them.
"""

from collections.abc import Iterator

from autograder.submissions.downloads.handin import HandIn, Origin, Piece
from autograder.submissions.downloads.listing import Listing
from autograder.submissions.intake import clean_text
from autograder.submissions.roster import Person

GIT = (".git", ".git/")  # a file in a worktree, a folder in a clone


def hand_ins(listing: Listing) -> Iterator[HandIn]:
    """What was handed in, a repository at a time."""
    for name in listing.names():
        if name.endswith("/") and not name.startswith("."):
            inner = listing.inside(name).names()
            if any(each in inner for each in GIT):
                repository = clean_text(name.rstrip("/"))
                yield HandIn(
                    label=repository,
                    pieces=(Piece(listing.prefix + name, ""),),
                    names=(name,),
                    origin=Origin("github", said=Person(repository=repository)),
                )

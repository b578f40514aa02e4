"""What lies in a class folder and is nobody's work: files of systems, editors and teachers."""

import os
import re
from pathlib import Path

from autograder.submissions.intake import suffix_of

# Of systems, editors and unfinished downloads: nobody needs to hear of them.
_SYSTEM = re.compile(
    r"\..*|__MACOSX|__pycache__|@eaDir|\$RECYCLE\.BIN|System Volume Information|lost\+found"
    r"|Thumbs\.db|ehthumbs\.db|desktop\.ini|Icon[\r_]?|~\$.*|.*~|#.*#"
    r"|.*\.(?:swp|swo|bak|tmp|temp|orig|lock|lck|part|partial|crdownload|download)",
    re.IGNORECASE | re.DOTALL,
)
_TEACHERS_WORDS = (
    r"(?:notes?|notizen|rubric|solutions?|lösung(?:en)?|grades?|noten|marks|roster|gradebook"
    r"|instructions?|handout|assignment|todo|requirements|results?)"
)
_TEACHERS = re.compile(
    r"(?:README|LICENSE|Makefile|Dockerfile)(?:\..*)?"
    r"|.*\.(?:csv|tsv|toml|ya?ml|xlsx?|ods|sh|bat|ps1|log)"
    rf"|{_TEACHERS_WORDS}\.(?:pdf|docx?|odt|txt|md|html?|rtf)",
    re.IGNORECASE,
)
# As systems call what was made by mistake; read all the same where there is work in it.
_NEW_FOLDER = re.compile(
    r"(?:New folder|untitled folder|Neuer Ordner|Nouveau dossier|Nueva carpeta|Nuova cartella"
    r"|新建文件夹)(?: ?\(?\d+\)?)?",
    re.IGNORECASE,
)


def is_nobodys(name: str) -> bool:
    """Whether an entry's name tells that it is nobody's work."""
    return bool(_SYSTEM.fullmatch(name) or _TEACHERS.fullmatch(name))


def is_worth_telling(name: str) -> bool:
    """Whether somebody may ask why this was passed over."""
    return not _SYSTEM.fullmatch(name)


def is_new_folder(path: Path) -> bool:
    """A folder that was made by mistake and holds no work."""
    if not _NEW_FOLDER.fullmatch(path.name) or not path.is_dir():
        return False
    return not any(
        suffix_of(name) in (".py", ".ipynb", ".zip")
        for _, _, names in os.walk(path)
        for name in names
    )

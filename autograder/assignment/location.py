"""Where an assignment is searched for, so that a command started anywhere finds the right one."""

from pathlib import Path

from autograder.errors import UsageError

FILE_NAME = "assignment.toml"
PACKAGE = Path(__file__).resolve().parents[1]


def find_assignment(path: Path | None = None) -> Path:
    """The `assignment.toml` that `load_assignment` would read.

    Args:
        path: The file, its folder, or a folder with one assignment in its `assignments/`. None
            searches; see `load_assignment`.

    Raises:
        UsageError: There is none, or a folder holds several.
    """
    if path is not None:
        file = path / FILE_NAME if path.is_dir() else path
        if file.is_file():
            return file.resolve()
        found = _only(sorted(path.glob(f"assignments/*/{FILE_NAME}")), path)
        if found is None:
            raise UsageError(f"{path}: neither an {FILE_NAME} nor a folder that holds one")
        return found
    here = Path.cwd()
    places = [here, *here.parents, PACKAGE.parent]
    for place in places:
        nearest = [place / FILE_NAME] if (place / FILE_NAME).is_file() else []
        found = _only(nearest or sorted(place.glob(f"assignments/*/{FILE_NAME}")), place)
        if found is not None:
            return found
    found = _only(sorted(PACKAGE.glob(f"_assignments/*/{FILE_NAME}")), PACKAGE)
    if found is None:
        raise UsageError(
            f"no {FILE_NAME} in {here}, in a folder above it, in the checkout or in the package;"
            " give one with --assignment"
        )
    return found


def _only(files: list[Path], place: Path) -> Path | None:
    if len(files) > 1:
        folders = ", ".join(file.parent.name for file in files)
        raise UsageError(f"{place} holds several assignments ({folders}); name one of them")
    return files[0].resolve() if files else None

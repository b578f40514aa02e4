# >>> attention autograder: written by `autograder release nbgrader`, changes get lost
from nbconvert.preprocessors import ClearMetadataPreprocessor
from nbgrader import preprocessors

from autograder.platforms.nbgrader import (
    BehindTheWall,
    CheckChanged,
    OverwriteChanged,
    RestoreCells,
)

c = get_config()
c.Autograde.sanitize_preprocessors = [
    preprocessors.ClearOutput,
    RestoreCells,  # instead of DeduplicateIds
    preprocessors.OverwriteKernelspec,
    OverwriteChanged,  # OverwriteCells and CheckCellMetadata, if there is anything to do
    CheckChanged,
]
c.OverwriteCells.add_missing_cells = True
c.Autograde.autograde_preprocessors = [
    BehindTheWall,  # instead of Execute
    preprocessors.IgnorePattern,
    ClearMetadataPreprocessor,
    preprocessors.LimitOutput,
    preprocessors.SaveAutoGrades,
    preprocessors.AssignLatePenalties,
    CheckChanged,
]
# <<< attention autograder

"""What a graded submission leaves: `result.json`, details for the teacher, the grading key."""

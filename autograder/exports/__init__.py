"""Files for other programs, written from the gradebook."""

"""Files for other programs: from the gradebook into the platforms' own gradebooks."""

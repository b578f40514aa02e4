"""How long grading takes here, beside what else grades notebooks: `make bench`."""

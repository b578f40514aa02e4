"""What is outside the wall: the sandbox, guests as processes, the dialogues of the checks."""

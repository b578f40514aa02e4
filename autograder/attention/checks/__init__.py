"""The hidden checks of the four stages, and what they are made of."""

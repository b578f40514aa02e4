"""The commands, one module for each kind of work; `main` puts them together."""

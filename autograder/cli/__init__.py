"""The commands, a module for each kind of work; `cli` puts them together."""

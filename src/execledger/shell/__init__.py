"""Reads shell commands: their syntax, and what each would do."""

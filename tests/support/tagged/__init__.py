"""Seeded sessions in which every line of every file carries a tag that no other text has.

A tag names the line and its version, so that what a result shows follows from its text alone: no command has to be
understood, and whatever a command prints counts as seen. The judge holds each reference against copies of all files
that were taken when the results were made.
"""

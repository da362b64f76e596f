"""Runs of coding agents in one shape: finding, reading, replaying and counting them."""

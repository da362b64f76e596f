"""Ledger under Inspect: a hook that edits the input of model calls, and an approver that replaces suppressed calls.

Inspect finds ``registry`` through the entry point group ``inspect_ai``. Nothing is done unless ``EXECLEDGER=on``.
"""

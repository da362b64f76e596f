"""The pure heart: actions, records, the ledger and its three questions (inform, govern, compare)."""

"""The pure core: the execution ledger and the questions to it (inform, govern, compare); read ``step`` first."""

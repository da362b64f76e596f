"""The model-API proxy: one relay on loopback, one module per wire dialect.

``relay`` passes requests and streams on, ``responses`` reads and edits one dialect, ``history`` and ``edits`` show each
request's history as it was shown before, ``conversation`` asks the ledger.
"""

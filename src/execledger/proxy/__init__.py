"""The model-API proxy: one relay on loopback, one module per wire dialect.

``relay`` forwards requests and streams, ``passage`` edits them, ``dialects`` has the wire formats, ``history`` and
``edits`` show each request's history as it was shown before, ``conversation`` asks the ledger.
"""

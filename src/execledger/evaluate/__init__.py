"""The paper's experiment: runs of an agent with and without Ledger, what they came to, and the tables of it.

``metrics`` says what is counted, ``prices`` what it costs, ``statistics`` what it proves, ``tables`` and ``figures``
show it; ``plan`` and its neighbours carry an experiment out.
"""

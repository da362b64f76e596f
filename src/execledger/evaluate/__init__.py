"""The paper's experiment: runs of an agent with and without Ledger, their grades, metrics, statistics and report.

``plan`` describes an evaluation, ``dataset`` has its tasks, ``study`` its output folder; ``experiment`` runs it and
``grade`` grades it. ``collect`` reads runs and ``metrics`` makes one row per run of them; ``statistics`` and ``report``
turn rows into tables and figures, ``parquet`` exports them. ``counterfactual`` prices a replay.
"""

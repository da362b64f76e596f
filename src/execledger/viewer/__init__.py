"""The viewer: a page over recorded and running agents, served on loopback or kept in one file.

``tracks`` follows what becomes known of each file while the ledger is folded, ``model`` puts a run into the shape that
the page reads, ``readings`` and ``journal_reading`` feed it, ``counting`` adds up, ``shelf`` finds and lists runs by
``tallies`` of them, ``live`` sends what is new, ``server`` answers, ``beside`` stands next to an agent, ``export``
writes one file. The page itself is in ``page/``.
"""

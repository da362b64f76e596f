"""The viewer: a web page over recorded and running agents, served on loopback or exported to one file.

``tracks`` keeps what became known of each file, step by step, while the ledger is folded; ``model`` is a run in the
JSON shape that the page reads, with ``reasons`` for decisions in plain words; ``reading`` reads a journal or replays a
recorded run into that model; ``counting`` adds up; ``compare`` aligns two runs. ``runs`` lists, filters
and opens runs, which a ``worker`` process finds and counts, reached through ``scan``. ``server`` has the routes,
``responses`` the security headers and JSON, ``live`` the event stream, ``sidecar`` the viewer next to an agent,
``export`` the single file, ``assets`` the page's own files, which are in ``page/``.
"""

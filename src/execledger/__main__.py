"""``python -m execledger`` is the ``execledger`` command."""

from __future__ import annotations

import sys

from execledger.cli.main import main

if __name__ == "__main__":
    sys.exit(main())

"""What every adapter shares: a session under a ledger, its journal, and the port that adapters implement."""

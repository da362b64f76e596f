"""What ``execledger demo`` shows: a small repository with a bug, a scripted agent that mends it, and a recorded run."""

"""Claude Code: its recorded sessions."""

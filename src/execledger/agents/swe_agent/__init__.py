"""SWE-agent: its recorded runs."""

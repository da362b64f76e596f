"""OpenHands: its recorded runs."""

"""Adapters: a foreign agent's shapes, mapped onto actions and observations. No policy lives here."""

"""A kit for those who write an adapter: ``adapters`` checks one, ``scripted_model`` runs a real agent without a model.

docs/adapters.md shows both. Neither needs a test framework: a failed check is an ``AssertionError``.
"""

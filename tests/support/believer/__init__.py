"""Seeded shell sessions, and a judge that reads every reference as a model that believes the text would.

The judge shares nothing with Ledger's own parsing: the generator knows what each command asks for, and the judge reads
the files themselves at that moment.
"""

"""The wire formats of model APIs, one module each, behind the interface of proxy/dialect.py."""

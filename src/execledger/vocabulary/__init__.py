"""What shell, core and adapters speak of: actions, observations, decisions, records of commands and files. Pure."""

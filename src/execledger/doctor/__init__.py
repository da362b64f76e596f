"""The doctor: looks at the installation, the agents and the environment, and says in one line each what to fix."""

"""mini-swe-agent: the wrapped model, its launcher, its batch runner, its trajectories."""

"""OpenAI Codex: its calls as actions, its launcher, its batch runner, its rollouts."""

"""What the project's own tests and demo run on, shipped so that others can test with it too."""

"""The scenarios: a file a kind of hostility, a function a behaviour."""

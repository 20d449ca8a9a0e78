"""Codex: its live stream, and what its records mean as events."""

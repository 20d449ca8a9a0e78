"""Cline: what its CLI prints, what it and its forks leave on disk, and the event layers of its SDK."""

"""Interchange formats, written from and read into the one timeline of entries."""

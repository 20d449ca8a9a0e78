"""Cline: its streams, stored tasks and sessions, and the SDK's three event layers."""

"""The command `steno`: one module for each of its commands."""

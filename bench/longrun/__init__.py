"""Long runs as each harness prints them: one seeded talk in each program's own records.

A module for each program names the recordings that its shapes are copied from.
"""

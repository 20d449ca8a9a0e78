"""What a run looks like on a terminal while it goes on."""

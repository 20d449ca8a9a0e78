"""One module for each agent: its readers, its tool table, how it is launched."""

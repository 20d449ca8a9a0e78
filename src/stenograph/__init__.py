"""stenograph."""

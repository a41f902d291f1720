"""The SQL half: queries in guarded worker processes, what the schema tools say, and grading."""

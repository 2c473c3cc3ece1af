"""Reading a question: its intent, its time, its terms and the names in it."""

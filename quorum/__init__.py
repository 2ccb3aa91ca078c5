"""Question answering over your documents, by the method that is worth its cost on your questions."""

"""The ground floor: errors, words, JSON, budgets, and how files are written. Knows nothing of models, and imports no other room."""

"""Questionnaires: questions of every kind, their files, and what is known of the answers."""

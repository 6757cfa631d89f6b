"""Sentences, numbers and tables for people. This room computes nothing and loads no other."""

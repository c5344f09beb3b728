"""Deciding: which exchange is fastest on a machine, by how much, why, and from where on another one is."""

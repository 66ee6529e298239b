"""Holdfast keeps GPU fleets productive: one verdict per node, one next step per failure, one price per incident."""

__version__ = "0.1.0"

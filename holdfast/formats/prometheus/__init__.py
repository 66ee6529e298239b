"""Scrapes of exporters other than DCGM's."""

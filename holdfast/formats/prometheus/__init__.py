"""Scrapes of exporters other than dcgm-exporter."""

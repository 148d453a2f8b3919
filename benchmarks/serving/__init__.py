"""Requests per second and latency of the service, beside transformers' pipeline in the same application."""

"""Importing the handlers of this room's jobs registers them with every worker."""

from pooling import pool_services

__all__ = ["pool_services"]

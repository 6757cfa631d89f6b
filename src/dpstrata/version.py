"""The version, in the one place that the build, the documents and the command line read."""

__version__ = "0.2.0"

"""The samples of the op table, one file a family."""

"""The figures of a comparison: one module each, its numbers as rows of a CSV, then its drawing."""

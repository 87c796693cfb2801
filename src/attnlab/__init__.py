"""attnlab: an experiment framework for attention in recurrent encoder-decoders."""

__version__ = "0.1.0"

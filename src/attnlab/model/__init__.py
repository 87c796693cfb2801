"""The recurrent encoder-decoder around the attention: encoders, decoder orders, readouts, `Seq2Seq`."""

from attnlab.model.decoder import (
    Decoder,
    FixedVector,
    InputFeeding,
    PostCombine,
    PostCombineFeeding,
    PostCombinePrevious,
)
from attnlab.model.encoder import Encoder
from attnlab.model.initialise import Bahdanau, FanIn, Initialiser, Uniform
from attnlab.model.readout import Combine, Maxout, Plain, Readout
from attnlab.model.seq2seq import Decoded, Seq2Seq
from attnlab.model.state import DecoderState

__all__ = [
    "Bahdanau",
    "Combine",
    "Decoded",
    "Decoder",
    "DecoderState",
    "Encoder",
    "FanIn",
    "FixedVector",
    "Initialiser",
    "InputFeeding",
    "Maxout",
    "Plain",
    "PostCombine",
    "PostCombineFeeding",
    "PostCombinePrevious",
    "Readout",
    "Seq2Seq",
    "Uniform",
]

"""Records of any folders -> comparison tables and the figure of BLEU against length. No torch."""

from attnlab.report.compare import compare, load
from attnlab.report.rows import Comparison, Report, Row, Run, Spread
from attnlab.report.write import write

__all__ = ["Comparison", "Report", "Row", "Run", "Spread", "compare", "load", "write"]

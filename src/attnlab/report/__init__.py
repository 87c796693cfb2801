"""Records of any folders -> comparison tables and the figure of BLEU against length. No torch."""

from attnlab.report.compare import Comparison, Report, Row, Run, compare, load
from attnlab.report.write import write

__all__ = ["Comparison", "Report", "Row", "Run", "compare", "load", "write"]

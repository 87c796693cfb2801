"""The files of all figures: the same bytes, embedded fonts, any script, any number of cells."""

import csv
import re
from pathlib import Path
from xml.etree import ElementTree

from attnlab.report import compare, figures


def one(*records):
    return compare([(Path(f"runs/{number}"), record) for number, record in enumerate(records)]).comparisons[0]


def aligned(record, aer):
    record["test"]["flickr"]["alignment"] = {credit: {"aer": aer} for credit in ("predicted", "input")}
    return record


def test_every_figure_is_four_files_with_the_same_bytes_each_time(make, tmp_path):
    comparison = one(*(aligned(make(scorer=f"s{k}", bleu=30.0 + k), 0.1 * k) for k in range(3)))
    for out in ("a", "b"):
        (tmp_path / out).mkdir()
        written = figures.write_all(comparison, None, tmp_path / out)
    names = [f"{name}.{kind}" for name in ("bleu_by_length", "quality_vs_cost", "aer_vs_bleu")
             for kind in ("csv", "svg", "png", "pdf")]  # fmt: skip
    assert [path.name for path in written] == names
    assert all(figures.OURS.fullmatch(name) for name in names)
    for name in names:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    pdf = (tmp_path / "a" / "bleu_by_length.pdf").read_bytes()
    assert b"/CIDFontType2" in pdf and b"/Type3" not in pdf and b"CreationDate" not in pdf
    assert not re.search(rb"\d{4}-\d\d-\d\d", (tmp_path / "a" / "bleu_by_length.svg").read_bytes())
    table = (tmp_path / "a" / "aer_vs_bleu.csv").read_text(encoding="utf-8")
    lines = list(csv.DictReader(table.splitlines()))
    assert [line["bleu"] for line in lines] == ["30.0", "31.0", "32.0"]


def test_names_of_any_script_and_of_odd_signs_are_written_as_text(make, tmp_path):
    names = ["加法", "نقطة", "<script>$x_1$", "_hidden & \\", "\U00010348"]
    comparison = one(*(make(scorer=name, cell_id=str(k)) for k, name in enumerate(names)))
    comparison.test_set = "试 $a_1$"
    figures.write_all(comparison, None, tmp_path)
    root = ElementTree.parse(tmp_path / "bleu_by_length.svg").getroot()
    texts = {"".join(node.itertext()).strip() for node in root.iter("{http://www.w3.org/2000/svg}text")}
    assert {"加法", "<script>$x_1$", "_hidden & \\", "试 $a_1$, de-en"} <= texts


def test_forty_cells_can_be_drawn_and_the_caption_says_who_is_grey(make, tmp_path):
    comparison = one(*(aligned(make(scorer=f"s{k:02}", bleu=20.0 + k), 0.01 * k) for k in range(40)))
    figures.write_all(comparison, None, tmp_path)
    told = figures.captions(comparison)
    assert all(
        "Grey: the 38 cells that are neither best, worst nor baseline." in text for text in told.values()
    )
    drawn = (tmp_path / "bleu_by_length.svg").read_text(encoding="utf-8")
    assert "best: s39" in drawn and "38 other cells" in drawn and "s17" not in drawn


def test_a_further_comparison_has_files_of_its_own(make):
    comparison = one(make())
    comparison.slug = "coco"
    assert set(figures.captions(comparison)) == {"bleu_by_length_coco", "quality_vs_cost_coco"}

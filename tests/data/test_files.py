import gzip

import pytest

from attnlab.data import FilesCorpus, Words
from attnlab.errors import UserError

BOM = b"\xef\xbb\xbf"


def opened(folder, **options):
    return FilesCorpus(dir=str(folder), source="de", target="en", **options)


def put(folder, name, data):
    (folder / name).write_bytes(data if isinstance(data, bytes) else data.encode())


def refused(folder, *parts, name="train", **options):
    with pytest.raises(UserError) as caught:
        opened(folder, **options).split(name)
    message = str(caught.value)
    assert "\n" not in message
    for part in parts:
        assert str(part) in message
    return message


def test_text_pairs_plain_and_compressed_give_the_same_rows(tmp_path):
    put(tmp_path, "train.de", "eins zwei\ndrei\n")
    put(tmp_path, "train.en", "one two\nthree\n")
    plain = opened(tmp_path).split("train").to_dict()
    (tmp_path / "gz").mkdir()
    for side in ("de", "en"):
        put(tmp_path / "gz", f"train.{side}.gz", gzip.compress((tmp_path / f"train.{side}").read_bytes()))
    assert opened(tmp_path / "gz").split("train").to_dict() == plain
    assert plain == {"source": ["eins zwei", "drei"], "target": ["one two", "three"]}


def test_crlf_and_byte_order_mark_are_no_part_of_words(tmp_path):
    """Pitfall B2."""
    put(tmp_path, "train.de", BOM + b"ein Hund\r\nein Haus\r\n")
    put(tmp_path, "train.en", b"a dog\na house\n")
    dirty = opened(tmp_path).split("train")["source"][:]
    assert dirty == ["ein Hund", "ein Haus"]
    vocabulary = Words(min_frequency=1).train(dirty).inner.get_vocab()
    assert vocabulary == Words(min_frequency=1).train(["ein Hund", "ein Haus"]).inner.get_vocab()


def test_only_line_feeds_end_a_line(tmp_path):
    put(tmp_path, "train.de", "a\u2028b\nc\u0085d\ne\rf\ng\x0bh\n")
    put(tmp_path, "train.en", "1\n2\n3\n4\n")
    assert len(opened(tmp_path).split("train")) == 4


def test_a_missing_line_feed_at_the_end_is_no_missing_line(tmp_path):
    put(tmp_path, "train.de", "a\nb")
    put(tmp_path, "train.en", "x\ny\n")
    assert len(opened(tmp_path).split("train")) == 2


def test_unequal_line_counts_stop_with_both_counts(tmp_path):
    """Pitfall B3."""
    put(tmp_path, "train.de", "a\n" * 100)
    put(tmp_path, "train.en", "x\n" * 101)
    refused(tmp_path, "train.de has 100 lines", "train.en has 101", "mend the files")


def test_unequal_links_stop_too(tmp_path):
    put(tmp_path, "test.de", "a\nb\n")
    put(tmp_path, "test.en", "x\ny\n")
    put(tmp_path, "test.align", "0-0\n")
    refused(tmp_path, "test.de has 2 lines", "test.align has 1", name="test")


@pytest.mark.parametrize(
    ("links", "said"), [("0-0 1-0", "outside 1 source and 1 target"), ("0-1", "outside"), ("0:0", "no link")]
)
def test_links_must_point_at_words(tmp_path, links, said):
    put(tmp_path, "test.de", "a\na\n")
    put(tmp_path, "test.en", "x\nx\n")
    put(tmp_path, "test.align", f"0-0\n{links}\n")
    refused(tmp_path, "line 2", said, name="test")


def test_possible_links_are_links(tmp_path):
    put(tmp_path, "test.de", "a b\n")
    put(tmp_path, "test.en", "x y\n")
    put(tmp_path, "test.align", "0-0 1p1\n")
    assert opened(tmp_path).split("test")["alignment"][:] == ["0-0 1p1"]


def test_a_lone_quotation_mark_in_a_tsv_swallows_nothing(tmp_path):
    """Pitfall B6."""
    put(tmp_path, "train.tsv", 'er sagt\t"he says\nsie sagt\t"she says\n')
    assert opened(tmp_path).split("train")["target"][:] == ['"he says', '"she says']


def test_a_tsv_header_names_columns_in_any_order(tmp_path):
    put(tmp_path, "train.tsv", BOM + b"id\ten\tde\r\n1\tdog\tHund\r\n")
    assert opened(tmp_path).split("train").to_dict() == {"source": ["Hund"], "target": ["dog"]}


def test_a_tsv_row_with_a_column_too_many_is_named(tmp_path):
    put(tmp_path, "train.tsv", "a\tx\nb\ty\tz\n")
    refused(tmp_path, "train.tsv, line 2", "3 columns instead of 2")


@pytest.mark.parametrize(
    "row",
    [
        '{"de": "ein \\"Hund\\u2028!", "en": "a dog"}',
        '{"source": "ein \\"Hund\\u2028!", "target": "a dog"}',
        '{"translation": {"de": "ein \\"Hund\\u2028!", "en": "a dog"}}',
    ],
)
def test_jsonl_columns_by_language_by_side_or_as_on_the_hub(tmp_path, row):
    put(tmp_path, "train.jsonl", row + "\n")
    assert opened(tmp_path).split("train").to_dict() == {"source": ['ein "Hund\u2028!'], "target": ["a dog"]}


def test_parquet_with_missing_text_and_line_breaks(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(
        pa.table({"de": ["a\r\nb", None], "en": ["x", "y"], "n": [1, 2]}), tmp_path / "train.parquet"
    )
    assert opened(tmp_path).split("train").to_dict() == {"source": ["a b", ""], "target": ["x", "y"]}


def test_a_jsonl_changed_in_place_is_read_anew(tmp_path):
    """Pitfall B9, for the cache of `datasets`."""
    put(tmp_path, "train.jsonl", '{"de": "alt", "en": "old"}\n')
    assert opened(tmp_path).split("train")["source"][:] == ["alt"]
    put(tmp_path, "train.jsonl", '{"de": "neu", "en": "new"}\n')
    assert opened(tmp_path).split("train")["source"][:] == ["neu"]


def test_columns_that_are_not_there_are_listed(tmp_path):
    put(tmp_path, "train.jsonl", '{"fr": "a", "en": "b"}\n')
    refused(tmp_path, "no columns de and en among en, fr", "data.source")


def test_columns_of_numbers_are_refused(tmp_path):
    put(tmp_path, "train.jsonl", '{"de": 1, "en": "b"}\n')
    refused(tmp_path, "column de holds int64, not text")


def test_broken_json_is_one_line(tmp_path):
    put(tmp_path, "train.jsonl", '{"de": "a", \n')
    refused(tmp_path, "train.jsonl", "complete")


def test_text_that_is_not_utf8_is_named_with_its_line(tmp_path):
    put(tmp_path, "train.de", b"ok\n" + "für\n".encode("latin-1"))
    put(tmp_path, "train.en", "a\nb\n")
    refused(tmp_path, "train.de, line 2", "not UTF-8", "iconv")


@pytest.mark.parametrize("cut", [1, 15])
def test_a_truncated_gzip_file_is_named(tmp_path, cut):
    put(tmp_path, "train.de.gz", gzip.compress(b"ein Hund\n" * 50)[:-cut])
    put(tmp_path, "train.en", "a\n" * 50)
    refused(tmp_path, "train.de.gz", "broken gzip file")


def test_a_plain_file_named_gz_is_named(tmp_path):
    put(tmp_path, "train.de.gz", "Hund\n")
    put(tmp_path, "train.en", "a\n")
    refused(tmp_path, "train.de.gz", "broken gzip file")


def test_a_folder_in_the_place_of_a_file_is_named(tmp_path):
    (tmp_path / "train.de").mkdir()
    put(tmp_path, "train.en", "a\n")
    refused(tmp_path, "train.de", "can't be read")


def test_a_missing_side_is_named(tmp_path):
    put(tmp_path, "train.de", "Hund\n")
    refused(tmp_path, "train.de", "train.en or train.en.gz, is missing")


def test_a_missing_split_tells_what_was_looked_for(tmp_path):
    refused(tmp_path, "split 'train'", "train.de", "data.train")


def test_an_empty_split_is_refused(tmp_path):
    put(tmp_path, "train.de", "")
    put(tmp_path, "train.en", "")
    refused(tmp_path, "split 'train' holds no sentence pairs")


@pytest.mark.parametrize("left_out", ["dir", "source", "target"])
def test_what_is_not_set_is_named(tmp_path, left_out):
    options = {"dir": str(tmp_path), "source": "de", "target": "en"} | {left_out: None}
    with pytest.raises(UserError, match=f"data.{left_out} is not set"):
        FilesCorpus(**options)


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(UserError, match=r"no such folder; set data\.dir"):
        opened(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"max_train_length": 0}, "max_train_length=0"),
        ({"batch_tokens": None}, "both null"),
        ({"test": ["a", "a"]}, "named twice"),
    ],
)
def test_impossible_loading_options_are_refused(tmp_path, options, said):
    with pytest.raises(UserError, match=said):
        opened(tmp_path, **options)


def test_one_test_set_may_be_named_without_a_list(tmp_path):
    assert opened(tmp_path, test="test_2016_flickr").test == ["test_2016_flickr"]

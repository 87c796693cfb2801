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


@pytest.mark.parametrize("header", ["de\ten\tde", "id\ten\tid\tde"])
def test_a_tsv_with_two_columns_of_one_name_is_refused(tmp_path, header):
    put(tmp_path, "train.tsv", f"{header}\n" + "\t".join("abcd"[: header.count("\t") + 1]) + "\n")
    refused(tmp_path, "train.tsv, line 1", f"two columns are named {header[:2]}")


@pytest.mark.parametrize("header", ["DE\tEN", "de \t en"])
def test_a_header_with_other_spelling_is_no_sentence_pair(tmp_path, header):
    put(tmp_path, "train.tsv", f"{header}\nHund\tdog\n")
    refused(tmp_path, "train.tsv, line 1", "not exactly de and en")


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


@pytest.mark.parametrize(
    "rows",
    [
        '{"de": {"text": "a"}, "en": "b"}\n',
        '{"de": ["a"], "en": "b"}\n',
        '{"de": "a", "en": "b"}\n{"de": 1, "en": "b"}\n',
    ],
)
def test_columns_of_objects_lists_and_mixtures_are_refused(tmp_path, rows):
    put(tmp_path, "train.jsonl", rows)
    refused(tmp_path, "column de holds lists, objects or values of several kinds")


def test_a_missing_or_null_field_is_a_blank_side(tmp_path):
    put(tmp_path, "train.jsonl", '{"de": "a", "en": "b"}\n{"de": "c"}\n{"de": null, "en": "d"}\n')
    assert opened(tmp_path).split("train").to_dict() == {"source": ["a", "c", ""], "target": ["b", "", "d"]}


@pytest.mark.parametrize(
    ("name", "data"), [("train.jsonl", '{"de": "a", \n'), ("train.parquet", b"PAR1....")]
)
def test_a_broken_table_is_one_line_and_the_library_adds_none(tmp_path, capfd, name, data):
    put(tmp_path, name, data)
    refused(tmp_path, name, "complete")
    assert capfd.readouterr().err == ""


def test_json_that_is_not_utf8_is_one_line(tmp_path):
    put(tmp_path, "train.jsonl", '{"de": "für", "en": "b"}\n'.encode("latin-1"))
    refused(tmp_path, "train.jsonl: not UTF-8", "iconv")


@pytest.mark.parametrize("name", ["train.jsonl", "train.parquet"])
def test_a_table_without_rows_says_so(tmp_path, name):
    import pyarrow as pa
    import pyarrow.parquet as pq

    put(tmp_path, name, "")
    if name.endswith("parquet"):
        pq.write_table(
            pa.table({"de": pa.array([], pa.string()), "en": pa.array([], pa.string())}), tmp_path / name
        )
    refused(tmp_path, name, "holds no sentence pairs")


def test_parquet_with_two_columns_of_one_name_is_refused(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = [pa.array(["a"]), pa.array(["b"]), pa.array(["c"])]
    pq.write_table(pa.Table.from_arrays(columns, names=["de", "en", "de"]), tmp_path / "train.parquet")
    refused(tmp_path, "train.parquet: two columns are named de")


def test_parquet_of_string_views_is_text(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(
        pa.table({"de": pa.array(["a"], pa.string_view()), "en": ["b"]}), tmp_path / "train.parquet"
    )
    assert opened(tmp_path).split("train").to_dict() == {"source": ["a"], "target": ["b"]}


def test_a_folder_named_like_a_pattern_is_no_pattern(tmp_path):
    folder = tmp_path / "run[1]*"
    folder.mkdir()
    put(folder, "train.jsonl", '{"de": "a", "en": "b"}\n')
    assert opened(folder).split("train")["source"][:] == ["a"]


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


def test_gzip_is_told_by_its_content_where_the_name_does_not_say(tmp_path):
    put(tmp_path, "train.de", gzip.compress(b"Hund\n"))
    put(tmp_path, "train.en", "dog\n")
    assert opened(tmp_path).split("train").to_dict() == {"source": ["Hund"], "target": ["dog"]}


def test_lone_carriage_returns_as_line_ends_are_refused(tmp_path):
    """Both sides would be one line, and agree."""
    put(tmp_path, "train.de", "eins\rzwei\r")
    put(tmp_path, "train.en", "one\rtwo\r")
    refused(tmp_path, "train.de", "lone carriage returns", "tr ")


def test_files_put_together_have_byte_order_marks_within(tmp_path):
    put(tmp_path, "train.de", BOM + b"eins\r\n" + BOM + b"zwei\r\n")
    put(tmp_path, "train.en", "one\ntwo\n")
    assert opened(tmp_path).split("train")["source"][:] == ["eins", "zwei"]


def test_a_name_that_no_file_can_have_is_one_line(tmp_path):
    refused(tmp_path, "can't be read", name="x" * 300)


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
        ({"test": ["/elsewhere/test"]}, "no name of a split"),  # hypotheses would be written there
        ({"test": ["../test"]}, "no name of a split"),
        ({"test": [""]}, "no name of a split"),
        ({"source": "en"}, "are both en"),
    ],
)
def test_impossible_loading_options_are_refused(tmp_path, options, said):
    with pytest.raises(UserError, match=said):
        FilesCorpus(**{"dir": str(tmp_path), "source": "de", "target": "en", **options})


def test_one_test_set_may_be_named_without_a_list(tmp_path):
    assert opened(tmp_path, test="test_2016_flickr").test == ["test_2016_flickr"]

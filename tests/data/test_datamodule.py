import json
import logging
import pickle
from dataclasses import replace

import numpy as np
import pytest

from attnlab.data import BPE, FilesCorpus, ToyCorpus, TranslationData, Unigram, Words
from attnlab.errors import UserError

PAIRS = [("der Hund schläft.", "the dog sleeps."), ("ein Haus", "a house"), ("der alte Mann", "the old man")]


def index_of(loader):
    return [i for batch in loader for i in batch.index.tolist()]


def test_rows_with_a_blank_side_leave_training_as_pairs_and_are_counted(module, caplog):
    """Pitfall B4."""
    pairs = [("a", "x"), ("  ", "y"), ("c", "z"), ("d", ""), ("e", "w")]
    data = module(pairs)
    with caplog.at_level(logging.INFO, "attnlab.data"):
        data.setup("fit")
    assert sorted(index_of(data.train_dataloader())) == [0, 2, 4]
    assert data.describe()["splits"]["train"]["dropped"]["blank"] == 2
    assert "train: 3 pairs" in caplog.text and "dropped 2 (2 blank)" in caplog.text
    assert len(data.rows("train")) == 5


def test_held_out_sets_are_never_thinned(module):
    pairs = [("a", "x"), ("", "y"), ("c", ""), ("a " * 50, "x " * 50)]
    data = module(PAIRS, pairs, pairs, max_train_length=3, max_train_pairs=1)
    assert sorted(index_of(data.val_dataloader())) == [0, 1, 2, 3]
    assert sorted(index_of(data.test_dataloader("test"))) == [0, 1, 2, 3]
    stats = data.describe()["splits"]["test"]
    assert (stats["pairs"], stats["empty"]) == (4, {"source": 1, "target": 1})


@pytest.mark.parametrize("role", ["val", "test"])
def test_the_training_split_is_whole_where_it_is_a_held_out_set(module, role, caplog):
    """It came thinned: a wrong validation, and a crash when the test set was decoded after the training."""
    pairs = [("a", "x"), ("", "y"), ("c", ""), ("a b c d", "x"), ("e", "w")]
    corpus = module(pairs, max_train_length=3).corpus
    data = TranslationData(replace(corpus, **{role: "train"}), Words(min_frequency=1))
    with caplog.at_level(logging.WARNING, "attnlab.data"):
        data.setup()
    loader = data.val_dataloader() if role == "val" else data.test_dataloader("train")
    assert sorted(index_of(loader)) == [0, 1, 2, 3, 4]
    assert sorted(index_of(data.train_dataloader())) == [0, 4]
    assert data.describe()["splits"]["train"]["dropped"] == {
        "blank": 2,
        "too_long": 1,
        "over_max_train_pairs": 0,
    }
    assert "trained on and held out" in caplog.text


def test_a_finished_run_is_evaluated_on_all_training_pairs(module, tmp_path):
    data = module([("a", "x"), ("", "y"), ("a b c", "z")], max_train_length=2)
    data.save(tmp_path / "tokenizer")
    corpus = replace(data.corpus, test=["train"])
    again = TranslationData(corpus, data.recipe, tokenizers=tmp_path / "tokenizer")
    assert sorted(index_of(again.test_dataloader("train"))) == [0, 1, 2]
    assert again.describe()["splits"]["train"]["pairs"] == 3


def test_a_training_set_of_which_nothing_is_left_tells_why_in_words(module):
    data = module([("a a a", "x"), ("", "y"), ("b b b b", "z")], max_train_length=2)
    with pytest.raises(UserError, match=r"every pair of split 'train' was left out \(1 blank, 2 too long\);"):
        data.prepare_data()


@pytest.mark.parametrize("recipe", [Words(), BPE(size=50), Unigram(size=50)])
@pytest.mark.parametrize(
    ("pairs", "told"),
    [
        ([("", "x"), (" ", "y")], "(2 blank); give text with words on both sides of a pair"),
        ([("a b c", "x")], "(1 too long); raise data.max_train_length"),
        (
            [("", "x"), ("a b c", "x")],
            "(1 blank, 1 too long); give text with words on both sides of a pair or raise data.max_train_length",
        ),
    ],
)
def test_the_remedy_follows_the_reasons(module, recipe, pairs, told):
    with pytest.raises(UserError) as raised:
        module(pairs, recipe=recipe, max_train_length=2).prepare_data()
    assert str(raised.value).endswith(told)


def test_fewer_pieces_than_asked_for_are_told_once_with_both_numbers(module, tmp_path, caplog):
    data = module([("ab ab", "cd cd")] * 3, recipe=BPE(size=8000))
    with caplog.at_level(logging.WARNING, "attnlab.data"):
        data.setup("fit")
        data.setup("test")
    made = data.source_tokenizer.size
    assert made < 30
    notices = [r.getMessage() for r in caplog.records if "asked for" in r.getMessage()]
    assert notices == [
        f"tokenizer.size=8000 was asked for, but the training text gives {made} pieces; "
        "use these, or give more text"
    ]
    caplog.clear()
    data.save(tmp_path / "tokenizer")
    TranslationData(data.corpus, data.recipe, tokenizers=tmp_path / "tokenizer").setup("test")  # not learnt
    module([("ab ab", "cd cd")] * 3, recipe=BPE(size=made)).setup("fit")
    module([("ab ab", "cd cd")] * 3, recipe=Words(size=8000)).setup("fit")  # a limit, no more
    assert "asked for" not in caplog.text


def test_a_batch_holds_the_text_of_its_rows(module):
    data = module(PAIRS * 5, PAIRS, PAIRS)
    for split, loader in (("train", data.train_dataloader()), ("test", data.test_dataloader()[0])):
        rows = data.rows(split)
        for batch in loader:
            for k, row in enumerate(batch.index.tolist()):
                source = batch.source[k, : batch.source_lengths[k]].tolist()
                target = batch.target[k, : batch.target_lengths[k]].tolist()
                assert data.source_tokenizer.decode(source) == rows[row]["source"]
                assert (
                    target[-1] == data.target_tokenizer.end and data.target_tokenizer.end not in target[:-1]
                )
                assert data.target_tokenizer.decode(target) == rows[row]["target"]
                assert set(batch.source[k, batch.source_lengths[k] :].tolist()) <= {data.source_tokenizer.pad}


def test_the_source_end_mark_is_an_option_and_spares_blank_lines(module):
    data = module(PAIRS, PAIRS, [("der", "x"), ("", "y")], source_eos=True)
    batch = next(iter(data.test_dataloader("test")))
    order = np.argsort(batch.index.numpy())
    assert batch.source_lengths.numpy()[order].tolist() == [2, 0]
    assert batch.source[order[0], 1] == data.source_tokenizer.end


@pytest.mark.parametrize("limit", [2, 3])
def test_long_training_pairs_are_left_out_by_either_side_and_counted(module, limit):
    pairs = [("a a", "x"), ("a", "x x x"), ("a a a", "x"), ("a", "x")]
    data = module(pairs, max_train_length=limit)
    kept = [k for k, pair in enumerate(pairs) if max(len(side.split()) for side in pair) <= limit]
    assert sorted(index_of(data.train_dataloader())) == kept
    assert data.describe()["splits"]["train"]["dropped"]["too_long"] == 4 - len(kept)


def test_a_smaller_subset_lies_within_a_larger_one_and_goes_by_the_data_seed(module):
    pairs = [(f"w{i}", f"v{i}") for i in range(30)]
    kept = {n: set(index_of(module(pairs, max_train_pairs=n).train_dataloader())) for n in (5, 10)}
    assert len(kept[5]) == 5 and kept[5] < kept[10]
    assert set(index_of(module(pairs, max_train_pairs=10, seed=2).train_dataloader())) != kept[10]
    assert (
        module(pairs, max_train_pairs=5).describe()["splits"]["train"]["dropped"]["over_max_train_pairs"]
        == 25
    )


def test_vocabularies_come_from_used_training_text_only(module):
    pairs = [("a b", "x"), ("langes wort hier", "y")]
    data = module(pairs, [("valwort", "v")], [("testwort", "t")], max_train_length=2)
    assert set(data.source_tokenizer.inner.get_vocab()) - {"<pad>", "<unk>", "<s>", "</s>"} == {"a", "b"}


def test_a_joint_vocabulary_is_one_object_for_both_sides(module):
    joint = module(PAIRS, recipe=Words(min_frequency=1, joint=True))
    assert joint.source_tokenizer is joint.target_tokenizer
    assert {"Hund", "dog"} <= set(joint.source_tokenizer.inner.get_vocab())
    apart = module(PAIRS)
    assert "dog" not in apart.source_tokenizer.inner.get_vocab()


def test_lower_case_is_for_the_model_and_rows_keep_theirs(module):
    data = module(PAIRS, PAIRS, PAIRS, lowercase=True)
    batch = next(iter(data.test_dataloader("test")))
    k = batch.index.tolist().index(0)
    ids = batch.source[k, : batch.source_lengths[k]].tolist()
    assert data.source_tokenizer.decode(ids) == "der hund schläft."
    assert data.rows("test")[0]["source"] == "der Hund schläft."
    assert data.describe()["lowercase"] is True


def test_unknown_shares_are_given_and_a_high_one_is_warned_about(module, caplog):
    """Pitfall B11: text encoded unlike the training text."""
    with caplog.at_level(logging.WARNING, "attnlab.data"):
        data = module(PAIRS, PAIRS, [("▁der ▁Hu nd", "the dog")])
        data.setup("fit")
    # '▁' is punctuation to the word tokeniser: ▁ der ▁ Hu nd
    unknown = data.describe()["splits"]["test"]["unknown"]
    assert unknown == {"source": pytest.approx(4 / 5), "target": 0.0}
    warnings = [record.getMessage() for record in caplog.records]
    assert len(warnings) == 1 and warnings[0].startswith("test, source: 80% of the pieces are unknown")


def test_overlap_with_training_is_counted(module):
    data = module([("a", "x"), ("b", "y"), ("a", "z")], [("c", "x")], [("a", "x"), ("a", "q"), ("d", "d")])
    assert data.describe()["overlap"] == {
        "val": {"pairs": 0, "sources": 0},
        "test": {"pairs": 1, "sources": 2},
    }


def test_the_description_is_plain_and_complete(module):
    facts = module(PAIRS, licence="CC0").describe()
    assert json.loads(json.dumps(facts)) == facts
    assert {"languages", "licence", "source", "revision", "fingerprints", "splits", "overlap"} <= set(facts)
    assert facts["languages"] == {"source": "de", "target": "en"} and facts["licence"] == "CC0"
    assert set(facts["splits"]) == set(facts["fingerprints"]) == {"train", "val", "test"}
    train = facts["splits"]["train"]
    assert train["words"] == {"source": 8, "target": 8}
    assert train["tokens"] == {"source": 9, "target": 9}
    assert train["unknown"] == {"source": 0.0, "target": 0.0}


@pytest.fixture
def work(monkeypatch):
    """Counts how often a tokeniser is learnt and a split encoded."""
    import attnlab.data.datamodule as module

    done = {"learnt": 0, "encoded": 0}
    encode, train = module.encode, Words.train

    def counting_encode(*arguments):
        done["encoded"] += 1
        return encode(*arguments)

    def counting_train(*arguments, **options):
        done["learnt"] += 1
        return train(*arguments, **options)

    monkeypatch.setattr(module, "encode", counting_encode)
    monkeypatch.setattr(Words, "train", counting_train)
    return done


def test_work_is_done_once_and_again_after_a_change(module, work):
    """Pitfall B9."""
    module(PAIRS).prepare_data()
    assert work == {"learnt": 2, "encoded": 3}
    module(PAIRS).prepare_data()
    assert work == {"learnt": 2, "encoded": 3}
    changed = module([*PAIRS[:-1], ("der neue Mann", "the new man")])
    changed.prepare_data()
    assert "neue" in changed.source_tokenizer.inner.get_vocab()
    assert work == {"learnt": 4, "encoded": 6}
    module(PAIRS, recipe=Words(min_frequency=1, size=6)).prepare_data()
    assert work == {"learnt": 6, "encoded": 9}
    module(PAIRS, batch_tokens=100, seed_order=9).prepare_data()
    assert work == {"learnt": 6, "encoded": 9}, "options that don't change the text must not redo it"


def test_an_interrupted_piece_of_work_is_not_taken_for_a_finished_one(module, monkeypatch, cache):
    import attnlab.data.datamodule as the_module

    def dies(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(the_module, "encode", dies)
        with pytest.raises(KeyboardInterrupt):
            module(PAIRS).prepare_data()
    assert not [path for path in (cache / "encoded").iterdir() if path.is_dir()]
    module(PAIRS).prepare_data()


def test_a_cache_that_cannot_be_written_is_one_line(module, tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(UserError, match=r"data\.cache_dir or ATTNLAB_CACHE") as caught:
        module(PAIRS, cache_dir=str(blocked)).prepare_data()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "recipe", [Words(min_frequency=1), BPE(size=60), Unigram(size=40)], ids=["word", "bpe", "unigram"]
)
def test_a_finished_run_is_read_with_its_own_tokenisers_and_without_training_text(module, tmp_path, recipe):
    first = module(PAIRS * 4, recipe=recipe)
    first.save(tmp_path / "tokenizer")
    (tmp_path / "bitext" / "train.de").unlink()
    again = TranslationData(
        FilesCorpus(dir=str(tmp_path / "bitext"), source="de", target="en"),
        recipe,
        tokenizers=tmp_path / "tokenizer",
    )
    again.setup("test")
    assert again.source_tokenizer.fingerprint == first.source_tokenizer.fingerprint
    assert (again.source_tokenizer is again.target_tokenizer) == recipe.joint
    facts = again.describe()
    assert set(facts["splits"]) == {"test"} and facts["overlap"] == {}
    assert facts["fingerprints"]["test"] == first.describe()["fingerprints"]["test"]


def test_faults_of_a_test_set_come_up_before_training(module, tmp_path):
    data = module(PAIRS)
    with (tmp_path / "bitext" / "test.en").open("a") as file:
        file.write("one line too many\n")
    with pytest.raises(UserError, match=r"test\.de has 1 lines"):
        data.prepare_data()


def test_training_text_that_is_all_left_out_is_refused(module):
    with pytest.raises(UserError, match="every pair of split 'train' was left out"):
        module([("a b c", "x y z")], max_train_length=2).prepare_data()


def test_loading_draws_nothing_from_the_global_stream(module):
    import torch

    data = module(PAIRS * 5)
    torch.manual_seed(0)
    expected = torch.rand(1)
    torch.manual_seed(0)
    index_of(data.train_dataloader())
    assert torch.rand(1) == expected


def test_loaders_survive_workers_that_are_spawned(module):
    """Pitfall D11: everything a worker gets is plain."""
    data = module(PAIRS * 3, workers=2)
    loader = data.train_dataloader()
    for part in (loader.dataset, loader.batch_sampler, loader.collate_fn, data.corpus):
        pickle.loads(pickle.dumps(part))
    loader.multiprocessing_context = "spawn"
    assert sorted(index_of(loader)) == list(range(9))


def test_gold_links_come_with_the_rows():
    data = TranslationData(ToyCorpus(train_pairs=20, val_pairs=5, test_pairs=5), Words(min_frequency=1))
    assert data.rows("test").column_names == ["source", "target", "alignment"]


def test_one_corpus_under_two_order_seeds_is_the_same_data_in_another_order(module):
    pairs = [(f"w{i}", f"v{i}") for i in range(40)]
    one = module(pairs, batch_sentences=4)
    two = module(pairs, batch_sentences=4, seed_order=2)
    assert index_of(one.train_dataloader()) != index_of(two.train_dataloader())
    assert one.describe()["fingerprints"] == two.describe()["fingerprints"]


def test_importing_the_names_does_not_import_lightning_or_datasets():
    import subprocess
    import sys

    code = (
        "import sys, attnlab.data, attnlab.data.toy, attnlab.data.files, attnlab.data.hub, attnlab.data.recipes;"
        "print([m for m in ('torch', 'datasets', 'pytorch_lightning') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"

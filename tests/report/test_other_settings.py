"""Which settings beside the axes a row is told by."""

from pathlib import Path

from attnlab.report import compare


def together(*records):
    return compare([(Path(f"runs/{number}"), record) for number, record in enumerate(records)])


def test_settings_outside_the_axes_are_named_in_every_row(make):
    rows = together(
        make(scorer="a", settings={"lr": 0.001}), make(scorer="b", settings={"lr": 0.002}), make(scorer="c")
    ).comparisons[0].rows  # fmt: skip
    assert [row.settings for row in rows] == ["optim.lr=0.001", "optim.lr=0.002", "optim.lr=0.001"]


def test_an_axis_own_settings_are_named_only_among_cells_of_one_name(make):
    one = [make(scorer="a", cell_id=f"a{k}") for k in (1, 2)]
    for record, units in zip(one, (64, 128), strict=True):
        record["config"]["scorer"] = {"units": units}
    other = make(scorer="b")
    other["config"]["scorer"] = {"units": 1}
    rows = together(*one, other).comparisons[0].rows
    assert [row.settings for row in rows] == ["scorer.units=64", "scorer.units=128", ""]


WORDS = {"_target_": "attnlab.data.recipes.Words", "size": None, "min_frequency": 2, "joint": False}


def bpe(size=4000):
    return {"_target_": "attnlab.data.recipes.BPE", "size": size, "min_frequency": 2, "joint": True}


def told(*records):
    return [row.settings for row in together(*records).comparisons[0].rows]


def test_another_option_of_a_group_is_named_without_what_comes_with_it(make):
    assert told(
        make(scorer="a", tokenizer=bpe(), overrides=["tokenizer=bpe", "scorer=a"]),
        make(scorer="b", tokenizer=WORDS),
    ) == ["tokenizer=bpe", "tokenizer=words"]


def test_what_was_asked_for_beside_the_option_is_named_too(make):
    assert told(
        make(scorer="a", tokenizer=bpe(2000), overrides=["tokenizer=bpe", "tokenizer.size=2000"]),
        make(scorer="b", tokenizer=WORDS),
    ) == ["tokenizer=bpe tokenizer.size=2000", "tokenizer=words"]


def test_options_come_before_single_settings(make):
    assert told(
        make(scorer="a", tokenizer=bpe(), callbacks={"patience": 3}, overrides=["tokenizer=bpe"]),
        make(scorer="b", tokenizer=WORDS, callbacks={"patience": None}),
    ) == ["tokenizer=bpe callbacks.patience=3", "tokenizer=words callbacks.patience=null"]


def test_cells_of_one_option_are_still_told_apart(make):
    records = [
        make(scorer="a", tokenizer=bpe(2000), overrides=["tokenizer=bpe"]),
        make(scorer="b", tokenizer=bpe(8000)),
        make(scorer="c", tokenizer=WORDS, overrides=["tokenizer=word"]),
        make(scorer="d", tokenizer=WORDS),
    ]
    assert told(*records) == [
        "tokenizer=bpe tokenizer.size=2000", "tokenizer=bpe tokenizer.size=8000",
        "tokenizer=word", "tokenizer=word",
    ]  # fmt: skip


def test_two_options_of_one_class_are_told_apart_and_one_name_is_one_class(make):
    def hub(path):
        return {"_target_": "attnlab.data.hub.HubCorpus", "path": path, "config": path}

    assert told(
        make(scorer="a", data=hub("x"), overrides=["data=multi30k"]),
        make(scorer="b", data=hub("y"), overrides=["data=wmt14"]),
    ) == ["data=multi30k", "data=wmt14"]
    assert told(
        make(scorer="a", tokenizer={"_target_": "one.Words"}),
        make(scorer="b", tokenizer={"_target_": "two.Words"}),
    ) == ["tokenizer=one.Words", "tokenizer=two.Words"]


def test_an_object_in_place_of_none_is_named_by_its_class(make):
    halving = {"_target_": "attnlab.optim.Halving", "after": 3}
    assert told(
        make(scorer="a", settings={"schedule": None}), make(scorer="b", settings={"schedule": halving})
    ) == ["optim.schedule=null", "optim.schedule=halving"]


def test_what_cannot_change_a_score_is_no_difference_unless_nothing_else_is(make):
    def metrics(samples):
        return {"bootstrap": {"samples": samples, "level": 0.95, "seed": 1}, "min_bucket": 30}

    one = make(scorer="a", metrics=metrics(100), callbacks={"save_every": 1}, data={"licence": "x"})
    two = make(scorer="b", metrics=metrics(500), callbacks={"save_every": 2}, data={"licence": "y"})
    assert told(one, two) == ["", ""]
    assert told(make(cell_id="1", metrics=metrics(100)), make(cell_id="2", metrics=metrics(500))) == [
        "metrics.bootstrap.samples=100",
        "metrics.bootstrap.samples=500",
    ]


def test_only_the_last_folder_of_a_corpus_is_told(make):
    assert told(make(scorer="a", data={"dir": "/x/one"}), make(scorer="b", data={"dir": "/x/two"})) == [
        "data.dir=one",
        "data.dir=two",
    ]


def test_seeds_and_places_are_no_difference(make):
    records = [
        make(scorer=name, seed=k, out=f"o{k}", data={"dir": f"/x{k}/corpus"}) for k, name in enumerate("ab")
    ]
    assert [row.settings for row in together(*records).comparisons[0].rows] == ["", ""]


def test_options_without_effect_are_no_difference(make):
    records = [make(scorer=None, window=None, cell_id=str(k), settings={"lr": k}) for k in (1, 2)]
    for units, record in enumerate(records):
        record["config"] |= {
            "scorer": {"units": units},
            "about": {"unused": {"decoder": ["scorer", "window"]}},
        }
    assert [row.settings for row in together(*records).comparisons[0].rows] == ["optim.lr=1", "optim.lr=2"]

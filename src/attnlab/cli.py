# Architecture

One way in and one way through: `conf` -> `train` (data -> model -> fit -> test) -> record -> `report`. There is no second trainer and no script that goes round it.

## Letters

    "explain": ("attnlab.explain", "a walk through attention: a worked example, or runs on one sentence"),

## Modules, and what each may import

| module | does | imports |
|---|---|---|
| `attention/` | scorers, windows, the attention that joins them; the only softmax over the source; rows and matrices that all steps share | torch, jaxtyping |
| `model/` | encoder, decoder orders, readouts, cells, the vocabulary's cross-entropy, dropout, initialisation, `Seq2Seq` | torch, jaxtyping, `attention/` |
| `search/` | beam search (greedy is a beam of 1), length penalties, forced decoding, unknown words; over a model's `encode`, `step`, `logits` | torch, numpy, jaxtyping, `attention/`, `model/` |
| `data/` | corpora, the generated language, tokenisers, batches, the data module | datasets, tokenizers, torch, Lightning (data module only) |
| `metrics/` | BLEU, chrF, TER, length buckets, intervals and tests over sentences and seeds, effects of a grid, links and AER, attention statistics; pure: no files, no plots | sacrebleu, numpy, scipy, statsmodels |
| `results.py`, `schema.py`, `provenance.py` | the record of a run: writing, reading and finding it; its fields; code, packages and machine behind it | standard library |
| `optim.py` | optimiser, first rate and schedule of a run; which way each metric gets better | torch |
| `compiling.py`, `captured.py`, `capturing.py` | how the loop over decoder steps is run in training: as it stands, compiled, or as CUDA graphs; precision of float32 products | torch, `attention/`, `model/` |
| `training.py`, `validation.py`, `callbacks.py` | the LightningModule: objective and validation; `val/bleu`; stopping, what a person sees | torch, Lightning |
| `checkpoints.py`, `resume.py` | writing `best.ckpt` and `last.ckpt`; choosing where a stopped run goes on, setting the rest back to there | torch, Lightning |
| `agreement.py` | whether two runs of one cell agree, for `attnlab reproduce` | standard library |
| `account.py`, `progress.py`, `bars.py` | who a run is, what it costs and why it failed; `progress.json`: how far it is; a bar for what takes long | standard library, rich |
| `ranks.py` | sums and lists over the processes of one run | torch |
| `loggers/` | `metrics.jsonl`, CSV, TensorBoard, W&B | Lightning, wandb, matplotlib |
| `decoding.py`, `evaluation.py`, `gold.py`, `text.py` | decodes test sets; scores them and writes what lies beside the record; agreement with gold links; from ids to one line of text | `search/`, `metrics/` |
| `segments.py`, `samples.py` | statistics of each sentence, without text; the few sentences that may be shown | numpy |
| `evaluating.py`, `altered.py` | an evaluation of a finished run; the settings that it may change | Hydra, `evaluation.py` |
| `loading.py`, `loaded.py` | `attnlab.load(run)`: a finished run, to translate, align and attend | `build.py`, `search/`, `metrics/` |
| `build.py` | from settings to objects: the one module that calls `instantiate` | Hydra |
| `run.py`, `surroundings.py` | one cell: build, fit, test, record; its folder, log and signals | all of the above |
| `contract/` | what a scorer and a window owe, as functions: `attnlab check` on a class of one's own, and the tests | torch, `attention/` |
| `check.py` | refuses a configuration that cannot be trained | OmegaConf |
| `sweep/` | a cell's identity and folder; the file of a study, the plan of its cells with their states and cost, its rehearsal in one process that has torch; the pool of processes; the status of a sweep; no torch itself | Hydra, OmegaConf, rich |
| `hydra_plugins/` | the sweeper and the local launcher, where Hydra looks for them | Hydra, `sweep/` |
| `align/` | links of a text and its translation out of a loaded run, in one direction or both; scores and files | `loading.py`, `search/`, `metrics/`, safetensors |
| `dashboard/` | a W&B workspace and report as code, checked against the keys that runs have logged; no torch | wandb-workspaces, wandb |
| `report/` | records -> tables, tests, figures, page, checklist; no torch, except that `--system` builds the data of a run | `metrics/`, rich, matplotlib, jinja2 |
| `explain/` | the attention walkthrough: numbers of the worked example or of trained runs on one sentence, as text, pictures and a page | torch, `attention/`, `loading.py`, jinja2; styles of `report/page/` |
| `cli.py`, `train.py`, `plan.py`, `status.py`, `prepare.py`, `reproduce.py`, `evaluate.py`, `translate.py`, `align/__main__.py`, `report/__main__.py`, `explain/__main__.py` | one short module a verb | |
| `lines.py`, `ending.py`, `errors.py` | lines of a text as they were written; how a verb ends; the user's errors | standard library |

`tests/test_architecture.py` holds the imports of the first packages, and the rules below it that can be read off the source.

## Contracts

### Attention (`attention/`)

- A **scorer** is constructed with `(query_dim, key_dim)` and its own options. `prepare(states [B,S,K]) -> keys [B,S,A]` once a batch; `forward(query [...,Q,H], keys [...,N,A]) -> scores [...,Q,N]`. The leading axes are free: with a global window `query [B,T,H]` meets `keys [B,S,A]`; with a local one each step meets its own few keys, `[B,T,1,H]` and `[B,T,W,A]`.
- A **window** is constructed with `(query_dim)` and its own options. `positions(query [B,Q,H], lengths [B], steps [Q]) -> Positions`; `on_scores`, `on_weights` are its two hooks.
- **`Attention(scorer, window)`**: `prepare(states, lengths) -> Memory`, once a batch; `forward(query [B,Q,H], memory, steps [Q]) -> Attended(context [B,Q,K], weights [B,Q,N], first [B,Q] | None)`. `steps` counts from 1. `Attended.dense(S)` spreads the weights over all source positions, zeros elsewhere. `Memory.select(rows)` keeps some sentences. Nothing of a batch is kept on a module.

### Model (`model/`)

```python
model = Seq2Seq(source_size, target_size, *, encoder, scorer, window, decoder, readout,   # partials, handed their sizes here
                embedding_size, dropout, tie_embeddings, initialise, pad, start)
memory, state = model.encode(source [B,S], lengths [B])
decoded = model(source, lengths, target [B,T])              # target: gold ids WITH the end mark, padded, no start mark
decoded.readouts [B,T,H]; decoded.attended                  # Attended over T steps; row t belongs to target[:, t] (credit `predicted`)
logits = model.logits(readouts [...,H]) -> [...,V]
readout [B,Q,H], attended, state = model.step(tokens [B,Q], state, memory)
```

The start mark is put in front by `forward`; in search the first tokens are `model.start`. `state` holds Q hypotheses a sentence: `state.expand(k)` (from Q=1), `state.select(rows)` (sentences), `state.reorder(index [B,Q])` (hypotheses within a sentence). Memory is per sentence, never per hypothesis. `fixed_vector` attends to nothing: its weights have N=0 and `dense` gives zeros. A source of length 0 is legal (weights and context 0).

### Data (`data/`)

- A **corpus** is constructed from `conf/data/*.yaml`; `corpus.split(name) -> datasets.Dataset` with string columns `source`, `target` and, where known, `alignment` (`i-j` links, 0-based words). `corpus.train`, `corpus.val` name one split each, `corpus.test` a list. `corpus.describe()` gives languages, licence, source, revision.
- A **tokeniser** (one a side, or one joint): `size`, `pad`, `unk`, `start`, `end` (ids), `encode(lines) -> list[list[int]]` (no marks), `decode(ids) -> str` (detokenised; special ids and all after the end mark left out), `pieces(ids) -> list[str]`, `words(ids) -> list[int]` (which white-space word each piece belongs to), `save(path)`, `load(path)`.
- A **batch**: `Batch(index [B], source [B,S], source_lengths [B], target [B,T], target_lengths [B])`, a NamedTuple of int64 tensors; `target` ends with the end mark and has no start mark; the lengths count it.
- **`TranslationData`** (LightningDataModule): `prepare_data`, `setup`, `train_dataloader`, `val_dataloader`, `test_dataloader(name=None)`, `source_tokenizer`, `target_tokenizer`, `rows(split) -> Dataset` (raw text), `describe() -> dict` (the record's `data`), `save(folder)` (tokenisers).

### Search (`search/`)

```python
search = Search(beam_size=5, length_penalty=1.0, n_best=1, min_length=0,     # length_penalty: GNMT's alpha, or a function of n
                max_length=500, max_length_factor=2.0, max_length_offset=10, replace_unknown=False)
hypotheses = search(model, source, lengths, end=id) -> list (sentences) of list (n-best) of Hypothesis
Hypothesis(tokens: list[int] (no marks), score: float (with penalty), log_prob: float (sum), finished: bool, weights: [T+1 or T, S_i])
forced(model, source, lengths, target) -> log_probs [B,T], weights [B,T,S]
```
The end mark counts in `log_prob`, in the length that the penalty sees, and has a row of weights. An empty source gives an empty hypothesis without asking the model.

### Configuration (`conf/`)

Groups: data tokenizer encoder scorer decoder window model model/readout model/initialise optim search metrics trainer callbacks logger experiment. `_target_` and `instantiate`, the constructor is the schema, called in `build.py` only; scorer, window, encoder, decoder, readout and the loggers are `_partial_`. Every option is listed in its YAML. A chosen option may declare facts about itself under the top-level node `about`, which the check, the cell's hash and the record read, so that no code ever compares a variant's name:

```yaml
about:
  requires: {scorer: {equal: [decoder.hidden_size, encoder.hidden_size]}}    # by dot
  factors: {asks: previous, context_goes_to: both, fed_back: context}        # by every decoder order
  unused: {window: [window.half_width]}                                     # by global; by fixed_vector: {decoder: [scorer, window]}
```

A rule under `requires` is one of four kinds, or a list of them:

| kind | holds when |
|---|---|
| `equal: [path, path]` | the values are the same |
| `multiple_of: [path, number or path]` | the first is a multiple of the second |
| `at_most: [path, number or path]` | the first is not larger; null is no limit |
| `factor: {name: value or list}` | the decoder order declares one of these |

Beside any of them, `when: path` makes the rule hold only where that value is true, and `remedy: words` ends the line that refuses. `build.py` drops what is listed as unused before it instantiates; the hash and the record leave it out. An option file that declares facts starts with `# @package _global_` and nests its own group under its name. An option without facts needs neither.

### One cell (`run.py`)

`run_cell(config: dict, folder: Path) -> dict` takes plain, resolved containers, trains (from the beginning, or from where an earlier attempt in the folder was stopped), restores the best checkpoint, decodes the test sets once, writes `result.json` last (temporary name, then rename) and returns the record; a run that fails or is stopped leaves `failed.json`. A checkpoint holds the settings as plain containers, so that `torch.load(weights_only=True)` reads it; no part of the model receives them. `train.py` is Hydra's door to it, `attnlab.train([overrides])` the one from Python.

### A run that was stopped

The same command goes on with it, whatever ended it (a kill at any moment, a signal, an error, a lost machine), mid-epoch and with no option; `rerun=true` starts anew. On the same CPU and versions it ends with the weights, translations and log, bit for bit, and the record, less time and cost, of a run that nothing happened to.

- **`checkpoints/last.ckpt`** is written behind each validation and every `callbacks.save_every` updates, whole or not at all (temporary name, fsync, rename; the one before stays as `previous.ckpt`). It is written *between* two updates: when the row of the log, the validation and the end of the epoch that belong to the first are done, and nothing of the second has begun. Lightning's counters are levelled there, so that its restart has nothing to make up for. Besides Lightning's state it holds the random state of each rank, the place in the epoch's order of batches, the sums of the log's open window, the schedule's memory, whether the training is to stop or has finished, and the best checkpoint so far. `best.ckpt` is written from it again, so it can never be of updates that were lost.
- **Which one.** The newest by updates among `last*.ckpt` and `previous.ckpt` that can be read to the end and is of the same settings (the cell's hash), seeds, data (fingerprints) and number of processes. One that cannot be read, or is of something else, is passed over with a warning. Rank 0 decides; what it leaves in the folder is the decision.
- **`metrics.jsonl`** is the truth: rows after the checkpoint's update are dropped, and every other logger begins empty and is told what is left. The translations that W&B shows of earlier validations are in `wandb/samples.jsonl` ([wandb.md](wandb.md)). A W&B run keeps its id (`wandb/id`, a hash of cell, study, seeds and folder; a rerun draws a new one): offline the new folder replaces that of the last attempt, online as many rows as the server has are not sent again. A run that fails is closed with another exit code than 0.
- **A training that has finished** is marked in `last.ckpt`: an attempt stopped in the test decodes the test again and trains nothing.
- **Limits.** `max_epochs` and `max_steps` are those of the run; `max_time` counts the training that was kept. `train.wall_s` and `device_s` count all attempts, what was lost included; `train.resumed_at` lists the updates at which they took up.
- **Not covered.** On a GPU the numbers are as reproducible as its kernels. A part of one's own that draws from Python's or NumPy's global random numbers while training is not restored. With another number of processes the batches are others: such a checkpoint is not used.

### Names

Run folder: `<out>/<study or runs>/<cell>-<hash8>/seed<k>/` with `result.json config.yaml metrics.jsonl progress.json (until it has finished) train.log checkpoints/{best,last}.ckpt test/<set>/{hyp.txt,align.txt,attention.safetensors}` and `tokenizer/`. The record's fields, the W&B keys and the options are those of `results.py` and `conf/`.
Errors that are the user's raise `attnlab.errors.UserError(message)`: what, where, the remedy, in one line; each verb prints it to stderr and exits with 2.

## Decided

- **Attention weights are kept in float32 at least** whatever the training's precision; evaluation runs without autocast.
- **One sum a batch is shared by the ranks** (loss and target tokens), and each divides its own sum by it: the objective is the loss per target token of the global batch, not a mean of the ranks' means.
- **The learning rate is a function of counts** (epochs or validations finished), set by the module; no torch scheduler has to be resumed.
- **`val/bleu` is the final scorer's BLEU** over a fixed sample of the validation set, greedy by default, because choosing by it must stay cheap; sample and beam are in the log and in the record.
- **`input_feeding` declares `context_goes_to: both`**: the shared readout sees the context as well. With `model/readout=plain` it is `rnn`.
- **A cell of a sweep is a process of its own**, because Lightning starts further ranks by running the command again, and because one cell that dies must not take the others along.
- **Only Hydra's own groups are overridden in `config.yaml`**: an `override` of a swept group there would win silently over the same line of an experiment (hydra-core 1.3.8).
- **The heat maps' sentences are chosen by their sources alone**, so that every run draws the same ones.

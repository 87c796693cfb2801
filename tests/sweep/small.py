"""The smallest true training that a sweep's tests need."""

SMALL = [
    *("data.train_pairs=60", "data.val_pairs=4", "data.test_pairs=4", "data.max_words=6"),
    *("data.cache_dir=cache", "trainer.max_epochs=1", "trainer.accelerator=cpu"),
    *("encoder.hidden_size=8", "decoder.hidden_size=8", "model.embedding_size=8"),
]

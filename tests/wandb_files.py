"""Reads what W&B writes offline, for assertions."""

import json
import struct
import time


def records(path):
    """The protobuf records of a .wandb file: LevelDB log blocks of 32 KiB behind a header of 7 bytes."""
    from wandb.proto.wandb_internal_pb2 import Record

    data, position, parts, found = path.read_bytes(), 7, [], []
    while position < len(data):
        left = 32768 - position % 32768
        if left < 7:
            position += left
            continue
        _, length, kind = struct.unpack("<IHB", data[position : position + 7])
        if kind == 0:
            break
        parts.append(data[position + 7 : position + 7 + length])
        position += 7 + length
        if kind in (1, 4):
            record = Record()
            record.ParseFromString(b"".join(parts))
            found.append(record)
            parts = []
    return found


def items(entries):
    return {entry.key or "/".join(entry.nested_key): json.loads(entry.value_json) for entry in entries}


class Offline:
    """What a .wandb file says, for assertions."""

    def __init__(self, folder):
        (path,) = (folder / "wandb").glob("offline-run-*/*.wandb")
        # W&B's own process writes the file's end shortly after finish() has returned
        for _ in range(200):
            everything = records(path)
            if any(r.HasField("exit") for r in everything):
                break
            time.sleep(0.05)
        self.records = everything
        (self.run,) = [r.run for r in everything if r.HasField("run")]
        self.config = items(self.run.config.update)
        for record in everything:
            if record.HasField("config"):
                self.config |= items(record.config.update)
        self.history = [items(r.history.item) for r in everything if r.HasField("history")]
        self.metrics = {
            r.metric.name or r.metric.glob_name: r.metric for r in everything if r.HasField("metric")
        }
        self.summary = {}
        for record in everything:
            if record.HasField("summary"):
                self.summary |= items(record.summary.update)
        (self.exit,) = [r.exit.exit_code for r in everything if r.HasField("exit")]
        self.files = path.parent / "files"
        self.media = sorted(p.name for p in path.parent.glob("files/media/**/*") if p.is_file())

    def tables(self, key):
        """The rows of each table logged under a key, in order."""
        paths = [row[f"{key}/path"] for row in self.history if f"{key}/path" in row]
        return [json.loads((self.files / path).read_text())["data"] for path in paths]

    def staged(self, key):
        """Where the files wait that artifacts of tables named by the key consist of."""
        return [
            entry.local_path
            for record in self.records
            if record.HasField("artifact")
            for entry in record.artifact.manifest.contents
            if key in entry.path
        ]

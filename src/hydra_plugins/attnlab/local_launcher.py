"""`hydra/launcher=local`: each cell of a sweep as a process of its own, some of them side by side."""

import sys
from collections.abc import Sequence
from pathlib import Path

from hydra.core.utils import JobReturn, JobStatus
from hydra.plugins.launcher import Launcher
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig, OmegaConf

from attnlab.errors import UserError
from attnlab.sweep import compose, pool, state
from attnlab.sweep.plan import labels

_LAST_LINES = 5


class LocalLauncher(Launcher):
    """Runs `python -m attnlab.train` for each cell; see conf/hydra/launcher/local.yaml."""

    def __init__(self, slots: int = 1, threads: int | None = None, grace: float = 20) -> None:
        self.slots, self.threads, self.grace = slots, threads, grace

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        """Keep what `launch` needs; the task function is reached through its command."""
        self.hydra_context, self.config = hydra_context, config

    def launch(self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int) -> Sequence[JobReturn]:
        """Train the cells; one that fails comes back with its exception and the last lines of its log."""
        names, total = labels(job_overrides), len(job_overrides)
        results = [JobReturn() for _ in names]

        def say(index: int, words: str) -> None:
            print(f"[{index + 1}/{total}] {words}: {names[index]}", flush=True)

        def prepare(index: int) -> pool.Job | None:
            result, overrides = results[index], list(job_overrides[index])
            loader = self.hydra_context.config_loader
            config = compose.cell_config(loader, self.config, overrides, initial_job_idx + index)
            folder = compose.sweep_folder(config)
            result.overrides, result.cfg, result.hydra_cfg = overrides, config, config
            result.working_dir, result.task_name = str(folder), str(config.hydra.job.name)
            if not config.rerun and state.finished(folder) is not None:  # by another, since the plan was made
                result.status, result.return_value = JobStatus.COMPLETED, None
                say(index, "finished already")
                return None
            state.make(folder)
            say(index, "started")
            # What the process prints goes to the log that Hydra itself writes: no second copy by console.
            command = [
                *(sys.executable, "-m", "attnlab.train", *compose.cell_arguments(config, folder)),
                "hydra.job_logging.root.handlers=[file]",
            ]
            devices = OmegaConf.select(config, "trainer.devices")
            ranks = devices if isinstance(devices, int) and devices > 0 else 1
            return pool.Job(command, folder / state.LOG, ranks)

        def end(index: int, status: int, seconds: float) -> None:
            result = results[index]
            folder = Path(str(result.working_dir))
            if status == 0:
                scores = state.bleu(state.finished(folder) or {})
                result.status, result.return_value = JobStatus.COMPLETED, None
                say(index, f"finished in {seconds:.0f} s{', BLEU ' + scores if scores else ''}")
            else:
                tail = _tail(folder / state.LOG)
                result.status = JobStatus.FAILED
                result.return_value = UserError(f"{folder} ended with {status} after {seconds:.0f} s\n{tail}")
                say(index, f"FAILED with {status} after {seconds:.0f} s")

        pool.run(total, self.slots, self.threads, self.grace, prepare, end)
        return results


def _tail(log: Path) -> str:
    """The last lines of a log, indented."""
    try:
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return "    (no log)"
    kept = [line for line in lines if line.strip() and "HYDRA_FULL_ERROR" not in line][-_LAST_LINES:]
    return "\n".join(f"    {line}" for line in kept)

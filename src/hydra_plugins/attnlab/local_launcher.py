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
        loader, total = self.hydra_context.config_loader, len(job_overrides)
        names = labels(job_overrides)
        jobs, results, folders = [], [], []
        for index, overrides in enumerate(job_overrides):
            config = compose.cell_config(loader, self.config, list(overrides), initial_job_idx + index)
            folder = compose.sweep_folder(config)
            command = [sys.executable, "-m", "attnlab.train", *compose.cell_arguments(config, folder)]
            # What the process prints goes to the log that Hydra itself writes: no second copy by console.
            command.append("hydra.job_logging.root.handlers=[file]")
            devices = OmegaConf.select(config, "trainer.devices")
            ranks = devices if isinstance(devices, int) and devices > 0 else 1
            jobs.append(pool.Job(command, folder / state.LOG, ranks))
            result = JobReturn()
            result.overrides, result.cfg, result.hydra_cfg = list(overrides), config, config
            result.working_dir, result.task_name = str(folder), str(config.hydra.job.name)
            results.append(result)
            folders.append(folder)

        def say(index: int, words: str) -> None:
            print(f"[{index + 1}/{total}] {words}: {names[index]}", flush=True)

        def start(index: int) -> bool:
            found = None if results[index].cfg.rerun else state.finished(folders[index])
            if found is not None:  # by another sweep, since the plan was made
                results[index].status, results[index].return_value = JobStatus.COMPLETED, None
                say(index, "finished already")
                return False
            folders[index].mkdir(parents=True, exist_ok=True)
            say(index, "started")
            return True

        def end(index: int, status: int, seconds: float) -> None:
            result, folder = results[index], folders[index]
            if status == 0:
                scores = state.bleu(state.finished(folder) or {})
                result.status, result.return_value = JobStatus.COMPLETED, None
                say(index, f"finished in {seconds:.0f} s{', BLEU ' + scores if scores else ''}")
            else:
                tail = _tail(folder / state.LOG)
                result.status = JobStatus.FAILED
                result.return_value = UserError(f"{folder} ended with {status} after {seconds:.0f} s\n{tail}")
                say(index, f"FAILED with {status} after {seconds:.0f} s")

        pool.run(jobs, self.slots, self.threads, self.grace, start, end)
        return results


def _tail(log: Path) -> str:
    """The last lines of a log, indented."""
    try:
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return "    (no log)"
    kept = [line for line in lines if line.strip() and "HYDRA_FULL_ERROR" not in line][-_LAST_LINES:]
    return "\n".join(f"    {line}" for line in kept)

//! The scripts themselves.

use super::Engine;

/// What all of them say.
pub(super) struct Script<'a> {
    pub(super) name: &'a str,
    /// What it does, in a line.
    pub(super) about: String,
    /// Where the command was given.
    pub(super) directory: String,
    /// The command.
    pub(super) program: String,
    /// Its arguments, but for the shard.
    pub(super) run: Vec<String>,
    /// The results of the scenario.
    pub(super) home: String,
    pub(super) tasks: u32,
}

impl Script<'_> {
    pub(super) fn text(&self, engine: Engine) -> String {
        match engine {
            Engine::Slurm => self.slurm(),
            Engine::Hyperqueue => self.hyperqueue(),
            Engine::Dask => self.dask(),
        }
    }

    /// Submits itself as an array, and the merge behind it.
    fn slurm(&self) -> String {
        let Script { name, about, tasks, .. } = self;
        format!(
            r#"#!/bin/sh
# {about}. Submit it: sh FILE
# Every node has to see this directory. A task that is killed, or whose node is lost, is queued again and goes on where it
# was; so does all of it if you submit it again. The last job merges the tasks' runs.
#SBATCH --job-name=airtcp-{name}
#SBATCH --array=1-{tasks}
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=1
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=airtcp-{name}-%a.log
cd {directory} || exit 1
if [ -z "${{SLURM_ARRAY_TASK_ID:-}}" ]; then
    job=$(sbatch --parsable "$@" "$0") || exit 1
    exec sbatch "$@" --dependency="afterok:${{job%%;*}}" --kill-on-invalid-dep=yes --job-name=airtcp-{name}-merge \
        --output=airtcp-{name}-merge.log --wrap {merge}
fi
{run} --shard "$SLURM_ARRAY_TASK_ID/{tasks}"
status=$?
if [ "$status" = 137 ] && [ "${{SLURM_RESTART_COUNT:-0}}" -lt 10 ]; then
    exec scontrol requeue "$SLURM_JOB_ID"
fi
exit "$status"
"#,
            directory = quoted(&self.directory),
            merge = quoted(&self.merge()),
            run = self.command(),
        )
    }

    fn hyperqueue(&self) -> String {
        let Script { name, about, tasks, .. } = self;
        let task = format!("exec {} --shard \"$HQ_TASK_ID/{tasks}\"", self.command());
        format!(
            r#"#!/bin/sh
# {about}. Run it: sh FILE
# Every worker has to see this directory. A task whose worker is lost begins again elsewhere, where it was; so does all
# of it if you run this again.
set -e
cd {directory}
hq submit --name airtcp-{name} --array 1-{tasks} --cpus 1 --crash-limit 100 --wait \
    --stdout airtcp-{name}-%{{TASK_ID}}.log --stderr airtcp-{name}-%{{TASK_ID}}.log sh -c {task}
exec {merge}
"#,
            directory = quoted(&self.directory),
            task = quoted(&task),
            merge = self.merge(),
        )
    }

    fn dask(&self) -> String {
        let Script { about, tasks, .. } = self;
        let list = |words: &[String]| words.iter().map(|word| python(word)).collect::<Vec<_>>().join(", ");
        let run: Vec<String> = std::iter::once(&self.program).chain(&self.run).cloned().collect();
        let merge = [self.program.clone(), "merge".into(), self.home.clone()];
        format!(
            r#"#!/usr/bin/env python3
# {about}. Run it: python3 FILE [SCHEDULER]
# Without the address of a scheduler it uses the cores of this machine. Every worker has to see this directory. A task
# whose worker is lost begins again elsewhere, where it was; so does all of it if you run this again.
import os
import subprocess
import sys

from dask.distributed import Client, progress

DIRECTORY = {directory}
RUN = [{run}]
MERGE = [{merge}]
TASKS = {tasks}


def run(task):
    command = RUN + ["--shard", f"{{task}}/{{TASKS}}"]
    done = subprocess.run(command, cwd=DIRECTORY, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{{command}}: {{done.stderr}}")
    return task


if __name__ == "__main__":
    client = Client(sys.argv[1]) if len(sys.argv) > 1 else Client(threads_per_worker=1)
    futures = client.map(run, range(1, TASKS + 1), pure=False, retries=3)
    progress(futures, notebook=False)
    client.gather(futures)
    client.close()
    os.chdir(DIRECTORY)
    sys.exit(subprocess.run(MERGE).returncode)
"#,
            directory = python(&self.directory),
            run = list(&run),
            merge = list(&merge),
        )
    }

    /// The command of a task in a shell, but for its shard.
    fn command(&self) -> String {
        std::iter::once(&self.program).chain(&self.run).map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
    }

    fn merge(&self) -> String {
        format!("{} merge {}", quoted(&self.program), quoted(&self.home))
    }
}

/// A word of a shell.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=,:%+".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// A text of Python.
fn python(word: &str) -> String {
    // JSON's escapes are Python's, too.
    serde_json::Value::from(word).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_for_a_shell() {
        assert_eq!(quoted("links.air.loss=5%"), "links.air.loss=5%");
        assert_eq!(quoted("a b"), "'a b'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(""), "''");
    }
}

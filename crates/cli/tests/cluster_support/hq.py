"""HyperQueue for the test of the script for it: PyPI has the engine and not the program `hq`, so this is what the script needs of that
program, by HyperQueue's Python API.

    hq cluster                   a server with one worker, until it is killed; HQ_SERVER_DIR is theirs
    hq submit OPTION... WORD...  as `hq submit --wait`
"""

import argparse
import os
import signal
import sys

from hyperqueue import Job, LocalCluster
from hyperqueue.client import Client
from hyperqueue.cluster import WorkerConfig


def serve():
    with LocalCluster(os.environ["HQ_SERVER_DIR"]) as cluster:
        cluster.start_worker(WorkerConfig(cores=1))
        signal.pause()


def submit(arguments):
    parser = argparse.ArgumentParser()
    for name in ("--name", "--stdout", "--stderr"):
        parser.add_argument(name, required=True)
    parser.add_argument("--array", type=lambda text: [int(number) for number in text.split("-")], required=True)
    parser.add_argument("--cpus", type=int, choices=[1])
    parser.add_argument("--crash-limit", type=int)
    parser.add_argument("--wait", action="store_true", required=True)
    parser.add_argument("program", nargs=argparse.REMAINDER)
    options = parser.parse_args(arguments)
    job = Job(default_workdir=os.getcwd(), name=options.name)
    first, last = options.array
    for number in range(first, last + 1):
        stdout, stderr = (path.replace("%{TASK_ID}", str(number)) for path in (options.stdout, options.stderr))
        task = job.program(options.program, stdout=stdout, stderr=stderr, crash_limit=options.crash_limit)
        task.task_id = number
    client = Client(os.environ["HQ_SERVER_DIR"])
    return client.wait_for_jobs([client.submit(job)])


if sys.argv[1:] == ["cluster"]:
    serve()
elif sys.argv[1:2] == ["submit"]:
    sys.exit(not submit(sys.argv[2:]))
else:
    sys.exit(f"hq: there are cluster and submit, not {sys.argv[1:]}")

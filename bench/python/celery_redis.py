"""Celery with Redis for jobs and for results: a job is acknowledged after its result was stored."""

import os
import subprocess
import sys
import threading
import time

import redis
from celery import Celery
from celery.signals import worker_ready

URL = os.environ.get("BENCH_URL", "redis://127.0.0.1:6379")
JOBS, RESULTS, SIGNS = 0, 1, 2
started = []

app = Celery("celery_redis", broker=f"{URL}/{JOBS}", backend=f"{URL}/{RESULTS}")
app.conf.update(
    task_acks_late=True,
    worker_prefetch_multiplier=64,
    broker_connection_retry_on_startup=True,
    broker_pool_limit=32,
)


@app.task(name="job")
def job(payload):
    return True


@worker_ready.connect
def say_ready(**_):
    redis.Redis.from_url(URL, db=SIGNS).set("ready", 1)


def prepare(settings, _ready):
    redis.Redis.from_url(settings["url"]).flushall()


def send(settings, ready):
    _point_at(settings["url"])
    left, lock = [settings["jobs"]], threading.Lock()

    def loop():
        with app.producer_pool.acquire(block=True) as producer:
            while True:
                with lock:
                    count = min(settings["batch"], left[0])
                    left[0] -= count
                if count == 0:
                    return
                for _ in range(count):
                    job.apply_async((settings["payload"],), producer=producer)

    ready()
    threads = [threading.Thread(target=loop) for _ in range(settings["senders"])]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def work(settings, ready):
    _start_worker(settings["url"])
    results = redis.Redis.from_url(settings["url"], db=RESULTS)
    jobs = redis.Redis.from_url(settings["url"], db=JOBS)
    ready()
    while results.dbsize() < settings["jobs"] or jobs.hlen("unacked") > 0:
        time.sleep(0.01)


def latency(settings, ready):
    _point_at(settings["url"])
    _start_worker(settings["url"])
    ready()
    times = []
    for _ in range(settings["jobs"]):
        time.sleep(0.002)
        begun = time.perf_counter()
        job.delay(settings["payload"]).get(timeout=30)
        times.append((time.perf_counter() - begun) * 1000)
    return times


def end():
    for worker in started:
        worker.terminate()


def _point_at(url):
    app.conf.update(broker_url=f"{url}/{JOBS}", result_backend=f"{url}/{RESULTS}")


def _start_worker(url):
    """A child of this process, so that it ends with it and its work is counted; a process for each core."""
    quiet = ["--loglevel=ERROR", "--without-gossip", "--without-mingle", "--without-heartbeat"]
    command = [sys.executable, "-m", "celery", "-A", "celery_redis", "worker", *quiet]
    here = os.path.dirname(os.path.abspath(__file__))
    environment = {**os.environ, "BENCH_URL": url, "C_FORCE_ROOT": "1"}
    silent = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    started.append(subprocess.Popen(command, cwd=here, env=environment, **silent))
    signs = redis.Redis.from_url(url, db=SIGNS)
    while not signs.exists("ready"):
        time.sleep(0.02)

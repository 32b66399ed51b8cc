"""Temporal: a job is a workflow that does nothing. There is no call that starts many; they are started concurrently."""

import asyncio
import time
import uuid

from temporalio import workflow
from temporalio.client import Client
from temporalio.service import RPCError
from temporalio.worker import UnsandboxedWorkflowRunner, Worker


@workflow.defn
class Job:
    @workflow.run
    async def run(self, payload: dict) -> bool:
        return True


def prepare(settings, _ready):
    asyncio.run(_prepare(settings))


def send(settings, ready):
    asyncio.run(_send(settings, ready))


def work(settings, ready):
    asyncio.run(_work(settings, ready))


def latency(settings, ready):
    return asyncio.run(_latency(settings, ready))


async def _prepare(settings):
    """The server listens before it has its namespace."""
    while True:
        try:
            client, _ = await _open(settings["url"])
            await client.count_workflows()
            return
        except RPCError:
            await asyncio.sleep(0.1)


async def _send(settings, ready):
    client, queue = await _open(settings["url"])
    left = settings["jobs"]
    ready()

    async def loop():
        nonlocal left
        while left > 0:
            count = min(settings["batch"], left)
            left -= count
            await asyncio.gather(*(_start(client, queue, settings) for _ in range(count)))

    await asyncio.gather(*(loop() for _ in range(settings["senders"])))


async def _work(settings, ready):
    client, queue = await _open(settings["url"])
    query = f"TaskQueue = '{queue}' AND ExecutionStatus = 'Completed'"
    async with _worker(client, queue, settings["workers"]):
        # The worker asks for work from now on; jobs are there when the sender begins.
        await asyncio.to_thread(ready)
        while (await client.count_workflows(query)).count < settings["jobs"]:
            await asyncio.sleep(0.05)


async def _latency(settings, ready):
    client, queue = await _open(settings["url"])
    times = []
    async with _worker(client, queue, settings["workers"]):
        await asyncio.to_thread(ready)
        for _ in range(settings["jobs"]):
            await asyncio.sleep(0.002)
            begun = time.perf_counter()
            handle = await _start(client, queue, settings)
            await handle.result()
            times.append((time.perf_counter() - begun) * 1000)
    return times


def _start(client, queue, settings):
    return client.start_workflow(Job.run, settings["payload"], id=str(uuid.uuid4()), task_queue=queue)


def _worker(client, queue, polls):
    return Worker(
        client,
        task_queue=queue,
        workflows=[Job],
        workflow_runner=UnsandboxedWorkflowRunner(),
        max_concurrent_workflow_tasks=200,
        max_concurrent_workflow_task_polls=polls,
    )


async def _open(url):
    address, queue = url.split("#")
    return await Client.connect(address), queue

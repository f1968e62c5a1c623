#!/usr/bin/env python3
"""Prints the key of each pod that fails, on asyncio's event loop, without a thread."""

import asyncio

import kinformer.aio


async def failed_pods(factory):
    """Yields the key of each pod that fails, once, also of those that have failed before."""
    pods = factory.informer("pods", view={"phase": "status.phase"})
    factory.start()
    async for event in pods.events():                                  # first an add for each pod, then each change
        had_failed = event.old is not None and event.old.phase == "Failed"
        if event.type != "delete" and event.obj.phase == "Failed" and not had_failed:
            yield event.key


async def main():
    async with kinformer.aio.Factory() as factory:
        async for key in failed_pods(factory):
            print(key, flush=True)


if __name__ == "__main__":
    asyncio.run(main())

import asyncio


async def fetch(text):
    await asyncio.sleep(0)
    return text


class Stream:
    async def __aenter__(self):
        return self

    async def __aexit__(self, *error):
        return None

    async def __aiter__(self):
        for token in ("Your", "journey", "starts"):
            yield token


words = await fetch("Your journey starts with one step")
# %%
tokens = []
async with Stream() as stream:
    async for token in stream:
        tokens.append(token)
lengths = [len(token) async for token in stream]
assert lengths == [4, 7, 6]
both = await asyncio.gather(fetch("a"), fetch("b"))
# %%
{{attention/simplified.py}}
# %%
{{attention/trainable.py}}
# %%
{{attention/causal.py}}
# %%
{{attention/multi_head.py}}

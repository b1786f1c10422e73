import { budget, idempotency, resumableStreams, videoWatch } from "@sluice/durable";
import { expect, test } from "vitest";
import { chat } from "../../worker-proxy/test/support/in-process.js";
import { end, openGateway, openStoredProxy, piece, usage } from "./support/stored-proxy.js";

const image = { data: [{ url: "https://cdn.example/1.png" }], usage };
const names = ["budget", "idempotency", "streams", "videos"] as const;
const create = {
  budget: () => budget({ limits: { user: 1_000_000 }, windowMs: 3_600_000 }),
  idempotency: () => idempotency(),
  streams: () => resumableStreams(),
  videos: () => videoWatch(),
};

function permute<Item>(items: readonly Item[]): readonly (readonly Item[])[] {
  if (items.length < 2) return [items];
  return items.flatMap((item, at) =>
    permute(items.filter((_, nth) => nth !== at)).map((rest) => [item, ...rest]),
  );
}

test.each(permute(names).map((order) => [order.join(", "), order] as const))(
  "each request is sent and paid for once: %s",
  async (_, order) => {
    const gateway = openGateway((request) => {
      if (request.url.endsWith("/completions"))
        return new Response(piece("a") + end, { headers: { "content-type": "text/event-stream" } });
      if (request.url.endsWith("/video/generations")) return Response.json({ id: "t-1", status: "queued" });
      if (request.method === "GET") return Response.json({ id: "t-1", status: "succeeded" });
      return Response.json(image);
    });
    const proxy = openStoredProxy({ gateway, plugins: order.map((name) => create[name]()) });
    const headers = { "idempotency-key": "one" };
    for (const body of [chat, chat]) {
      await (await proxy.startStream({ body: { ...body, stream: true }, headers })).text();
      await (await proxy.create("one")).text();
    }
    const path = "/v1/video/generations";
    const body = { model: "beta3.0-video", input: { prompt: "a bird" } };
    const created = (await (await proxy.create("two", { path, body })).json()) as { id: string };
    const again = (await (await proxy.create("two", { path, body })).json()) as { id: string };
    expect(again.id).toBe(created.id);
    // a poll with a key is a poll
    const polled = await proxy.send({ method: "GET", path: `${path}/${created.id}`, headers });
    expect(polled.status).toBe(200);
    await polled.text();
    const posts = gateway.requests.filter(({ method }) => method === "POST");
    expect(posts.map(({ url }) => new URL(url).pathname).sort()).toEqual([
      "/v1/chat/completions",
      "/v1/images/generations",
      path,
    ]);
    const state = async () =>
      ((await (await proxy.send({ method: "GET", path: "/v1/budget" })).json()) as { budgets: object[] })
        .budgets[0];
    await expect.poll(state).toMatchObject({ reserved: 0 });
    // without a usage, the whole reservation of the task is spent
    expect(await state()).toMatchObject({ spent: expect.any(Number) });
    const { spent } = (await state()) as unknown as { spent: number };
    expect(spent).toBeGreaterThan(8192);
    expect(spent).toBeLessThan(2 * 8192);
  },
);

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startDurableProxy } from "./support/workerd.js";

const images = "/v1/images/generations";
const body = JSON.stringify({ model: "gamma-image-5-0-260128", prompt: "a bird" });
const create = (key: string) => ({ method: "POST", body, headers: { "idempotency-key": key } });
const json = { "content-type": "application/json" };

describe("an image that is remembered on a real host", () => {
  let proxy: Awaited<ReturnType<typeof startDurableProxy>>;
  beforeAll(async () => {
    proxy = await startDurableProxy();
  });
  afterAll(() => proxy.close());

  test("is made to its end though its only client has left", async () => {
    const { ask, upstream } = proxy;
    let answer!: () => void;
    upstream.answers((response) => {
      answer = () => response.writeHead(200, json).end('{"data":[]}');
    });
    const client = new AbortController();
    const left = ask(images, { ...create("left"), signal: client.signal }).catch(() => "left");
    await upstream.arrived();
    client.abort();
    expect(await left).toBe("left");
    const again = ask(images, create("left"));
    answer();
    expect(await (await again).json()).toEqual({ data: [] });
    expect(upstream.requests).toHaveLength(1);
  });

  test("comes back after the process was killed", async () => {
    const { ask, kill, start, upstream } = proxy;
    upstream.answers((response) => response.writeHead(200, json).end('{"data":[1]}'));
    expect((await ask(images, create("kept"))).status).toBe(200);
    await kill();
    await start();
    expect(await (await ask(images, create("kept"))).json()).toEqual({ data: [1] });
    expect(upstream.requests).toHaveLength(1);
  });

  test("case 102: is never sent again where the process was killed in between", async () => {
    const { ask, kill, start, upstream } = proxy;
    upstream.answers(() => {});
    const lost = ask(images, create("lost")).catch(() => "lost");
    await upstream.arrived();
    await kill();
    expect(await lost).toBe("lost");
    await start();
    for (let nth = 0; nth < 2; nth += 1) {
      const answer = await ask(images, create("lost"));
      expect([answer.status, await answer.json()]).toMatchObject([502, { error: { code: "request_lost" } }]);
    }
    expect(upstream.requests).toHaveLength(1);
    expect(proxy.logs.some((line) => line.includes("was lost with its object"))).toBe(true);
  });

  test("is not sent again where the gateway cuts the connection", async () => {
    const { ask, upstream } = proxy;
    upstream.answers((response) => response.destroy());
    for (let nth = 0; nth < 2; nth += 1) expect((await ask(images, create("cut"))).status).toBe(502);
    expect(upstream.requests).toHaveLength(1);
  });
});

import { env } from "cloudflare:workers";
import { budget, videoEvents } from "@sluice/durable";
import { createProxy, type ProxyOptions } from "@sluice/worker-proxy";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { readEvents } from "../../worker-proxy/test/support/event-stream.js";
import { asked } from "../../worker-proxy/test/support/in-process.js";
import { KEY, read } from "../../worker-proxy/test/support/key.js";
import { gateway, task } from "./support/durable-gateway.js";

beforeEach(() => gateway.answers(() => task("QUEUED")));

/** A proxy as a user sets it up. A bearer token is its user's name. */
function openProxy(options: Partial<ProxyOptions<typeof env>> = {}) {
  const proxy = createProxy<typeof env>({
    baseURL: "https://gateway.example",
    apiKey: () => KEY,
    authenticate: ({ headers }) => ({ id: headers.get("authorization") ?? "" }),
    origins: ["https://app.example"],
    models: ["delta-5.3", "beta3.0-video"],
    routes: ["chat", "videos"],
    secret: () => "a secret of the proxy's own, 32 and more",
    plugins: [videoEvents(({ VIDEO_WATCH }) => VIDEO_WATCH)],
    fetch: gateway.answer,
    ...options,
  });
  const waiting: Promise<unknown>[] = [];
  const context = { waitUntil: (promise: Promise<unknown>) => void waiting.push(promise) };
  const get = (path: string, user: string, more: { headers?: Record<string, string> } = {}) =>
    proxy.fetch(
      new Request(`https://proxy.example${path}`, {
        headers: { authorization: user, origin: "https://app.example", ...more.headers },
      }),
      env,
    );
  return {
    get,
    /** Chats, and waits until it is paid. */
    async chat(user: string) {
      const answer = await read(await proxy.fetch(asked({ headers: { authorization: user } }), env, context));
      await Promise.all(waiting);
      return answer;
    },
    /** The id of a new task, as its user gets it. */
    async create(user: string): Promise<string> {
      gateway.next = () => Response.json({ id: "t-1", task_id: "t-1", status: "queued" });
      const body = { model: "beta3.0-video", input: { prompt: "a bird" } };
      const request = asked({ path: "/v1/video/generations", headers: { authorization: user }, body });
      const { id } = (await (await proxy.fetch(request, env)).json()) as { id: string };
      gateway.answers(() => task("QUEUED"));
      return id;
    },
  };
}

describe("a proxy with video events", () => {
  test("offers them where a task is polled, and serves them to its user", async () => {
    const { get, create } = openProxy();
    const id = await create("ann");
    const polled = await get(`/v1/video/generations/${id}`, "ann");
    expect(polled.headers.get("x-sluice-offers")).toBe("video-events");
    expect(polled.headers.get("access-control-expose-headers")).toContain("x-sluice-offers");
    await polled.body?.cancel();

    gateway.answers(() => task("SUCCESS", { result_url: "https://cdn.example/v.mp4" }));
    const pushed = await get(`/v1/video/generations/${id}/events`, "ann");
    expect(pushed.headers.get("content-type")).toBe("text/event-stream");
    const events = readEvents(pushed);
    expect(await events.nextEvent()).toMatchObject({ event: "task", data: { data: { task_id: id } } });
    expect(await events.nextEvent()).toEqual({ event: "end", data: {} });
    expect(await events.nextEvent()).toEqual({ stopped: "closed" });
  });

  test("sends no event twice to a client with Last-Event-ID", async () => {
    const { get, create } = openProxy();
    const path = `/v1/video/generations/${await create("dora")}/events`;
    gateway.answers(() => task("SUCCESS"));
    const { id } = await readEvents(await get(path, "dora")).nextEvent();
    const back = readEvents(await get(path, "dora", { headers: { "last-event-id": `${id}` } }));
    expect(await back.nextEvent()).toEqual({ event: "end", data: {} });
  });

  test("watches for each user apart", async () => {
    const { get, create } = openProxy();
    for (const user of ["eve", "finn"]) {
      const id = await create(user);
      const events = readEvents(await get(`/v1/video/generations/${id}/events`, user));
      expect((await events.nextEvent()).data.data.task_id).toBe(id);
      expect(gateway.requests).toHaveLength(1);
    }
  });

  test("case 34: another user's task is answered like one that does not exist", async () => {
    const { get, create } = openProxy();
    const id = await create("ann");
    const foreign = await read(await get(`/v1/video/generations/${id}/events`, "bob"));
    const unknown = await read(await get("/v1/video/generations/t-1/events", "bob"));
    expect([foreign.status, foreign.text]).toEqual([404, unknown.text]);
    expect(gateway.requests).toHaveLength(0);
  });

  test("is misconfigured when the class is not bound, with the cause in the log", async () => {
    const log = vi.spyOn(console, "error").mockImplementation(() => {});
    const { get, create } = openProxy({ plugins: [videoEvents(() => undefined)] });
    const id = await create("ann");
    const { status, error } = await read(await get(`/v1/video/generations/${id}/events`, "ann"));
    expect([status, error?.["code"]]).toEqual([500, "misconfigured"]);
    expect(log.mock.calls).toEqual([[expect.stringContaining("videoEvents: its binding is missing")]]);
    log.mockRestore();
  });
});

describe("a proxy with a budget", () => {
  test("settles by usage, and answers 429 with Retry-After when nothing is left", async () => {
    const meter = budget<typeof env>({
      namespace: ({ BUDGET }) => BUDGET,
      limits: { user: 100 },
      windowMs: 60 * 60 * 1000,
      reserveFor: () => 80,
      cost: ({ total_tokens }) => total_tokens as number,
    });
    const { chat: say } = openProxy({ plugins: [meter] });
    gateway.answers(() => Response.json({ id: "1", choices: [], usage: { total_tokens: 15 } }));
    const statuses: number[] = [];
    for (let count = 0; count < 3; count += 1) {
      const { status, headers } = await say("carl");
      statuses.push(status);
      expect(headers.has("retry-after")).toBe(status === 429);
    }
    expect(statuses).toEqual([200, 200, 429]);
    expect(gateway.requests).toHaveLength(2);
  });
});

import { health as createHealth } from "@sluice/worker-proxy";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createRequest, openProxy } from "./support/in-process.js";

const health = () => createRequest({ method: "GET", path: "/health", headers: { authorization: "" } });
const absent = () => Response.json({ error: { message: "not found" } }, { status: 404 });
const openHealth = (respond: (request: Request) => Response | Promise<Response>) =>
  openProxy({ plugins: [createHealth({ checkGateway: true })] }, respond);

let lines: string[] = [];
beforeEach(() => {
  lines = [];
  vi.useFakeTimers({ toFake: ["Date"], now: Date.UTC(2040, 0, 1) });
  vi.spyOn(console, "error").mockImplementation((line: string) => void lines.push(line));
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

describe("a health check that queries the gateway (case 137)", () => {
  test.each([404, 400, 429])(
    "is 200 if the gateway responds with %i: it has accepted the key",
    async (status) => {
      const { call, reached } = openHealth(() => Response.json({ error: { message: "no" } }, { status }));
      expect((await call(health())).status).toBe(200);
      expect(reached.map(({ method, url }) => [method, url])).toEqual([
        ["GET", "https://gateway.example/v1/video/generations/sluice-health-check"],
      ]);
    },
  );

  test.each<[string, () => Response, string]>([
    ["the key is wrong", () => Response.json({}, { status: 401 }), "upstream_auth"],
    ["it fails", () => Response.json({}, { status: 503 }), "upstream_error"],
    ["another server is there", () => new Response("<h1>404</h1>", { status: 404 }), "upstream_type"],
    [
      "there is nothing",
      () => {
        throw new Error("Network connection lost.");
      },
      "upstream_cut",
    ],
  ])("is 503 where %s, and the log says so once", async (_, respond, code) => {
    const { call } = openHealth(respond);
    for (let times = 0; times < 3; times += 1)
      expect(await call(health())).toMatchObject({ status: 503, text: JSON.stringify({ status: code }) });
    expect(lines).toHaveLength(1);
  });

  test("queries once for a hundred callers, and again after ten seconds", async () => {
    const { call, reached } = openHealth(absent);
    const all = await Promise.all(Array.from({ length: 100 }, () => call(health())));
    expect(all.every(({ status }) => status === 200)).toBe(true);
    vi.setSystemTime(Date.now() + 9999);
    await call(health());
    expect(reached).toHaveLength(1);
    vi.setSystemTime(Date.now() + 1);
    await call(health());
    expect(reached).toHaveLength(2);
  });

  test("sends nothing if a setting is missing, or without the option", async () => {
    const wrong = openProxy({ plugins: [createHealth({ checkGateway: true })], models: () => [] });
    expect((await wrong.call(health())).status).toBe(503);
    const usual = openProxy({ plugins: [createHealth()] });
    expect((await usual.call(health())).status).toBe(200);
    expect([...wrong.reached, ...usual.reached]).toEqual([]);
  });

  test("names the template's address, and sends nothing", async () => {
    const { call } = openProxy({
      baseURL: "https://gateway.example.com",
      fetch: undefined as never,
      plugins: [createHealth()],
    });
    expect((await call(health())).status).toBe(503);
    expect(lines.join()).toContain("health: baseURL: is still the template's https://gateway.example.com");
  });
});

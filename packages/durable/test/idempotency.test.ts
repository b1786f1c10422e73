import { readFile } from "node:fs/promises";
import { idempotency, resumableStreams } from "@sluice/durable";
import { nodeHost } from "@sluice/durable/node";
import { afterEach, describe, expect, test, vi } from "vitest";
import { expectNoKey } from "../../worker-proxy/test/support/key.js";
import { openFile } from "./support/database-file.js";
import {
  openGateway,
  openMeter,
  openStoredProxy,
  readCode,
  silenceLog,
  usage,
} from "./support/stored-proxy.js";

const DAY = 86_400_000;
const image = { data: [{ url: "https://cdn.example/1.png" }], usage };
const creates = {
  image: [
    "/v1/images/generations",
    { model: "gamma-image-5-0-260128", prompt: "a bird" },
    { data: [{ url: "https://cdn.example/1.png" }], usage },
  ],
  video: [
    "/v1/video/generations",
    { model: "beta3.0-video", input: { prompt: "a bird" } },
    { id: "t-1", status: "queued", progress: 0 },
  ],
} as const;

/** Opens a gateway that holds its response until the test calls `respond`. */
function openHeld() {
  const gateway = openGateway();
  let respond!: (response: Response) => void;
  gateway.responds(
    () =>
      new Promise((resolve, reject) => {
        respond = resolve;
        gateway.closing.addEventListener("abort", () => reject(gateway.closing.reason));
      }),
  );
  return { gateway, respond: (response = Response.json(image)) => respond(response) };
}

const sent = (gateway: ReturnType<typeof openGateway>, requests = 1) =>
  expect.poll(() => gateway.requests.length).toBe(requests);

afterEach(() => {
  vi.useRealTimers();
});

describe("a create repeated with its key (case 100)", () => {
  test.each(Object.entries(creates))(
    "is sent and billed once, and has the same response: %s",
    async (_, row) => {
      const [path, body, json] = row;
      const gateway = openGateway(() => Response.json(json, { headers: { "x-request-id": "gateway-1" } }));
      const meter = openMeter();
      const { create, jobs } = openStoredProxy({ gateway, plugins: [meter.plugin, idempotency()] });
      const first = await create("one", { path, body });
      const text = await first.text();
      expect([first.status, first.headers.get("x-request-id")]).toEqual([200, "gateway-1"]);
      for (let nth = 0; nth < 3; nth += 1) {
        const again = await create("one", { path, body });
        expect([again.status, await again.text()]).toEqual([200, text]);
        expect(again.headers.get("x-request-id")).toBe("gateway-1");
      }
      expect(gateway.requests).toHaveLength(1);
      expect(gateway.requests[0]?.headers.has("idempotency-key")).toBe(false);
      await expect.poll(() => meter.reserved.size).toBe(0);
      expect(meter.spent).toHaveLength(1);
      expect(jobs).toMatchObject([{ job: "create", outcome: "complete", requestId: "gateway-1" }]);
    },
  );

  test("waits for the response of the first one, however many come at once", async () => {
    const { gateway, respond } = openHeld();
    const meter = openMeter();
    const { create, jobs } = openStoredProxy({ gateway, plugins: [meter.plugin, idempotency()] });
    const ten = Array.from({ length: 10 }, () => create("one"));
    await sent(gateway);
    respond();
    const texts = await Promise.all(ten.map(async (response) => (await response).text()));
    expect(new Set(texts).size).toBe(1);
    expect(JSON.parse(texts[0] ?? "")).toEqual(image);
    expect(gateway.requests).toHaveLength(1);
    await expect.poll(() => meter.spent).toEqual([7]);
    expect(jobs).toMatchObject([{ outcome: "complete", usage, reserved: 100, spent: 7 }]);
  });

  test("gets its response though the client of the first one has left", async () => {
    const { gateway, respond } = openHeld();
    const { create } = openStoredProxy({ gateway });
    const client = new AbortController();
    const left = create("one", { signal: client.signal });
    await sent(gateway);
    const other = create("one");
    client.abort();
    expect((await left).status).toBe(408);
    respond();
    expect(await (await other).json()).toEqual(image);
    expect(await (await create("one")).json()).toEqual(image);
    expect(gateway.requests).toHaveLength(1);
  });

  test("is new a day after the first one", async () => {
    vi.useFakeTimers({ toFake: ["Date"], now: Date.UTC(2040, 0, 1) });
    const gateway = openGateway(() => Response.json(image));
    const { create } = openStoredProxy({ gateway });
    for (const at of [0, DAY - 1, DAY]) {
      vi.setSystemTime(Date.UTC(2040, 0, 1) + at);
      expect(await (await create("one")).json()).toEqual(image);
    }
    expect(gateway.requests).toHaveLength(2);
  });

  test("has the same response after a change of the proxy's secret", async () => {
    const file = await openFile();
    const gateway = openGateway(() => Response.json({ id: "t-1", status: "queued" }));
    const [path, body] = creates.video;
    for (const secret of [
      "a secret of the proxy's own, 32 and more",
      "another secret of it, 32 letters and more",
    ]) {
      const { create, host } = openStoredProxy({
        gateway,
        host: nodeHost({ file, env: {} }),
        secret: () => secret,
      });
      expect((await create("one", { path, body })).status).toBe(200);
      await host.ended();
      await host.crash();
    }
    expect(gateway.requests).toHaveLength(1);
  });

  test("finds nothing of another user (case 101)", async () => {
    const gateway = openGateway(() => Response.json(image));
    const { create } = openStoredProxy({ gateway });
    await create("one");
    await create("one", { headers: { authorization: "Bearer other-token" } });
    expect(gateway.requests).toHaveLength(2);
  });

  test("is refused with 422 if its body or its path has changed, while it runs and later (case 101)", async () => {
    const { gateway, respond } = openHeld();
    const { create } = openStoredProxy({ gateway });
    const first = create("one");
    await sent(gateway);
    const [path, body] = creates.video;
    const others = [{ path, body }, { body: { ...creates.image[1], prompt: "a fish" } }];
    const refuse = async () => {
      for (const other of others) {
        const refused = await create("one", other);
        expect([refused.status, await readCode(refused)]).toEqual([422, "idempotency_mismatch"]);
      }
    };
    await refuse();
    respond();
    await first;
    await refuse();
    expect(gateway.requests).toHaveLength(1);
  });

  test("needs a key of 1 to 255 visible characters, and is sent each time without one (case 101)", async () => {
    const gateway = openGateway(() => Response.json(image));
    const { create } = openStoredProxy({ gateway });
    for (const wrong of ["a b", "k".repeat(256), ""]) {
      const refused = await create(wrong);
      expect([refused.status, await readCode(refused)]).toEqual([400, "idempotency_key_invalid"]);
    }
    expect(gateway.requests).toHaveLength(0);
    for (let nth = 0; nth < 2; nth += 1) expect((await create(undefined)).status).toBe(200);
    expect(gateway.requests).toHaveLength(2);
  });
});

test("The feature `idempotency` is on each response, on refusals and in health", async () => {
  const gateway = openGateway(() => Response.json(image));
  const { create, send } = openStoredProxy({ gateway, plugins: [idempotency()] });
  for (const response of [
    await create("one"),
    await create("a b"),
    await send({ method: "GET", path: "/health" }),
  ])
    expect(response.headers.get("x-sluice-features")).toBe("idempotency");
});

test.each([
  ["idempotency", () => [idempotency()]],
  ["resumableStreams", () => [resumableStreams(), idempotency()]],
] as const)("The health that %s adds fails as long as a variable is missing", async (_, createPlugins) => {
  const lines = silenceLog();
  const gateway = openGateway(() => Response.json(image));
  const open = (apiKey: () => string) => openStoredProxy({ gateway, apiKey, plugins: createPlugins() });
  const request = ({ send }: ReturnType<typeof open>) => send({ method: "GET", path: "/health" });
  expect((await request(open(() => ""))).status).toBe(503);
  expect(lines.join()).toContain("apiKey");
  expect((await request(open(() => "sk-a-key-for-tests-0123456789"))).status).toBe(200);
});

describe("a request without costs frees its key (case 103)", () => {
  test.each([400, 401, 402, 403, 404, 413, 422, 429])("a refusal with %i", async (status) => {
    silenceLog();
    const gateway = openGateway(() => Response.json({ error: { message: "no" } }, { status }));
    const meter = openMeter();
    const { create, jobs } = openStoredProxy({ gateway, plugins: [meter.plugin, idempotency()] });
    expect((await create("one")).status).toBeGreaterThanOrEqual(400);
    expect([meter.reserved.size, meter.spent]).toEqual([0, []]);
    gateway.responds(() => Response.json(image));
    expect((await create("one")).status).toBe(200);
    await expect.poll(() => meter.spent).toEqual([7]);
    expect(jobs.map(({ outcome, spent }) => [outcome, spent]).slice(-1)).toEqual([["complete", 7]]);
  });

  test("a connection that was never made", async () => {
    silenceLog();
    const gateway = openGateway(() =>
      Promise.reject(new TypeError("no", { cause: { code: "ECONNREFUSED" } })),
    );
    const { create } = openStoredProxy({ gateway });
    expect((await create("one")).status).toBe(502);
    gateway.responds(() => Response.json(image));
    expect((await create("one")).status).toBe(200);
  });

  test("an exhausted budget, and a budget that fails", async () => {
    silenceLog();
    const gateway = openGateway(() => Response.json(image));
    const meter = openMeter();
    let isEmpty = true;
    const plugin = {
      ...meter.plugin,
      reserve: (payable: Parameters<typeof meter.plugin.reserve>[0]) =>
        isEmpty ? Promise.resolve({ retryAfterMs: 90_500 }) : meter.plugin.reserve(payable),
    };
    const { create } = openStoredProxy({ gateway, plugins: [plugin, idempotency()] });
    const refused = await create("one");
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "91"]);
    expect(await readCode(refused)).toBe("budget_exhausted");
    isEmpty = false;
    meter.onReserve = async () => {
      throw new Error("no ledger");
    };
    const failed = await create("one");
    expect([failed.status, await readCode(failed)]).toEqual([503, "budget_unavailable"]);
    expect(gateway.requests).toHaveLength(0);
    // it had reserved before it failed
    await expect.poll(() => meter.reserved.size).toBe(0);
    meter.onReserve = async () => {};
    expect((await create("one")).status).toBe(200);
  });

  test("several requests that wait for one refusal get it, and the next request is sent", async () => {
    const { gateway, respond } = openHeld();
    const { create } = openStoredProxy({ gateway });
    const three = [create("one"), create("one"), create("one")];
    await sent(gateway);
    // all of them wait
    await new Promise((resolve) => setTimeout(resolve, 5));
    respond(Response.json({ error: {} }, { status: 429 }));
    expect((await Promise.all(three)).map(({ status }) => status)).toEqual([429, 429, 429]);
    expect(gateway.requests).toHaveLength(1);
    gateway.responds(() => Response.json(image));
    expect((await create("one")).status).toBe(200);
  });
});

describe("the response to a request that may have cost is stored, even an error (case 104)", () => {
  const error = (status: number, headers = {}) =>
    Response.json({ error: { message: "no" } }, { status, headers });
  test.each<readonly [string, () => Response | Promise<Response>]>([
    ...[408, 500, 502, 503, 504, 520, 524].map((status) => [`${status}`, () => error(status)] as const),
    ["503 with a Retry-After of days", () => error(503, { "retry-after": "604800" })],
    ["a redirect", () => new Response(null, { status: 302, headers: { location: "https://a.example/" } })],
    ["a page", () => new Response("<h1>sign in</h1>", { headers: { "content-type": "text/html" } })],
    ["nothing", () => new Response(null, { headers: { "content-type": "application/json" } })],
    ["204", () => new Response(null, { status: 204 })],
    [
      "JSON that was cut",
      () => new Response('{"data":[', { headers: { "content-type": "application/json" } }),
    ],
    ["a connection that breaks", () => Promise.reject(new TypeError("Network connection lost."))],
  ])("%s", async (_, respond) => {
    silenceLog();
    const gateway = openGateway(respond);
    const { create } = openStoredProxy({ gateway });
    const first = await create("one");
    expect(first.status).toBeGreaterThanOrEqual(400);
    gateway.responds(() => Response.json(image));
    const second = await create("one");
    expect([second.status, await second.text()]).toEqual([first.status, await first.text()]);
    expect(second.headers.get("retry-after")).toBe(first.headers.get("retry-after"));
    expect(gateway.requests).toHaveLength(1);
  });

  test("a response of several rows, whose characters stay whole", async () => {
    const data = [{ b64_json: "x".repeat(3_900_000), note: `${"é".repeat(262_143)}${"😀".repeat(300_000)}` }];
    const gateway = openGateway(() => Response.json({ data }));
    const { create } = openStoredProxy({ gateway });
    const text = await (await create("one")).text();
    expect((await (await create("one")).text()) === text).toBe(true);
    expect(text === JSON.stringify({ data })).toBe(true);
    expect(gateway.requests).toHaveLength(1);
  });

  test("a response that is too large: waiting callers get it, and its key sends nothing again", async () => {
    const lines = silenceLog();
    const { gateway, respond } = openHeld();
    const { create } = openStoredProxy({ gateway, plugins: [idempotency({ maxBytes: 100_000 })] });
    const two = [create("one"), create("one")];
    await sent(gateway);
    await new Promise((resolve) => setTimeout(resolve, 5));
    respond(Response.json({ data: [{ b64_json: "x".repeat(200_000) }] }));
    for (const response of await Promise.all(two)) {
      expect(response.status).toBe(200);
      expect((await response.text()).length).toBeGreaterThan(200_000);
    }
    const later = await create("one");
    expect([later.status, await readCode(later)]).toEqual([502, "response_not_stored"]);
    expect(gateway.requests).toHaveLength(1);
    expect(lines.join()).toContain("see maxBytes");
  });
});

describe("stored responses to creates are bounded (case 105)", () => {
  test("a stored response is deleted after a day, and no timer is left", async () => {
    vi.useFakeTimers({ toFake: ["Date"], now: Date.UTC(2040, 0, 1) });
    const gateway = openGateway(() => Response.json(image));
    const { create, host } = openStoredProxy({ gateway });
    await (await create("one")).text();
    await host.ended();
    vi.setSystemTime(Date.UTC(2040, 0, 1) + DAY + 1000);
    const count = async () => (await Promise.all(["jobs", "job_parts", "timers"].map(host.count))).join(", ");
    await expect.poll(count).toBe("0, 0, 0");
  });

  test("only the response is stored, not the key of the gateway or the body of the request", async () => {
    const file = await openFile();
    const gateway = openGateway(() => Response.json(image, { headers: { "x-request-id": "gateway-1" } }));
    const { create, host } = openStoredProxy({ gateway, host: nodeHost({ file, env: {} }) });
    await (await create("one")).text();
    await host.ended();
    await host.close();
    host.isGone = true;
    const stored = await readFile(file, "latin1");
    expect(stored).toContain("gateway-1");
    expect(stored).not.toContain("a bird");
    expectNoKey(stored);
  });
});

describe("the stored responses of one user are bounded", () => {
  test("a new key above the limit is refused before it is sent, and earlier keys still get their responses", async () => {
    const gateway = openGateway(() => Response.json(image));
    const { create } = openStoredProxy({ gateway, plugins: [idempotency({ maxPerUser: 3 })] });
    for (const key of ["one", "two", "three"]) expect((await create(key)).status).toBe(200);
    const refused = await create("four");
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "3600"]);
    expect(await readCode(refused)).toBe("too_many_keys");
    expect((await create("one")).status).toBe(200);
    expect((await create("four", { headers: { authorization: "Bearer other" } })).status).toBe(200);
    expect(gateway.requests).toHaveLength(4);
  });

  test("the oldest large response is deleted above the limit, and its request is not sent again", async () => {
    silenceLog();
    const large = { data: [], text: "a".repeat(100_000) };
    const gateway = openGateway(() => Response.json(large));
    const { create, host } = openStoredProxy({ gateway, plugins: [idempotency()] });
    for (let nth = 0; nth < 34; nth += 1) await (await create(`${nth}`)).text();
    await host.ended();
    const statuses = [];
    for (const key of ["0", "1", "2", "33"]) statuses.push((await create(key)).status);
    expect(statuses).toEqual([502, 502, 200, 200]);
    expect(await readCode(await create("0"))).toBe("response_not_stored");
    expect(await host.count("job_parts")).toBe(32);
    expect(gateway.requests).toHaveLength(34);
  });
});

import { createEmulator } from "@sluice/emulator";
import { assumptions } from "@sluice/emulator/assumptions";
import { createProxy, health, type ProxyOptions } from "@sluice/worker-proxy";
import { expect, test } from "vitest";
import { expectLog } from "../../worker-proxy/test/support/expected-log.js";
import { createClock, type Fetch, KEY, listNames, openDoctor } from "./support/doctor.js";

/* `sluice doctor` at a real Worker before the emulator. */

// the proxy reports what doctor tries
expectLog("this page may not call", "is not a field of this model", "apiKey: is the secret set");

const TOKEN = "token-canary-0123456789";
const PAGE = "https://app.example.com";
const BEHIND = "https://emulator.example.com";
const ARGS = ["--spend", "chat", "--origin", PAGE, "--behind", BEHIND, "--json"];

interface Setup {
  readonly proxy?: Partial<ProxyOptions>;
  /** Stands before the Worker. */
  readonly front?: (request: Request, worker: Fetch) => Promise<Response>;
  /** Stands between the Worker and the gateway. */
  readonly upstream?: (request: Request, gateway: Fetch) => Promise<Response>;
}

async function diagnoseWorker({ proxy, front, upstream }: Setup = {}) {
  const clock = createClock();
  const emulator = createEmulator({ apiKeys: [KEY], clock });
  const worker = createProxy({
    baseURL: "https://gateway.test",
    apiKey: () => KEY,
    authenticate: ({ headers }) =>
      headers.get("authorization") === `Bearer ${TOKEN}` ? { id: "ada" } : null,
    origins: [PAGE],
    models: ["alpha-v4.1-flash", "gamma-chat-1-6-251015", "delta-5.3"],
    limits: { maxTokens: 4096 },
    plugins: [health()],
    fetch: (request) => (upstream ? upstream(request, emulator.fetch) : emulator.fetch(request)),
    ...proxy,
  });
  const passOn: Fetch = (request) => worker.fetch(request);
  const doctor = openDoctor(async (request) => {
    if (request.url.startsWith(BEHIND)) return emulator.fetch(request);
    return front ? front(request, passOn) : passOn(request);
  }, clock);
  const { out, code } = await doctor(ARGS, { env: { PROXY_TOKEN: TOKEN } });
  expect(out).not.toContain(TOKEN);
  return { report: JSON.parse(out), code };
}

const workerRows = Object.entries(assumptions)
  .filter(([, { group }]) => group === "Worker")
  .map(([name]) => name as keyof typeof assumptions);

test("finds a Worker whose origins, sign-in, health, models, limits, headers and aborts are right", async () => {
  const { report, code } = await diagnoseWorker();
  expect(report.kind).toBe("worker");
  expect(listNames("holds", report)).toEqual(expect.arrayContaining([...workerRows, "unbuffered"]));
  expect(report.rows.filter(({ verdict }: { verdict: string }) => verdict === "differs")).toEqual([]);
  expect(code).toBe(0);
  expect(report.settings.baseURL).toBe("https://gateway.example.com");
});

const changeHeaders =
  (change: (headers: Headers) => void): NonNullable<Setup["front"]> =>
  async (request, worker) => {
    const response = await worker(request);
    const headers = new Headers(response.headers);
    change(headers);
    return new Response(response.body, { status: response.status, headers });
  };

const broken: Readonly<Record<string, Setup>> = {
  "worker-health": { proxy: { apiKey: () => undefined } },
  "worker-sign-in": { proxy: { authenticate: "public" } },
  "worker-origins": { front: changeHeaders((headers) => headers.set("access-control-allow-origin", "*")) },
  "worker-own-origin": { proxy: { origins: ["https://other.example.com"] } },
  "worker-models": { proxy: { models: ["delta-5.3", "sluice-doctor-unknown"] } },
  "worker-limits": { proxy: { limits: {} } },
  "worker-headers": { front: changeHeaders((headers) => headers.delete("cache-control")) },
  "worker-abort": {
    async upstream(request, gateway) {
      const body = await request.text();
      const { url, method, headers } = request;
      const response = await gateway(new Request(url, { method, headers, body: body || null }));
      // read the response to its end, even if the client has disconnected
      return new Response(response.body && (await response.text()), response);
    },
  },
};

test("each row about a Worker has a broken one below", () => {
  expect(Object.keys(broken).sort()).toEqual([...workerRows].sort());
});

test.each(Object.keys(broken))("finds a Worker that breaks %s", async (name) => {
  const { report, code } = await diagnoseWorker(broken[name]);
  expect(listNames("differs", report)).toContain(name);
  expect(code).toBe(1);
});

test("says nothing about a Worker at the address of a gateway", async () => {
  const { out } = await openDoctor(createEmulator({ apiKeys: [KEY] }).fetch)(["--json"]);
  const names = JSON.parse(out).rows.map(({ name }: { name: string }) => name);
  expect(names.filter((name: string) => name.startsWith("worker-"))).toEqual([]);
});

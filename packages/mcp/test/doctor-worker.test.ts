import { createEmulator } from "@sluice/emulator";
import { createProxy, health, type ProxyOptions } from "@sluice/worker-proxy";
import { expect, test } from "vitest";
import { expectLog } from "../../worker-proxy/test/support/expected-log.js";
import { type AssumptionName, assumptions } from "../src/doctor/assumptions.js";
import { createClock, type Fetch, KEY, listNames, openDoctor } from "./support/doctor.js";

/* `sluice doctor` at a real Worker in front of the emulator. */

// the proxy reports what doctor tries
expectLog("this page may not call", "is not a field of this model", "apiKey: is the secret set");

const TOKEN = "token-canary-0123456789";
const PAGE = "https://app.example.com";
const ARGS = ["--spend", "--origin", PAGE, "--json"];

interface Setup {
  readonly proxy?: Partial<ProxyOptions>;
  /** Handles requests in front of the Worker. */
  readonly front?: (request: Request, worker: Fetch) => Promise<Response>;
}

async function diagnoseWorker({ proxy, front }: Setup = {}) {
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
    fetch: (request) => emulator.fetch(request),
    ...proxy,
  });
  const passOn: Fetch = (request) => worker.fetch(request);
  const doctor = openDoctor((request) => (front ? front(request, passOn) : passOn(request)), clock);
  const { out, code } = await doctor(ARGS, { env: { GATEWAY_API_KEY: "", PROXY_TOKEN: TOKEN } });
  expect(out).not.toContain(TOKEN);
  return { report: JSON.parse(out), code };
}

const workerRows = Object.entries(assumptions)
  .filter(([, { group, check }]) => group === "Worker" && check !== "use")
  .map(([name]) => name as AssumptionName);

test("finds a Worker whose origins, sign-in, health, models, limits and headers are right", async () => {
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

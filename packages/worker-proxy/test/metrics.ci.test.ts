import type { AnyEvent, JobEvent, ProxyEvent } from "@sluice/worker-proxy";
import { type MetricsOptions, metrics } from "@sluice/worker-proxy/metrics";
import { describe, expect, test } from "vitest";
import { asked, type Env, openProxy } from "./support/in-process.js";
import { KEY } from "./support/key.js";

const TOKEN = "a token of the scraper, 32 and more";
const usage = { total_tokens: 30, prompt_tokens: 10, completion_tokens: 20 };

const request: ProxyEvent = {
  kind: "request",
  requestId: "canary-request",
  route: "chat",
  method: "POST",
  status: 200,
  outcome: "complete",
  model: "delta-5.3",
  user: "canary-user",
  streamId: "canary-stream",
  target: "canary-target",
  reason: "canary-reason",
  firstByteMs: 300,
  durationMs: 2000,
};
const job: JobEvent = {
  kind: "answer",
  id: "canary-job",
  outcome: "cut",
  code: "upstream_cut",
  user: "canary-user",
  requestId: "canary-request",
  taskId: "canary-task",
  model: "delta-5.3",
  usage,
  spent: 40,
  upstreamStatus: 200,
  durationMs: 61_000,
};

function open(options: Partial<MetricsOptions> = {}) {
  const measured = metrics({ models: ["delta-5.3"], token: "public", ...options });
  const text = async () => (await measured.fetch(new Request("https://proxy.example/metrics"), {})).text();
  return { ...measured, text, read: async () => parsed(await text()) };
}

/** Counts events, and returns the samples. */
async function samplesOf(...events: readonly AnyEvent[]) {
  const { onEvent, read } = open();
  for (const event of events) onEvent(event);
  return read();
}

test("A request is counted by its route, model, status, outcome and code, and its times are in buckets", async () => {
  const samples = await samplesOf(request, { ...request, durationMs: 50 });
  const labels = 'route="chat",model="delta-5.3"';
  expect(samples).toMatchObject({
    [`sluice_requests_total{${labels},status="200",outcome="complete",code="none"}`]: 2,
    [`sluice_request_seconds_bucket{${labels},le="0.1"}`]: 1,
    [`sluice_request_seconds_bucket{${labels},le="1"}`]: 1,
    [`sluice_request_seconds_bucket{${labels},le="2.5"}`]: 2,
    [`sluice_request_seconds_bucket{${labels},le="+Inf"}`]: 2,
    [`sluice_request_seconds_sum{${labels}}`]: 2.05,
    [`sluice_request_seconds_count{${labels}}`]: 2,
    [`sluice_first_byte_seconds_bucket{${labels},le="0.5"}`]: 2,
  });
});

test("A job is counted by its kind and end, with its tokens and what was spent", async () => {
  expect(await samplesOf(job, job)).toMatchObject({
    'sluice_jobs_total{kind="answer",model="delta-5.3",outcome="cut",code="upstream_cut"}': 2,
    'sluice_job_seconds_bucket{kind="answer",le="60"}': 0,
    'sluice_job_seconds_bucket{kind="answer",le="120"}': 2,
    'sluice_tokens_total{model="delta-5.3",type="prompt"}': 20,
    'sluice_tokens_total{model="delta-5.3",type="completion"}': 40,
    'sluice_spent_total{model="delta-5.3"}': 80,
  });
});

test("The events of a proxy are counted where `onEvent` hands them over, its refusals too", async () => {
  const { onEvent, read } = open();
  const { ask } = openProxy({ onEvent }, () => Response.json({ choices: [], usage }));
  await ask(asked());
  await ask(asked({ headers: { authorization: "Bearer nobody" } }));
  const samples = async () => Object.keys(await read()).filter((name) => name.startsWith("sluice_requests"));
  await expect
    .poll(samples)
    .toEqual([
      'sluice_requests_total{route="chat",model="delta-5.3",status="200",outcome="complete",code="none"}',
      'sluice_requests_total{route="chat",model="none",status="401",outcome="refused",code="invalid_api_key"}',
    ]);
});

test("What is no number, or is below nothing, changes nothing", async () => {
  const odd = { ...job, durationMs: Number.NaN, spent: -1, usage: { prompt_tokens: null, total_tokens: 1 } };
  expect(Object.keys(await samplesOf(odd as unknown as JobEvent))).toEqual([
    'sluice_jobs_total{kind="answer",model="delta-5.3",outcome="cut",code="upstream_cut"}',
  ]);
});

test("case 199: no id, user, key, address or text is in the metrics; a model that is not listed and the gateway's codes are `other`", async () => {
  const { onEvent, text } = open();
  for (const event of [
    request,
    job,
    {
      ...request,
      model: "canary-model",
      status: 400,
      outcome: "refused",
      code: "canary_code",
      upstreamStatus: 400,
    },
    { ...job, kind: "webhook", code: "canary_code" },
  ] as const)
    onEvent(event);
  const { ask } = openProxy({ onEvent }, () =>
    Response.json({ error: { code: "canary_code", message: "canary" } }, { status: 400 }),
  );
  await ask(asked({ body: { model: "delta-5.3", messages: [{ role: "user", content: "canary" }] } }));
  await ask(asked({ path: "/v1/canary-path" }));
  await expect.poll(text).toContain('status="404"');
  const all = await text();
  expect(all).not.toMatch(/canary|user-1|proxy\.example|gateway\.example/);
  expect(all).not.toContain(KEY);
  expect(all).toContain('model="other",status="400",outcome="refused",code="other"');
});

describe("case 199: the path is closed", () => {
  const closed = open({ token: (env) => (env as Env).KEY });
  const status = async (headers: Record<string, string>, env: Env = { KEY: TOKEN }, method = "GET") => {
    const asked = new Request("https://proxy.example/metrics", { headers, method });
    const answer = closed.fetch(asked, env);
    if (answer.status !== 200) expect(await answer.text()).toBe("");
    return answer.status;
  };
  const bearer = { authorization: `Bearer ${TOKEN}` };

  test.each([
    ["without a token", {}],
    ["with another token", { authorization: `Bearer ${TOKEN.replace("a", "b")}` }],
    ["with a part of it", { authorization: `Bearer ${TOKEN.slice(0, -1)}` }],
    ["with its name alone", { authorization: TOKEN }],
    ["from a page", { ...bearer, origin: "https://app.example" }],
    ["where none is set", { authorization: "Bearer undefined" }, { KEY: undefined }],
    ["where an empty one is set", { authorization: "Bearer " }, { KEY: "" }],
    ["where a short one is set", { authorization: "Bearer short" }, { KEY: "short" }],
  ] as const)("A scraper %s gets the 404 of a path that is not there", async (_, headers, env?: Env) => {
    expect(await status(headers, env)).toBe(404);
  });

  test("A scraper with the token gets the text, by GET alone", async () => {
    expect(await status(bearer)).toBe(200);
    expect(await status(bearer, undefined, "POST")).toBe(404);
  });

  test("Two tokens are taken while the token is changed", () => {
    const { fetch } = open({ token: () => ["another token, of 32 characters or more", TOKEN] });
    expect(fetch(new Request("https://proxy.example/metrics", { headers: bearer }), {}).status).toBe(200);
  });
});

test("case 200: series are bounded: what is beyond a thousand of a name is counted under `other`, and no event is lost", async () => {
  const { onEvent, text } = open();
  const cause = "x".repeat(5000);
  for (let at = 0; at < 5000; at += 1)
    onEvent({ ...request, status: 400, outcome: "refused", code: `${at}\n"\\${cause}` });
  const all = await text();
  expect(all.length).toBeLessThan(500_000);
  const counts = Object.entries(parsed(all)).filter(([name]) => name.startsWith("sluice_requests_total"));
  expect(counts).toHaveLength(1001);
  expect(counts.reduce((sum, [, count]) => sum + count, 0)).toBe(5000);
  expect(counts.at(-1)).toEqual([expect.stringContaining('code="other"'), 4000]);
});

test.each([
  ["models", { models: undefined as never }],
  ["token", { token: undefined as never }],
])("An option that is missing is named: %s", (name, wrong) => {
  expect(() => open(wrong)).toThrow(`${name}: give`);
});

const NAME = "[a-zA-Z_:][a-zA-Z0-9_:]*";
const LABEL = `[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\\\\n]|\\\\[\\\\"n])*"`;
const SAMPLE = new RegExp(
  `^(${NAME})(\\{${LABEL}(?:,${LABEL})*\\})? (\\+Inf|\\d+(?:\\.\\d+)?(?:e[+-]?\\d+)?)$`,
);

/**
 * Reads the text by the grammar of the format: a family is one block, begun by its help and its type; no sample comes
 * twice; and the buckets of a histogram grow up to its count.
 *
 * @see https://prometheus.io/docs/instrumenting/exposition_formats/#text-format-details
 */
function parsed(text: string): Record<string, number> {
  const samples: Record<string, number> = {};
  const families = new Map<string, string>();
  let family = "";
  expect(text === "" || text.endsWith("\n")).toBe(true);
  for (const line of text.split("\n").slice(0, -1)) {
    const [, helped] = new RegExp(`^# HELP (${NAME}) .+$`).exec(line) ?? [];
    const [, typed, type = ""] = new RegExp(`^# TYPE (${NAME}) (counter|histogram)$`).exec(line) ?? [];
    if (helped !== undefined) family = helped;
    else if (typed !== undefined) {
      expect([typed, families.has(typed)]).toEqual([family, false]);
      families.set(typed, type);
    } else {
      const [, name = "", labels = "", value] = SAMPLE.exec(line) ?? [];
      expect(value, line).toBeDefined();
      const isBucket = families.get(family) === "histogram";
      expect(name.replace(isBucket ? /_(?:bucket|sum|count)$/ : /$^/, "")).toBe(family);
      expect(samples).not.toHaveProperty([name + labels]);
      samples[name + labels] = Number(value);
    }
  }
  for (const [name, count] of Object.entries(samples)) checkBuckets(name, count, samples);
  return samples;
}

function checkBuckets(name: string, count: number, samples: Readonly<Record<string, number>>): void {
  const [, begin, labels] = /^(.*)_count\{(.*)\}$/.exec(name) ?? [];
  if (begin === undefined) return;
  const buckets = Object.entries(samples).filter(([other]) =>
    other.startsWith(`${begin}_bucket{${labels},le=`),
  );
  const counts = buckets.map(([, within]) => within);
  expect(counts).toEqual([...counts].sort((a, b) => a - b));
  expect(samples[`${begin}_bucket{${labels},le="+Inf"}`]).toBe(count);
}

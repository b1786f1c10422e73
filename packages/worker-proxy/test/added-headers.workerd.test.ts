import { gatewayHeaders, type ProxyEvent, type ProxyOptions, type ProxyPlugin } from "@sluice/worker-proxy";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { chat, createRequest, type Env, openProxy } from "./support/in-process.js";
import { KEY } from "./support/key.js";

const log = vi.spyOn(console, "error");
beforeEach(() => {
  log.mockImplementation(() => {});
});
afterEach(() => {
  log.mockClear();
});

const TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
const AIG = "Bearer cf-aig-9Kd8Wq2Zx7";

/** The headers that reach the gateway. */
async function headersSent(options: Partial<ProxyOptions<Env>> = {}, headers: Record<string, string> = {}) {
  const { call, reached } = openProxy(options);
  const response = await call(createRequest({ headers }));
  return { ...response, sent: reached[0]?.headers };
}

test("the headers of `gatewayHeaders()` reach the gateway, and the key with them", async () => {
  const { sent } = await headersSent({
    plugins: [
      gatewayHeaders<Env>(async ({ user, model, route }) => ({
        "cf-aig-authorization": AIG,
        "cf-aig-metadata": JSON.stringify({ user: user.id, model, route }),
      })),
    ],
  });
  expect(sent?.get("authorization")).toBe(`Bearer ${KEY}`);
  expect(sent?.get("cf-aig-authorization")).toBe(AIG);
  expect(sent?.get("cf-aig-metadata")).toBe('{"user":"user-1","model":"delta-5.3","route":"chat"}');
});

test.each([
  "authorization",
  "Authorization",
  "cookie",
  "host",
  "content-type",
  "content-length",
  "content-encoding",
  "connection",
  "transfer-encoding",
  "proxy-authorization",
  "te",
  "upgrade",
  "accept-encoding",
  "x-request-id",
  "traceparent",
  "not a name",
  "",
])("a header named %j can't be set: 500, and the log says so", async (name) => {
  const { status, error, sent } = await headersSent({ plugins: [gatewayHeaders(() => ({ [name]: "x" }))] });
  expect([status, error?.["code"], sent]).toEqual([500, "misconfigured", undefined]);
  expect(log.mock.calls.flat()).toEqual([expect.stringContaining(`gatewayHeaders: ${name}: can't be set`)]);
});

test.each(["a\r\nx-other: b", "a\nb", "", " a", "\u00e9", 7, undefined, null])(
  "a header with the value %j can't be sent, and the log does not say the value",
  async (value) => {
    const { status, sent } = await headersSent({
      plugins: [gatewayHeaders(() => ({ "x-name": value as string }))],
    });
    expect([status, sent]).toEqual([500, undefined]);
    expect(log.mock.calls.flat()).toEqual([
      expect.stringMatching(/gatewayHeaders: x-name: give a text .* break$/),
    ]);
  },
);

test("a key in a header is not passed on in a response, a stream or a header, and is not in the log", async () => {
  const options = {
    plugins: [gatewayHeaders(() => ({ "cf-aig-authorization": AIG, "x-name": "of no secret" }))],
  };
  const read = (response: Response) =>
    openProxy(options, () => response).call(createRequest({ body: { ...chat, stream: true } }));
  const responses = [
    await read(Response.json({ note: AIG })),
    await read(Response.json({ error: { message: `no ${AIG}` } }, { status: 400 })),
    await read(
      new Response(`data: {"note":"${AIG}"}\n\n`, { headers: { "content-type": "text/event-stream" } }),
    ),
  ];
  for (const { text, headers } of responses) expect(text + JSON.stringify([...headers])).not.toContain(AIG);
  expect((await read(Response.json({ note: "of no secret" }))).status).toBe(200);
  const { call } = openProxy({ ...options, fetch: () => Promise.reject(new Error(`could not use ${AIG}`)) });
  await call(createRequest());
  expect(log.mock.calls.flat().at(-1)).toContain("could not use […]");
});

test("a well-formed `traceparent` goes on to the gateway; `tracestate`, which is free text, does not", async () => {
  const { sent } = await headersSent({}, { traceparent: TRACE, tracestate: "vendor=x" });
  expect([sent?.get("traceparent"), sent?.get("tracestate")]).toEqual([TRACE, null]);
});

test.each([
  TRACE.toUpperCase(),
  TRACE.replace("00-", "ff-"),
  `${TRACE}-00`,
  `${TRACE}, ${TRACE}`,
  TRACE.replace("4bf92f3577b34da6a3ce929d0e0e4736", "0".repeat(32)),
  TRACE.replace("00f067aa0ba902b7", "0".repeat(16)),
  "00-abc-def-01",
  "x",
])("the `traceparent` %s is dropped", async (traceparent) => {
  const { status, sent } = await headersSent({}, { traceparent });
  expect([status, sent?.get("traceparent")]).toEqual([200, null]);
});

test("the request id of the proxy goes to the gateway, and never one of the client's", async () => {
  const { sent, headers } = await headersSent({}, { "x-request-id": "cl1ent" });
  expect(sent?.get("x-request-id")).toBe(headers.get("x-request-id"));
  expect(sent?.get("x-request-id")).toMatch(/^[\da-f-]{36}$/);
});

test("the event of a request has its well-formed `traceparent`, also where it was refused, and no other header", async () => {
  const events: ProxyEvent[] = [];
  const { call } = openProxy({ plugins: [{ onEvent: (event) => void events.push(event) }] });
  const tracestate = "vendor=canary-40aa";
  await call(createRequest({ headers: { traceparent: TRACE, tracestate } }));
  await call(createRequest({ headers: { traceparent: TRACE }, body: { ...chat, model: "none" } }));
  await call(createRequest({ headers: { traceparent: `${TRACE}-canary-40aa` } }));
  await call(createRequest());
  await vi.waitFor(() => expect(events).toHaveLength(4));
  expect(events.map((event) => "traceparent" in event && event.traceparent)).toEqual([
    TRACE,
    TRACE,
    false,
    false,
  ]);
  expect(events.map(({ outcome }) => outcome)).toEqual(["complete", "refused", "complete", "complete"]);
  expect(JSON.stringify(events)).not.toContain("canary-40aa");
});

describe("`traceparent` of a plugin", () => {
  const OWN = "00-4bf92f3577b34da6a3ce929d0e0e4736-a3ce929d0e0e4736-01";

  test("sends the proxy's own span to the gateway, and the event has it beside the client's", async () => {
    const events: ProxyEvent[] = [];
    const begun: Parameters<NonNullable<ProxyPlugin["traceparent"]>>[0][] = [];
    const before = Date.now();
    const { sent } = await headersSent(
      {
        plugins: [
          {
            traceparent(request) {
              begun.push(request);
              return OWN;
            },
            onEvent: (event) => void events.push(event),
          },
        ],
      },
      { traceparent: TRACE },
    );
    expect(sent?.get("traceparent")).toBe(OWN);
    expect(begun).toEqual([
      { method: "POST", route: "chat", traceparent: TRACE, startedAt: expect.any(Number) },
    ]);
    expect(begun[0]?.startedAt).toBeGreaterThanOrEqual(before);
    await vi.waitFor(() => expect(events).toMatchObject([{ traceparent: TRACE, ownTraceparent: OWN }]));
  });

  test.each([
    ["returns a text that is not well-formed", () => `${OWN}\r\nx-other: b`],
    ["returns nothing", () => undefined],
    [
      "throws",
      () => {
        throw new Error("no SDK");
      },
    ],
  ])("breaks no response where it %s: the client's goes on", async (reason, traceparent) => {
    const log = vi.spyOn(console, "error").mockImplementation(() => {});
    onTestFinished(() => log.mockRestore());
    const events: ProxyEvent[] = [];
    const onEvent = (event: ProxyEvent) => void events.push(event);
    const { status, sent } = await headersSent(
      { plugins: [{ traceparent, onEvent }] },
      { traceparent: TRACE },
    );
    expect([status, sent?.get("traceparent")]).toEqual([200, TRACE]);
    await vi.waitFor(() => expect(events).toHaveLength(1));
    expect(events[0]).not.toHaveProperty("ownTraceparent");
    const line = expect.stringMatching(/^sluice proxy: traceparent failed: Error: no SDK/);
    await vi.waitFor(() => expect(log.mock.calls.flat()).toEqual(reason === "throws" ? [line] : []));
  });

  test("begins no span of a request that is refused", async () => {
    const traceparent = vi.fn(() => OWN);
    const { call } = openProxy({ plugins: [{ traceparent }] });
    expect((await call(createRequest({ body: { ...chat, model: "none" } }))).status).toBe(403);
    expect(traceparent).not.toHaveBeenCalled();
  });
});

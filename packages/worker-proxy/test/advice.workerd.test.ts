import { afterEach, expect, test, vi } from "vitest";
import { createRequest, openProxy } from "./support/in-process.js";

/* Options that newcomers forget: the log names each of them once, and a caller gets an error of the spec's form. */

const log = vi.spyOn(console, "error").mockImplementation(() => {});
const listLines = () => log.mock.calls.map(([line]) => String(line));
afterEach(() => log.mockClear());

test("an origin that is not listed is named, once, for requests and preflights", async () => {
  const { call } = openProxy();
  for (const method of ["OPTIONS", "POST", "POST"])
    await call(createRequest({ method, headers: { origin: "https://mine.example" } }));
  await call(createRequest({ headers: { origin: "https://other.example" } }));
  expect(listLines()).toEqual([
    expect.stringMatching(/ `origins`: "https:\/\/mine\.example"$/),
    expect.stringContaining(': "https://other.example"'),
  ]);
});

test("an origin writes one line to the log, and all origins at most 21 in a minute", async () => {
  const { call } = openProxy();
  await call(createRequest({ headers: { origin: `https://a".${"long".repeat(100)}` } }));
  for (let at = 0; at < 200; at += 1)
    await call(createRequest({ headers: { origin: `https://${at}.example` } }));
  expect(listLines()).toHaveLength(21);
  expect(listLines()[0]?.length).toBeLessThan(250);
  expect(listLines()[0]).toContain('\\"');
});

test.each([
  "/v1/video/generations",
  "/v1/video/generations/t-1",
  "/gamma/asset/CreateAsset",
  "/v1/models",
  "/v1/responses",
])("a path of a gateway that is not open names the option: %s", async (path) => {
  const { call, reached } = openProxy();
  const { status, error, headers } = await call(createRequest({ path, body: { model: "delta-5.3" } }));
  expect([status, error?.["code"], headers.get("x-sluice-source")]).toEqual([404, "not_found", "proxy"]);
  expect(error?.["message"]).toContain("`routes`");
  expect([listLines(), reached]).toEqual([[], []]);
});

test.each([
  ["", "/chat/completions"],
  ["", "/images/generations"],
  ["/api", "/api/chat/completions"],
  ["/api", "/v1/chat/completions"],
  ["", "/api/v1/chat/completions"],
  ["", "/v1/v1/chat/completions"],
  ["", "/v1/chat/completions/"],
  ["", "/v1//chat/completions"],
] as const)(
  "a wrong base URL is refused with the paths that are served: basePath %j and %s",
  async (basePath, path) => {
    const { call, reached } = openProxy({ basePath, routes: ["chat", "images"] });
    const { status, error } = await call(createRequest({ path }));
    expect([status, error?.["code"]]).toEqual([404, "not_found"]);
    expect(error?.["message"]).toBe(
      `there is nothing at this path; the proxy serves ${basePath}/v1/chat/completions, ${basePath}/v1/images/generations; its operator lists \`routes\``,
    );
    expect(reached).toEqual([]);
  },
);

test.each([
  ["a page with status 404", () => new Response("<h1>Not found", { status: 404 }), 404],
  ["an empty 405", () => new Response(null, { status: 405 }), 405],
] as const)(
  "a `baseURL` of the proxy that is not the gateway's is named once: %s",
  async (_, respond, status) => {
    const { call } = openProxy({}, respond);
    for (let times = 0; times < 2; times += 1)
      expect(await call(createRequest())).toMatchObject({
        status,
        error: {
          code: "upstream_type",
          message: "another server responded, not the gateway; the proxy's operator checks `baseURL`",
        },
      });
    expect(listLines()).toEqual([expect.stringMatching(/another server responded.*: "baseURL"$/)]);
  },
);

test("a plugin's path is open, unless it belongs to a group of the gateway that is not", async () => {
  const route = (name: string, path: string) =>
    ({ name, method: "GET", path, id: "own", serve: async () => Response.json({}) }) as const;
  const routes = [route("notes", "/v1/notes/{id}"), route("videos", "/v1/clips/{id}")];
  const { call } = openProxy({ plugins: [{ routes }] });
  expect((await call(createRequest({ method: "GET", path: "/v1/notes/n-1" }))).status).toBe(200);
  expect((await call(createRequest({ method: "GET", path: "/v1/clips/f-1" }))).error?.["message"]).toContain(
    "`routes`",
  );
});

test.each(["/", "/admin", "/healthz", "/metrics"])(
  "%s is no path of the spec, and is not logged",
  async (path) => {
    const { call } = openProxy();
    expect((await call(createRequest({ path }))).error?.["message"]).toBe("there is nothing at this path");
    expect(listLines()).toEqual([]);
  },
);

import { createProxy, type ProxyOptions, type ProxyPlugin } from "@sluice/worker-proxy";
import { definePlugin } from "@sluice/worker-proxy/plugin";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createRequest, type Env, openProxy } from "../../worker-proxy/test/support/in-process.js";
import { KEY } from "../../worker-proxy/test/support/key.js";
import { type AdminOptions, admin } from "../src/admin/admin.js";
import { eraseUser, exportUser } from "../src/admin/user-data.js";

let lines: string[] = [];
beforeEach(() => {
  lines = [];
  vi.spyOn(console, "error").mockImplementation((line: string) => void lines.push(line));
});
afterEach(() => void vi.restoreAllMocks());

/** Notes of users, by their ids, with one operation. */
function notesPart(name = "notes", fails = () => false) {
  const stored = new Map<string, string>([
    ["ann", "a note of ann"],
    ["bob", "a note of bob"],
  ]);
  const part: ProxyPlugin<Env> = definePlugin({
    userData: {
      name,
      eraseUser: async (_, id) => {
        if (fails()) throw new Error("the notes are away");
        stored.delete(id);
      },
      exportUser: async (_, id) => (stored.has(id) ? [stored.get(id)] : []),
    },
    operations: [
      {
        name: `${name}/list`,
        run: async (_, { user }) => {
          if (typeof user !== "string") throw new TypeError("user: give a text");
          return { notes: [stored.get(user)] };
        },
      },
    ],
  });
  return { part, stored };
}

const isOperator: AdminOptions<Env>["isOperator"] = ({ id }) => id === "ada";

/** Opens a proxy with paths for operators. The bearer token is the user's id. */
function openAdmin(
  { parts = [notesPart().part], ...given }: Partial<AdminOptions<Env>> & { parts?: ProxyPlugin<Env>[] } = {},
  options: Partial<ProxyOptions<Env>> = {},
) {
  const opened = openProxy({
    authenticate: ({ headers }) => {
      const [, id] = /^Bearer (\w+)$/.exec(headers.get("authorization") ?? "") ?? [];
      return id ? { id } : null;
    },
    plugins: [admin<Env>({ isOperator, ...given }), ...parts],
    ...options,
  });
  const post = (path: string, body: unknown = {}, headers: Record<string, string> = {}, method = "POST") =>
    opened.call(createRequest({ method, path, body, headers: { authorization: "Bearer ada", ...headers } }));
  return { ...opened, post };
}

/** The parts of a response that a caller can compare. */
const seen = ({ status, text, headers }: { status: number; text: string; headers: Headers }) => {
  const { "x-request-id": _, ...rest } = Object.fromEntries(headers);
  return { status, text, headers: rest };
};

const EXPORT = "/v1/admin/users/export";

describe("a path of operators (case 132)", () => {
  test("is served to an operator, and its event names the operation", async () => {
    const { post, events, reached } = openAdmin();
    const { status, text } = await post(EXPORT, { user: "ann" });
    expect([status, JSON.parse(text)]).toEqual([
      200,
      { user: "ann", data: { notes: ["a note of ann"] }, failed: [], tooLarge: [], cursors: {} },
    ]);
    expect(events).toMatchObject([
      { route: "admin", userId: "ada", operation: "users/export", status: 200, outcome: "complete" },
    ]);
    expect(reached).toEqual([]);
  });

  const strangers: readonly [string, Record<string, string>, string][] = [
    ["a user who is no operator", { authorization: "Bearer ann" }, "POST"],
    ["nobody", { authorization: "" }, "POST"],
    ["a key that is not valid", { authorization: "Bearer not-a-user" }, "POST"],
    ["a page that is listed, with an operator's session", { origin: "https://app.example" }, "POST"],
    ["a page that is not listed", { origin: "https://evil.example" }, "POST"],
    ["a frame without an origin", { origin: "null" }, "POST"],
    ["the preflight of a page", { origin: "https://app.example" }, "OPTIONS"],
    ["the preflight of another page", { origin: "https://evil.example" }, "OPTIONS"],
    ["a user with another method", { authorization: "Bearer ann" }, "GET"],
    ["a user with a form", { authorization: "Bearer ann", "content-type": "text/plain" }, "POST"],
  ];
  test.each(strangers)("responds to %s like a path that is not served", async (_, headers, method) => {
    const { post, reached } = openAdmin();
    const real = await post(EXPORT, { user: "ann" }, headers, method);
    const none = await post("/v1/admin/no/path", { user: "ann" }, headers, method);
    expect(seen(real)).toEqual(seen(none));
    expect(reached).toEqual([]);
  });

  test("tells the operator in the event who was refused, and for what", async () => {
    const { post, events } = openAdmin();
    await post(EXPORT, { user: "ann" }, { authorization: "Bearer ann" });
    expect(events).toMatchObject([{ route: "admin", userId: "ann", status: 404, outcome: "refused" }]);
    expect(events[0]).not.toHaveProperty("operation");
  });

  test("responds with 404 to everybody if `isOperator` throws, rejects or returns anything but `true`", async () => {
    const wrong: unknown[] = [
      () => {
        throw new Error("the list of operators is away");
      },
      async () => Promise.reject(new Error("the list of operators is away")),
      async () => false,
      () => "yes",
      () => 1,
      () => ({}),
      () => undefined,
    ];
    for (const isOperator of wrong) {
      const { post } = openAdmin({ isOperator: isOperator as AdminOptions<Env>["isOperator"] });
      expect((await post(EXPORT, { user: "ann" })).status).toBe(404);
    }
    expect(lines.filter((line) => line.includes("admin: every request is refused"))).toHaveLength(2);
  });

  test("responds with 404 if the sign-in fails, and the log says why", async () => {
    const { post } = openAdmin(
      {},
      {
        authenticate: () => {
          throw new Error("the sign-in is away");
        },
      },
    );
    expect((await post(EXPORT)).status).toBe(404);
    expect(lines.join()).toContain("the sign-in is away");
  });

  test("does not exist without the plugin", async () => {
    const { post } = openAdmin({}, { plugins: [] });
    expect((await post(EXPORT, { user: "ann" })).status).toBe(404);
  });

  test("refuses every request to a plugin's path without an audience", async () => {
    const serve = async () => Response.json({});
    const open: ProxyPlugin<Env> = definePlugin({
      routes: [{ name: "admin", method: "POST", path: "/v1/admin/x/y", id: "own", serve }],
    });
    const { post } = openAdmin({}, { plugins: [open] });
    expect((await post("/v1/admin/x/y")).status).toBe(404);
  });

  test("can't be opened to everybody, or without `isOperator`", () => {
    expect(() => openAdmin({}, { authenticate: "public" })).toThrow(
      'can\'t be open with authenticate: "public"',
    );
    expect(() => admin({} as never)).toThrow("isOperator: give a function");
    expect(() => admin({ isOperator, parts: [] } as never)).toThrow("parts: is not an option of admin");
  });

  test("takes JSON alone, and no query", async () => {
    const { post } = openAdmin();
    expect((await post(EXPORT, { user: "ann" }, { "content-type": "text/plain" })).status).toBe(415);
    expect((await post(`${EXPORT}?user=ann`)).status).toBe(400);
    expect((await post(EXPORT, {}, {}, "GET")).status).toBe(405);
  });

  test("lets operators through while a rate limit refuses all users", async () => {
    const { post } = openAdmin({}, { rateLimit: () => ({ retryAfterMs: 1000 }) });
    expect((await post(EXPORT, { user: "ann" })).status).toBe(200);
  });

  test("authenticates the caller once", async () => {
    const authenticate = vi.fn(() => ({ id: "ada" }));
    const { post } = openAdmin({}, { authenticate });
    await post(EXPORT, { user: "ann" });
    expect(authenticate).toHaveBeenCalledTimes(1);
  });
});

describe("an operation", () => {
  test("is served below the name of its part", async () => {
    const { post } = openAdmin();
    const { status, text } = await post("/v1/admin/notes/list", { user: "bob" });
    expect([status, text]).toEqual([200, '{"notes":["a note of bob"]}']);
  });

  test("responds with 400 and names the field that is wrong", async () => {
    const { post } = openAdmin();
    expect(await post("/v1/admin/notes/list")).toMatchObject({
      status: 400,
      error: { code: "invalid_request", message: "user: give a text" },
    });
    expect(await post(EXPORT)).toMatchObject({ status: 400 });
    expect(await post(EXPORT, { user: "ann", part: "nothing" })).toMatchObject({ status: 400 });
  });

  test("does nothing if the request has an unknown field", async () => {
    const run = vi.fn(async () => ({}));
    const remove = { name: "things/remove", fields: ["user"], run };
    const { post } = openAdmin({ parts: [{ operations: [remove] }] });
    expect(await post("/v1/admin/things/remove", { user: "ann", dryRun: true })).toMatchObject({
      status: 400,
      error: { message: "dryRun: is not a field of this operation; nothing was done" },
    });
    expect(run).not.toHaveBeenCalled();
    expect((await post("/v1/admin/things/remove", { user: "ann" })).status).toBe(200);
  });

  test("responds with 503 if it fails, and only the log says why", async () => {
    const fails = async () => Promise.reject(new Error("of 10.0.0.1"));
    const { post } = openAdmin({ parts: [{ operations: [{ name: "things/list", run: fails }] }] });
    const { status, text } = await post("/v1/admin/things/list");
    expect(status).toBe(503);
    expect(text).not.toContain("10.0.0.1");
    expect(lines.join()).toContain("10.0.0.1");
  });

  test("never responds with the gateway's key", async () => {
    const run = async () => ({ found: `Bearer ${KEY}` });
    const { post } = openAdmin({ parts: [{ operations: [{ name: "things/list", run }] }] });
    const { status, text } = await post("/v1/admin/things/list");
    expect([status, text.includes(KEY)]).toEqual([502, false]);
  });

  test("is refused by createProxy if its name is taken or invalid", () => {
    const { part } = notesPart();
    expect(() => openAdmin({ parts: [part, part] })).toThrow("plugins: two have the name notes");
    const twice = { operations: part.operations ?? [] };
    expect(() => openAdmin({ parts: [part, twice] })).toThrow("two have the operation notes/list");
    const run = async () => ({});
    expect(() => openAdmin({ parts: [{ operations: [{ name: "../x", run }] }] })).toThrow(
      "is not a valid name",
    );
  });
});

describe("erasing a user (case 133)", () => {
  test("erases the data of all plugins, and leaves the data of other users", async () => {
    const firstPart = notesPart("one");
    const secondPart = notesPart("other");
    const { post } = openAdmin({ parts: [firstPart.part, secondPart.part] });
    const { text } = await post("/v1/admin/users/erase", { user: "ann" });
    expect(JSON.parse(text)).toEqual({ erased: ["one", "other"], failed: [] });
    expect([[...firstPart.stored.keys()], [...secondPart.stored.keys()]]).toEqual([["bob"], ["bob"]]);
  });

  test("erases nothing if the request has an unknown field, such as the name of one part", async () => {
    const { part, stored } = notesPart();
    const { post } = openAdmin({ parts: [part] });
    for (const more of [{ part: "notes" }, { dryRun: true }]) {
      const [name] = Object.keys(more);
      expect(await post("/v1/admin/users/erase", { user: "ann", ...more })).toMatchObject({
        status: 400,
        error: { message: `${name}: is not a field of this operation; nothing was done` },
      });
    }
    expect((await post(EXPORT, { user: "ann", parts: ["notes"] })).status).toBe(400);
    expect([...stored.keys()]).toEqual(["ann", "bob"]);
  });

  test("names a plugin that failed, erases the others, and erases that plugin's data when the request is repeated", async () => {
    let isAway = true;
    const broken = notesPart("broken", () => isAway);
    const fine = notesPart("fine");
    const { post } = openAdmin({ parts: [broken.part, fine.part] });
    const erase = async () => JSON.parse((await post("/v1/admin/users/erase", { user: "ann" })).text);
    expect(await erase()).toEqual({ erased: ["fine"], failed: ["broken"] });
    expect([broken.stored.has("ann"), fine.stored.has("ann")]).toEqual([true, false]);
    expect(lines.join()).toContain("operator: broken could not be erased");
    isAway = false;
    expect(await erase()).toEqual({ erased: ["broken", "fine"], failed: [] });
    expect([...broken.stored.keys(), ...fine.stored.keys()]).toEqual(["bob", "bob"]);
  });

  test("erases what the end of one part has written into another", async () => {
    const files = notesPart("files");
    const ending = definePlugin<ProxyPlugin<Env>>({
      userData: {
        name: "watches",
        eraseUser: async (_, id) => {
          // its video was about to be copied
          await Promise.resolve();
          if (isWatched) files.stored.set(id, "a video");
          isWatched = false;
        },
        exportUser: async () => [],
      },
    });
    let isWatched = true;
    const { post } = openAdmin({ parts: [files.part, ending] });
    await post("/v1/admin/users/erase", { user: "ann" });
    expect(files.stored.has("ann")).toBe(false);
  });

  test("erases the other parts while one part takes up to a minute", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const fine = notesPart("fine");
    const stuck = definePlugin<ProxyPlugin<Env>>({
      userData: { name: "stuck", eraseUser: () => new Promise(() => {}), exportUser: async () => [] },
    });
    const { post } = openAdmin({ parts: [stuck, fine.part] });
    const response = post("/v1/admin/users/erase", { user: "ann" });
    // two rounds, of a minute each
    await vi.advanceTimersByTimeAsync(60_000);
    expect(fine.stored.has("ann")).toBe(false);
    await vi.advanceTimersByTimeAsync(60_000);
    vi.useRealTimers();
    expect(JSON.parse((await response).text)).toEqual({ erased: ["fine"], failed: ["stuck"] });
  });
});

describe("exporting a user", () => {
  const of = (name: string, exported: unknown): ProxyPlugin<Env> => ({
    userData: { name, eraseUser: async () => {}, exportUser: async () => exported },
  });

  test("has a key for each part, and names the parts that failed", async () => {
    const broken = definePlugin<ProxyPlugin<Env>>({
      userData: {
        name: "broken",
        eraseUser: async () => {},
        exportUser: () => Promise.reject(new Error("away")),
      },
    });
    const { post } = openAdmin({ parts: [of("files", [1]), broken, of("nothing", undefined)] });
    expect(JSON.parse((await post(EXPORT, { user: "ann" })).text)).toEqual({
      user: "ann",
      data: { files: [1], nothing: null },
      failed: ["broken"],
      tooLarge: [],
      cursors: {},
    });
  });

  test("names a part that is too large, which can be exported alone where it fits", async () => {
    const half = "x".repeat(5 * 1024 * 1024);
    const { post } = openAdmin({ parts: [of("one", half), of("two", half), of("small", "y")] });
    const all = JSON.parse((await post(EXPORT, { user: "ann" })).text);
    expect([Object.keys(all.data), all.tooLarge]).toEqual([["one", "small"], ["two"]]);
    const alone = JSON.parse((await post(EXPORT, { user: "ann", part: "two" })).text);
    expect([Object.keys(alone.data), alone.tooLarge]).toEqual([["two"], []]);
  });
});

describe("code of the app", () => {
  test("exports and erases a user by the proxy alone", async () => {
    const { part, stored } = notesPart();
    const proxy = createProxy<Env>({
      baseURL: "https://gateway.example",
      apiKey: () => KEY,
      authenticate: () => null,
      origins: [],
      models: ["delta-5.3"],
      plugins: [part],
    });
    const env = { KEY };
    expect(await exportUser(proxy, env, "ann")).toEqual({
      user: "ann",
      data: { notes: ["a note of ann"] },
      failed: [],
      tooLarge: [],
      cursors: {},
    });
    for (let times = 0; times < 2; times += 1)
      expect(await eraseUser(proxy, env, "ann")).toEqual({ erased: ["notes"], failed: [] });
    expect([...stored.keys()]).toEqual(["bob"]);
  });

  test("gets an error without a proxy of createProxy, or without a user", async () => {
    const { part } = notesPart();
    const options = {
      baseURL: "https://gateway.example",
      apiKey: () => KEY,
      origins: [],
      models: ["delta-5.3"],
    };
    const proxy = createProxy<Env>({ ...options, authenticate: () => null, plugins: [part] });
    await expect(eraseUser({ ...proxy }, { KEY }, "ann")).rejects.toThrow(
      "give the proxy that createProxy made",
    );
    await expect(eraseUser(proxy, { KEY }, "")).rejects.toThrow("user: give the id");
    await expect(exportUser(proxy, { KEY }, undefined as never)).rejects.toThrow("user: give the id");
  });
});

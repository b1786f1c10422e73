import { describe, expect, test, vi } from "vitest";
import { expectLog } from "./support/expected-log.js";
import { createRequest, openProxy } from "./support/in-process.js";
import { SECRET, signId } from "./support/sign.js";

expectLog("502 upstream_type");

type Options = Parameters<typeof openProxy>[0];
type Respond = Parameters<typeof openProxy>[1];

/** Opens a proxy with videos, assets and a secret for their ids. A bearer token is its user's id. */
function openTenants(respond?: Respond, options: Options = {}) {
  const opened = openProxy(
    {
      routes: ["chat", "videos", "assets"],
      secret: () => SECRET,
      authenticate: ({ headers }) => ({ id: headers.get("authorization")?.slice(7) ?? "" }),
      gateway: { assetLookup: "/gamma/asset/GetAsset" },
      ...options,
    },
    respond,
  );
  const as = (user: string) => ({ authorization: `Bearer ${user}` });
  return {
    ...opened,
    poll: (id: string, user = "user-1") =>
      opened.call(createRequest({ method: "GET", path: `/v1/video/generations/${id}`, headers: as(user) })),
    post: (path: string, body: unknown, user = "user-1") =>
      opened.call(createRequest({ path, headers: as(user), body })),
  };
}

const video = "/v1/video/generations";
const order = { model: "beta3.0-video", input: { prompt: "a bird" } };
const receipt = { id: "t-1", task_id: "t-1", object: "video", model: "beta3.0-video", status: "queued" };
const result = {
  code: "success",
  message: "",
  data: {
    task_id: "t-1",
    status: "SUCCESS",
    result_url: "https://cdn.example/t-1.mp4",
    data: { output: [{ task_id: "t-1" }], usage: { duration: 5 } },
  },
};
/** A well-formed id that no user ever got. */
const unknown = `t-1_${"A".repeat(22)}`;

describe("an id of a task", () => {
  test("gets its user's mark in the receipt, and nothing else changes", async () => {
    const { post } = openTenants(() => Response.json(receipt));
    const { text } = await post(video, order);
    const marked = signId("t-1");
    expect(JSON.parse(text)).toEqual({ ...receipt, id: marked, task_id: marked });
    expect(JSON.parse((await post(video, order, "user-2")).text).id).not.toBe(marked);
  });

  test("is not found if any character of its mark is changed", async () => {
    const { poll } = openTenants(() => Response.json(result));
    const marked = signId("t-1");
    expect((await poll(marked)).status).toBe(200);
    for (let at = "t-1".length; at < marked.length; at += 1) {
      const changed = marked.slice(0, at) + (marked[at] === "A" ? "B" : "A") + marked.slice(at + 1);
      expect((await poll(changed)).status, changed).toBe(404);
    }
  });

  test("is marked in a receipt that the gateway wraps too", async () => {
    const { post } = openTenants(() => Response.json({ code: "success", data: { task_id: "t-1" } }));
    const { text } = await post(video, order);
    expect(JSON.parse(text)).toEqual({ code: "success", data: { task_id: signId("t-1") } });
  });

  test("goes back to the gateway without its mark, and comes again with it at any depth", async () => {
    const { poll, reached } = openTenants(() => Response.json(result));
    const { status, text } = await poll(signId("t-1"));
    expect(status).toBe(200);
    expect(reached.map(({ url }) => url)).toEqual(["https://gateway.example/v1/video/generations/t-1"]);
    const marked = signId("t-1");
    expect(JSON.parse(text)).toEqual({
      ...result,
      data: {
        ...result.data,
        task_id: marked,
        data: { output: [{ task_id: marked }], usage: { duration: 5 } },
      },
    });
  });

  test("keeps its allowed characters, and is refused if the gateway could read others into it", async () => {
    const { poll, reached } = openTenants();
    const longest = `${"a_-Z9".repeat(25)}abc`;
    await poll(signId(longest));
    expect(reached.map(({ url }) => url.split("/").at(-1))).toEqual([longest]);
    expect((await poll(signId(`${longest}d`))).status).toBe(404);
    expect(reached).toHaveLength(1);
  });

  test("of another user is refused with the same bytes as an unknown id (case 34)", async () => {
    const { poll, reached } = openTenants();
    const foreign = await poll(signId("t-1"), "user-2");
    const none = await poll(unknown, "user-2");
    expect([foreign.status, foreign.error?.["code"]]).toEqual([404, "task_not_found"]);
    expect(foreign.text).toBe(none.text);
    const named = (response: typeof none) =>
      [...response.headers].filter(([name]) => name !== "x-request-id");
    expect(named(foreign)).toEqual(named(none));
    expect(reached).toEqual([]);
  });

  test.each([
    ["without a mark (case 34)", "t-1"],
    ["with a mark of nothing (case 34)", "t-1_"],
    ["with a mark that is cut (case 34)", signId("t-1").slice(0, -1)],
    ["with a mark that goes on (case 34)", `${signId("t-1")}A`],
    ["with a mark in capitals (case 34)", signId("t-1").toUpperCase()],
    ["with another task's mark (case 34)", `t-2_${signId("t-1").slice(-22)}`],
    ["with an asset's mark (case 34)", signId("t-1", "asset")],
    ["with a mark of another secret (case 34)", signId("t-1", "task", "user-1", `${SECRET}!`)],
    ["with a user's id in the task's (case 34)", signId("t-1:user-1", "task", "").replace(":user-1", "")],
    ["with two marks (case 34)", signId(signId("t-1")).replace(/^t-1_/, "t-1__")],
    ["that is a mark alone (case 34)", `_${signId("t-1").slice(-22)}`],
  ])("%s is not found, and nothing is sent to the gateway", async (_, id) => {
    const { poll, reached } = openTenants();
    expect([(await poll(id)).status, reached.length]).toEqual([404, 0]);
  });

  test("stays good while the secret is changed, and new ones are marked with the new secret", async () => {
    const next = `${SECRET}-next`;
    const { poll, post } = openTenants(() => Response.json(receipt), { secret: () => [next, SECRET] });
    expect((await poll(signId("t-1"))).status).toBe(200);
    expect((await poll(signId("t-1", "task", "user-1", next))).status).toBe(200);
    expect(JSON.parse((await post(video, order)).text).id).toBe(signId("t-1", "task", "user-1", next));
    // the client's id stays the same, whichever secret has signed it
    expect(JSON.parse((await poll(signId("t-1"))).text).id).toBe(signId("t-1"));
    const after = openTenants(undefined, { secret: () => next });
    expect((await after.poll(signId("t-1"))).status).toBe(404);
  });

  test("is unchanged where all callers are one user and there is no secret", async () => {
    const { post, poll, reached } = openTenants(() => Response.json(receipt), {
      authenticate: "public",
      secret: undefined,
    });
    expect(JSON.parse((await post(video, order)).text)).toEqual(receipt);
    expect((await poll("t-1")).status).toBe(200);
    expect((await poll("a".repeat(129))).status).toBe(404);
    expect(reached).toHaveLength(2);
  });

  test("is not passed on in a response that can't be read", async () => {
    const broken = () => new Response('{"id":"t-1"', { headers: { "content-type": "application/json" } });
    const { post } = openTenants(broken);
    const { status, text, error } = await post(video, order);
    expect([status, error?.["code"]]).toEqual([502, "upstream_type"]);
    expect(text).not.toContain("t-1");
  });

  test.each([["null"], ["[]"], ['"t-1"'], ["{}"], ['{"id":""}'], ['{"data":null}'], ['{"id":7}']])(
    "may be missing from a receipt: %s passes as it is",
    async (text) => {
      const { post } = openTenants(
        () => new Response(text, { headers: { "content-type": "application/json" } }),
      );
      expect((await post(video, order)).text).toBe(text);
    },
  );
});

describe("an asset", () => {
  const asset = {
    model: "gamma-asset",
    GroupId: "g",
    Name: "n",
    AssetType: "Image",
    URL: "https://a.example/b.png",
  };

  test("leaves with the mark of its user", async () => {
    const { post } = openTenants(() => Response.json({ Id: "a-1" }));
    const { text } = await post("/gamma/asset/CreateAsset", asset);
    expect(JSON.parse(text)).toEqual({ Id: signId("a-1", "asset") });
  });

  test("is used in each address of a video's body under the gateway's own name", async () => {
    const { post, sent } = openTenants(undefined, { allowFields: ["more"] });
    const body = (uri: string, other: string) => ({
      content: [
        { type: "text", text: `like asset://${signId("a-1", "asset")}` },
        { type: "image_url", image_url: { url: uri } },
        { type: "image_url", image_url: { url: other } },
        { type: "video_url", video_url: { url: uri } },
        { type: "audio_url", audio_url: { url: other } },
        { type: "video_url", video_url: uri },
      ],
      more: { deep: [[uri]] },
      model: "gamma-video-2.0",
    });
    expect(
      (await post(video, body(`asset://${signId("a-1", "asset")}`, `asset://${signId("b", "asset")}`)))
        .status,
    ).toBe(200);
    expect(await sent()).toEqual(body("asset://a-1", "asset://b"));
  });

  const bodies = (url: string) => [
    { model: "gamma-video-2.0", content: [{ type: "image_url", image_url: { url } }] },
    { model: "gamma-video-2.0", content: [{ type: "video_url", video_url: { url } }] },
    { model: "gamma-video-2.0", content: [{ type: "audio_url", audio_url: { url } }] },
    // the spec does not show these shapes: the address alone passes, too
    { model: "gamma-video-2.0", content: [{ type: "video_url", video_url: url }] },
    { ...order, input: { prompt: "a", anything: { at: ["all", url] } } },
  ];

  test.each([
    ["of another user", `asset://${signId("a-1", "asset", "user-2")}`],
    ["without a mark", "asset://a-1"],
    ["with a task's mark", `asset://${signId("a-1")}`],
    ["with a mark that is cut", `asset://${signId("a-1", "asset").slice(0, -1)}`],
  ])("%s is not found in a video's body, and nothing is sent", async (_, url) => {
    const { post, reached } = openTenants(undefined, { mediaURLs: "any", allowFields: ["input.anything"] });
    for (const body of bodies(url)) {
      const { status, error } = await post(video, body);
      expect([status, error?.["code"]]).toEqual([404, "asset_not_found"]);
    }
    expect(reached).toEqual([]);
  });

  test.each(["a=bc", "folder/name", "=", "QUJDRA=="])(
    "a text of the letters of Base64 that is no image is no file: %s (case 30)",
    async (url) => {
      const { post, reached } = openTenants();
      const body = { model: "beta3.0-video", input: { media: [{ type: "first_frame", url }] } };
      const { status, error } = await post(video, body);
      expect([status, error?.["code"], reached.length]).toEqual([400, "media_not_allowed", 0]);
    },
  );

  test.each([
    ["in capitals", `ASSET://${signId("a-1", "asset")}`],
    ["in capitals without a mark", "Asset://a-1"],
    ["behind a space", ` asset://${signId("a-1", "asset")}`],
    ["before a space", `asset://${signId("a-1", "asset")} `],
    ["behind a line break", "\nasset://a-1"],
    ["with a tab within", "as\tset://a-1"],
    ["with a line break before its slashes", "asset:\n//a-1"],
    ["behind a control character", "\u0001asset://a-1"],
    ["with a long s", "a\u017fset://a-1"],
    ["with one slash", "asset:/a-1"],
    ["with no slash", "asset:a-1"],
    ["with a path", `asset://${signId("a-1", "asset")}/../b`],
    ["with no id", "asset://"],
  ])("an asset %s is refused for its shape before its user is checked (case 85)", async (_, url) => {
    const { post, reached } = openTenants(undefined, { mediaURLs: "any", allowFields: ["input.anything"] });
    for (const body of bodies(url)) {
      const { status, error } = await post(video, body);
      expect([status, error?.["code"]]).toEqual([400, "media_not_allowed"]);
      expect(error?.["message"]).toContain("must be asset://<id> for an asset");
    }
    expect(reached).toEqual([]);
  });

  test.each([
    ["beta3.0-video", (url: string) => ({ input: { media: [{ type: "first_frame", url }] } })],
    [
      "gamma-video-1-5-pro-251215",
      (url: string) => ({ content: [{ type: "image_url", image_url: { url }, role: "first_frame" }] }),
    ],
  ])(
    "a place of %s that takes no asset says so, also for an asset of the user (case 85)",
    async (model, body) => {
      const { post, reached } = openTenants();
      for (const url of [`asset://${signId("a-1", "asset")}`, "asset://a-1", "asset://"]) {
        const { status, error } = await post(video, { model, ...body(url) });
        expect([status, error?.["code"]]).toEqual([400, "media_not_allowed"]);
        expect(error?.["message"]).toContain("takes no asset");
      }
      expect(reached).toEqual([]);
    },
  );

  test("is not looked for in texts", async () => {
    const { post, reached } = openTenants();
    for (const content of ["Asset: gold. Is it safe?", "asset:\n- a house", "what does asset://x mean?"]) {
      const body = { model: "delta-5.3", messages: [{ role: "user", content }] };
      expect((await post("/v1/chat/completions", body)).status).toBe(200);
    }
    expect(reached).toHaveLength(3);
  });

  test("is refused in a chat, which takes no assets", async () => {
    const { post, reached } = openTenants();
    const content = [{ type: "image_url", image_url: { url: "asset://a-1" } }];
    const body = { model: "alpha-v4.1-flash", messages: [{ role: "user", content }] };
    expect((await post("/v1/chat/completions", body)).status).toBe(400);
    expect(reached).toEqual([]);
  });

  test("passes as it is where there is no secret", async () => {
    const { post, sent } = openTenants(undefined, { authenticate: "public", secret: undefined });
    const content = [{ type: "image_url", image_url: { url: "asset://a-1" } }];
    const body = { model: "gamma-video-2.0", content };
    await post(video, body);
    expect(await sent()).toEqual(body);
  });
});

test.each(["videos", "assets"] as const)(
  "%s without a secret are refused when the proxy is made, unless everybody is the same user",
  (name) => {
    const open = (options: Options) => () => openProxy({ routes: ["chat", name], ...options });
    expect(open({})).toThrow(/^secret: /);
    expect(open({ secret: SECRET as never })).toThrow(/^secret: /);
    expect(open({ authenticate: "public" })).not.toThrow();
    expect(open({ secret: () => SECRET })).not.toThrow();
  },
);

test.each([
  ["too short", "0123456789".repeat(3)],
  ["not set", undefined],
  ["a list of none", []],
  ["a list with one too short", [SECRET, "short"]],
  ["no text", { length: 40 } as never],
])("a secret that is %s gives 500, and is not in the log", async (_, secret) => {
  const log = vi.spyOn(console, "error").mockImplementation(() => {});
  const { poll, reached } = openTenants(undefined, { secret: () => secret });
  const { status, error } = await poll(signId("t-1"));
  expect([status, error?.["code"], reached.length]).toEqual([500, "misconfigured", 0]);
  expect(log.mock.calls.join()).toMatch(/secret: give at least 32/);
  expect(log.mock.calls.join()).not.toMatch(/0123456789|for-its-tests/);
  log.mockRestore();
});

describe("the user id that the gateway gets (case 29)", () => {
  const flash = { model: "alpha-v4.1-flash", messages: [], user_id: "somebody-else" };
  const readSentUser = async (user: string, body: object, options: Options = {}) => {
    const { post, sent } = openTenants(undefined, options);
    await post("/v1/chat/completions", body, user);
    return (await sent())["user_id"];
  };

  test("a pseudonym, always the same, another for each user and each secret, and never the id", async () => {
    const one = await readSentUser("ann@example.com", flash);
    expect(one).toMatch(/^[A-Za-z0-9_-]{22}$/);
    expect(await readSentUser("ann@example.com", { ...flash, user_id: "me" })).toBe(one);
    expect(await readSentUser("ann@example.com", { model: flash.model, messages: [] })).toBe(one);
    const others = [
      await readSentUser("bob@example.com", flash),
      await readSentUser("ann@example.com", flash, { secret: () => `${SECRET}!` }),
    ];
    expect(new Set([one, ...others]).size).toBe(3);
    expect([one, ...others].join()).not.toMatch(/ann|bob|somebody/);
  });

  test.each([
    ["by a model that does not list the field", { ...flash, model: "delta-5.3" }, {}],
    ["without a secret", flash, { routes: ["chat"], secret: undefined, gateway: {} }],
  ] as [string, object, Options][])("is absent %s, whatever the client sends", async (_, body, options) => {
    expect(await readSentUser("ann@example.com", body, options)).toBeUndefined();
  });
});

import { describe, expect, test } from "vitest";
import { openFileStore, png, readCode, SECRET, useClock } from "./support/file-store.js";

type Files = ReturnType<typeof openFileStore>;

const createVideo = (files: Files, url: string, user = "user-1") =>
  files.post(
    "/v1/video/generations",
    { model: "beta3.0-video", input: { media: [{ type: "first_frame", url }] } },
    user,
  );

describe("a link", () => {
  test("is refused with one changed character, without its signature, and at another path (case 71)", async () => {
    const { store, request } = openFileStore();
    const { url, id } = await store(png);
    for (const at of [1, 30, 46, 60].map((back) => url.length - back)) {
      const other = url[at] === "a" ? "b" : "a";
      expect((await request(url.slice(0, at) + other + url.slice(at + 1), { user: "" })).status).toBe(404);
    }
    for (const path of [`/v1/media/${id}`, "/v1/media/", `/v1/media/${"a".repeat(44)}`])
      expect((await request(path, { user: "" })).status).toBe(404);
  });

  test("needs no sign-in and counts in no rate limit, and everything else of the store needs both", async () => {
    const counted: string[] = [];
    const rateLimit = async ({ method, request }: { method: string; request: Request }) => {
      counted.push(`${method} ${new URL(request.url).pathname.replace(/[\w-]{44,}$/, "{id}")}`);
      return undefined;
    };
    const { store, request } = openFileStore({ proxy: { rateLimit }, options: { archive: true } });
    const { url, id } = await store(png);
    expect([
      (await request(url, { user: "" })).status,
      (await request(url, { user: "", method: "HEAD" })).status,
    ]).toEqual([200, 200]);
    expect(counted).toEqual(["POST /api/v1/uploads"]);
    for (const [method, path] of [
      ["GET", "/v1/uploads"],
      ["POST", "/v1/uploads"],
      ["GET", `/v1/uploads/${id}`],
      ["PATCH", `/v1/uploads/${id}`],
      ["DELETE", `/v1/uploads/${id}`],
      ["POST", "/v1/archive"],
    ] as const)
      expect([path, (await request(path, { user: "", method })).status]).toEqual([path, 401]);
    for (const method of ["POST", "PATCH", "DELETE", "PUT"])
      expect((await request(url, { user: "", method })).status).toBe(405);
    expect(counted).toHaveLength(1);
  });

  test("is refused to a page whose origin is not allowed", async () => {
    const { store, request } = openFileStore();
    const { url } = await store(png);
    const foreign = await request(url, { user: "", headers: { origin: "https://evil.example" } });
    expect(await readCode(foreign)).toEqual([403, "origin_not_allowed"]);
    const own = await request(url, { user: "", headers: { origin: "https://app.example" } });
    expect(own.headers.get("access-control-allow-origin")).toBe("https://app.example");
  });

  test("ends with its time, although its file is stored, and its owner gets a new one (case 75)", async () => {
    const clock = useClock();
    const hour = 3_600_000;
    const { store, request } = openFileStore({ options: { linkTtlMs: hour } });
    const { url, id, expiresAt } = await store(png);
    expect(expiresAt - Date.now()).toBeLessThanOrEqual(2 * hour);
    await clock.pass(2 * hour + 1000);
    expect((await request(url, { user: "" })).status).toBe(404);
    const { url: next } = (await (await request(`/v1/uploads/${id}`)).json()) as { url: string };
    expect([next === url, (await request(next, { user: "" })).status]).toEqual([false, 200]);
  });

  test("works while its secret is listed beside the new secret, and not after it is removed", async () => {
    const old = openFileStore();
    const { url } = await old.store(png);
    const open = (secrets: string[]) =>
      openFileStore({ bucket: old.bucket, options: { secret: () => secrets } });
    const next = "another secret of at least 32 characters, for tests";
    expect((await open([next, SECRET]).request(url, { user: "" })).status).toBe(200);
    expect((await open([next]).request(url, { user: "" })).status).toBe(404);
  });
});

describe("a link in a request", () => {
  test("is refused if it belongs to another user, before the gateway gets it (cases 69, 120)", async () => {
    const files = openFileStore();
    const { url } = await files.store(png, { user: "alice" });
    expect(await readCode(createVideo(files, url, "mallory"))).toEqual([400, "media_not_allowed"]);
    const image = [url];
    const drawn = files.post(
      "/v1/images/generations",
      { model: "gamma-image-5-0-260128", prompt: "a", image },
      "mallory",
    );
    expect(await readCode(drawn)).toEqual([400, "media_not_allowed"]);
    expect(files.sent).toEqual([]);
    expect((await createVideo(files, url, "alice")).status).toBe(200);
    expect(files.sent).toHaveLength(1);
  });

  test("is refused even if another plugin would respond first", async () => {
    const seen: string[] = [];
    const other = {
      send: async ({ user }: { user: { id: string } }) => {
        seen.push(user.id);
        return Response.json({ id: "t-1", status: "queued" });
      },
    };
    const files = openFileStore({ before: [other] });
    const { url } = await files.store(png, { user: "alice" });
    expect(await readCode(createVideo(files, url, "mallory"))).toEqual([400, "media_not_allowed"]);
    expect((await createVideo(files, url, "alice")).status).toBe(200);
    expect(seen).toEqual(["alice"]);
  });

  test("passes if it is of the same user and has the public address, whatever `mediaURLs` allows (case 69)", async () => {
    const files = openFileStore({
      options: { publicURL: "http://files.localhost:1/api/" },
      proxy: { mediaURLs: ({ host }) => host === "cdn.example" },
    });
    const { url } = await files.store(png);
    expect(url).toMatch(/^http:\/\/files\.localhost:1\/api\/v1\/media\//);
    expect((await createVideo(files, url)).status).toBe(200);
    expect((await createVideo(files, "https://cdn.example/a.png")).status).toBe(200);
    for (const other of [
      url.replace("files.localhost:1", "10.0.0.1"),
      "http://files.localhost:1/api/v1/media/x",
    ])
      expect(await readCode(createVideo(files, other))).toEqual([400, "media_not_allowed"]);
    expect(files.sent).toHaveLength(2);
  });

  test("is refused once it has expired, but a text may contain another user's link (case 120)", async () => {
    const clock = useClock();
    const files = openFileStore({ options: { linkTtlMs: 1000 } });
    const { url } = await files.store(png, { user: "alice" });
    const content = `what is at ${url}`;
    const chat = { model: "alpha-v4.1-flash", messages: [{ role: "user", content }] };
    expect((await files.post("/v1/chat/completions", chat, "mallory")).status).toBe(200);
    await clock.pass(10_000);
    expect(await readCode(createVideo(files, url, "alice"))).toEqual([400, "media_not_allowed"]);
  });
});

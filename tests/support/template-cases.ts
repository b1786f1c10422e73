import { createClient, streamChat } from "@sluice/core";
import { expect, test } from "vitest";
import { KEY } from "../../packages/worker-proxy/test/support/key.ts";
import { chat, chats, createVideo, runTemplate, secrets, signIn, video, videos } from "./template-suite.ts";
import { createToken, runTokenScript } from "./worker-template.ts";

/** Settings that close the Worker: the variables that differ, the missing bindings, and the option that the log names. */
type Closing = readonly [given: Record<string, string>, without: readonly string[], named: string];

export const closing: readonly Closing[] = [
  [{ GATEWAY_API_KEY: "" }, [], "apiKey: "],
  [{ PROXY_SECRET: "" }, [], "secret: "],
  [{ PROXY_SECRET: "short" }, [], "secret: "],
  [{ JWT_SECRET: "" }, [], "jwt: secret: "],
  [{ JWT_SECRET: "short" }, [], "jwt: secret: "],
  [{ GATEWAY_URL: "" }, [], "baseURL: "],
  [{ GATEWAY_URL: "http://gateway.example.com" }, [], "baseURL: "],
  [{ ORIGINS: "*" }, [], "origins: "],
  [{ PROXY_SECRET: "", PROXY_SECRET_OLD: secrets.PROXY_SECRET }, [], "secret: "],
  [{ GATEWAY_API_KEY: "", GATEWAY_API_KEY_OLD: KEY }, [], "apiKey: "],
  ...["RATE_LIMITER", "POLL_LIMITER"].map((binding) => [{}, [binding], `env.${binding}`] as const),
];
export const closingWithObjects: readonly Closing[] = [...closing, [{}, ["SLUICE"], "env.SLUICE"]];
const changedKeys = {
  GATEWAY_API_KEY: "sk-withdrawn",
  GATEWAY_API_KEY_OLD: KEY,
  PROXY_SECRET: "the next one, of 32 characters and more too",
  PROXY_SECRET_OLD: secrets.PROXY_SECRET,
};

/**
 * Registers the tests of one wrangler configuration of the Worker template.
 *
 * @param name file of the configuration
 * @param kibibytes limit of its bundle, at most 10 % above the measured size
 * @param closings settings with which the Worker refuses every request
 */
export function testTemplate(name: string, kibibytes: number, closings: readonly Closing[]): void {
  const deployed = runTemplate(name, (settings) => ({
    bare: { given: {} },
    changed: { given: { ...settings, ...changedKeys } },
    ...Object.fromEntries(
      closings.map(([given, without], index) => [`${index}`, { given: { ...settings, ...given }, without }]),
    ),
  }));

  test(`deploys, in a dry run, as less than ${kibibytes} KiB`, () => {
    const [, size] = /gzip: ([\d.]+) KiB/.exec(deployed.bundle.printed) ?? [];
    expect(Number(size)).toBeLessThan(kibibytes);
    expect(deployed.bundle.printed).toContain("env.RATE_LIMITER");
    expect(deployed.bundle.printed).not.toMatch(/warning|error|SECRET|API_KEY/i);
  });

  test("case 59: refuses every request without its secrets, and reports the reason only to its operator", async () => {
    const ada = await signIn("ada");
    const { request, logs } = deployed.other("bare");
    const health = await request(undefined, "/health");
    expect(health.status).toBe(503);
    expect(health.text).not.toMatch(/secret|key/i);
    expect((await request(undefined, chats, chat)).status).toBe(401);
    expect((await request(ada, chats, chat)).status).toBe(503);
    for (const missing of Object.keys(secrets))
      await expect.poll(() => logs.join("\n")).toContain(`env.${missing}`);
  });

  test.each(closings.map((closing, index) => [...closing, `${index}`] as const))(
    "case 59: with %o and without %o sends nothing, reports it in /health, and logs `%s`",
    async (_given, _without, named, index) => {
      const ada = await signIn("ada");
      deployed.emulator.reset();
      const { request, logs } = deployed.other(index);
      // the origins of a response are read before its path
      const status = named.startsWith("origins") ? 500 : 503;
      expect((await request(undefined, "/health")).status).toBe(status);
      await expect.poll(() => logs.join("\n")).toContain(named);
      const isOfVideos = /POLL_LIMITER/.test(named);
      const response = await (isOfVideos ? request(ada, `${videos}/a/events`) : request(ada, chats, chat));
      expect(response.status).toBeGreaterThanOrEqual(400);
      expect(deployed.emulator.requests).toEqual([]);
    },
  );

  test("case 52: refuses fields outside the spec, such as `n`", async () => {
    const ada = await signIn("ada-n");
    deployed.emulator.reset();
    for (const field of [{ n: 128 }, { fallbacks: ["dear"] }, { extra_body: { max_tokens: 9999 } }]) {
      const { status, error } = await deployed.worker.request(ada, chats, { ...chat, ...field });
      expect([status, error?.["code"]]).toEqual([400, "field_not_allowed"]);
    }
    expect(deployed.emulator.requests).toEqual([]);
  });

  test("case 48: responds to 8 MB of small values, and to other requests meanwhile", async () => {
    const [mallory, bob] = [await signIn("mallory"), await signIn("bob-48")];
    const zeros = `{"model":"delta-5.3","messages":[${"0,".repeat(4_000_000)}0]}`;
    const [attack, other] = await Promise.all([
      deployed.worker.request(mallory, chats, zeros),
      deployed.worker.request(bob, chats, chat),
    ]);
    expect([attack.status, other.status]).toEqual([400, 200]);
  });

  test("serves a chat of a user with a token of the template's script", async () => {
    const token = await runTokenScript("ada", secrets.JWT_SECRET);
    expect((await deployed.worker.request(token, chats, chat)).status).toBe(200);
  });

  test("serves a chat of a signed-in user only", async () => {
    expect((await deployed.worker.request(undefined, "/health")).text).toBe('{"status":"ok"}');
    expect((await deployed.worker.request(undefined, chats, chat)).status).toBe(401);
    const forged = await createToken("ada", "another secret, of 32 bytes and more");
    expect((await deployed.worker.request(forged, chats, chat)).status).toBe(401);
    const client = createClient({ baseURL: deployed.worker.address, apiKey: await signIn("ada") });
    expect((await streamChat(client, chat).result()).outcome).toBe("complete");
  });

  test("separates the videos of users, and limits their requests by the caps", async () => {
    const [ada, bob] = [await signIn("ada"), await signIn("bob")];
    deployed.emulator.reset();
    const id = await createVideo(deployed.worker, ada);
    // a request without the field gets the first value of the list
    expect(deployed.emulator.requests.at(-1)?.body).toMatchObject({ resolution: "720p" });
    expect((await deployed.worker.request(ada, `${videos}/${id}`)).status).toBe(200);
    expect((await deployed.worker.request(bob, `${videos}/${id}`)).error?.["code"]).toBe("task_not_found");
    const readCode = async (path: string, body: object) =>
      (await deployed.worker.request(ada, path, body)).error?.["code"];
    expect(await readCode(videos, { ...video, duration: 12 })).toBe("limit_exceeded");
    expect(await readCode(chats, { ...chat, max_tokens: 8193 })).toBe("limit_exceeded");
    expect(await readCode(videos, { ...video, model: "gamma-video-fast" })).toBe("model_not_allowed");
  });

  test("limits the requests of each user separately", async () => {
    const [busy, other] = [await signIn("busy"), await signIn("other")];
    const requestUnlisted = (token: string) =>
      deployed.worker.request(token, chats, { ...chat, model: "unlisted" });
    let response = await requestUnlisted(busy);
    // a minute may end during the test: then twice as many requests pass
    for (let attempt = 1; response.status === 403 && attempt <= 60; attempt += 1)
      response = await requestUnlisted(busy);
    expect([response.status, response.error?.["code"]]).toEqual([429, "rate_limited"]);
    expect(response.headers.get("retry-after")).toBe("60");
    expect((await requestUnlisted(other)).status).toBe(403);
  });

  test("accepts the old and the new key during a change, and both secrets", async () => {
    const ada = await signIn("ada");
    const id = await createVideo(deployed.worker, ada);
    expect((await deployed.other("changed").request(ada, `${videos}/${id}`)).status).toBe(200);
  });

  test("logs one line for each request, without the prompt and the token", async () => {
    const token = await signIn("writer");
    await deployed.worker.request(token, chats, {
      ...chat,
      messages: [{ role: "user", content: "a private question" }],
    });
    const readLines = () => deployed.worker.logs.filter((line) => line.includes("writer"));
    await expect.poll(readLines).not.toEqual([]);
    expect(readLines().map((line) => JSON.parse(line))).toEqual([
      expect.objectContaining({ route: "chat", status: 200, userId: "writer", model: "delta-5.3" }),
    ]);
    expect(deployed.worker.logs.join()).not.toMatch(/private|eyJ/);
  });
}

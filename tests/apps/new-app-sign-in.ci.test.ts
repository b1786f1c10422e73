import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";

/* The sign-in of all new apps, from the built files of their server. */

/** The build creates the server of an app, so the types of its modules are written here. */
const server = new URL("../../packages/create-sluice/dist/templates/deno/server/", import.meta.url);
type Env = Readonly<Record<"APP_URL" | "GATEWAY_URL" | "GATEWAY_API_KEY" | "SESSION_SECRET", string>>;
const { respond }: { respond: (request: Request, env: Env) => Promise<Response> } = await import(
  new URL("respond.ts", server).href
);
const {
  sign,
}: { sign: (purpose: string, user: string, seconds: number, secret: string) => Promise<string> } =
  await import(new URL("sign-in.ts", server).href);

const env: Env = {
  APP_URL: "https://chat.example.com",
  GATEWAY_URL: "http://127.0.0.1:9",
  GATEWAY_API_KEY: "sk-of-the-gateway",
  SESSION_SECRET: "a secret of 32 characters or more",
};
const devOrigin = "http://localhost:5173";
const post = (page: string, path: string, token?: string) =>
  respond(
    new Request(page + path, {
      method: "POST",
      headers: {
        origin: page,
        host: new URL(page).host,
        "content-type": "application/json",
        ...(token && { authorization: `Bearer ${token}` }),
      },
      // only a signed-in user gets the refusal of this unlisted model; nothing is sent
      body: JSON.stringify({ model: "unlisted", messages: [] }),
    }),
    env,
  );
const session = (page: string, token?: string) => post(page, "/api/session", token);
const chat = async (page: string, token?: string) =>
  (await (await post(page, "/api/v1/chat/completions", token)).json()).error.code;
const token = (purpose: "invite" | "session", user: string, secret = env.SESSION_SECRET) =>
  sign(purpose, user, 60, secret);

beforeEach(() => {
  vi.spyOn(console, "log").mockImplementation(() => {});
  vi.spyOn(console, "error").mockImplementation(() => {});
});
afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
});

test("The development user is signed in at once, and is marked as such", async () => {
  vi.stubEnv("NODE_ENV", "development");
  const opened = await (await session(devOrigin)).json();
  expect(opened).toMatchObject({ user: "development:user", isDevelopment: true });
  expect(await chat(devOrigin, opened.token)).toBe("model_not_allowed");
});

describe("the development user of a new app is refused by everything but this machine in development (case 170)", () => {
  test.each(["production", "", undefined, "staging"])("NODE_ENV %s signs no user in", async (mode) => {
    vi.stubEnv("NODE_ENV", mode);
    expect((await session(devOrigin)).status).toBe(401);
  });

  test.each(["http://192.168.1.4:5173", "http://evil.example:5173", "https://chat.example.com"])(
    "A development server that is reached as %s signs nobody in",
    async (page) => {
      vi.stubEnv("NODE_ENV", "development");
      expect((await session(page)).status).toBe(401);
      expect(await chat(page, await token("session", "development:user"))).not.toBe("model_not_allowed");
    },
  );

  test("A token of the development user is refused in production, also with the secret of production", async () => {
    vi.stubEnv("NODE_ENV", "production");
    const page = env.APP_URL;
    expect(await chat(page, await token("session", "development:user"))).toBe("invalid_api_key");
    expect((await session(page, await token("invite", "development:user"))).status).toBe(401);
  });

  test("A page of another origin is refused, in development too", async () => {
    vi.stubEnv("NODE_ENV", "development");
    const request = new Request(`${devOrigin}/api/v1/chat/completions`, {
      method: "POST",
      headers: { origin: "http://localhost:9999", authorization: `Bearer ${await token("session", "ada")}` },
    });
    expect((await respond(request, env)).status).toBe(403);
  });
});

describe("a link in production", () => {
  beforeEach(() => vi.stubEnv("NODE_ENV", "production"));

  test("A link opens a session of its user, and is no session itself", async () => {
    const invite = await token("invite", "ada");
    const opened = await (await session(env.APP_URL, invite)).json();
    expect(opened).toMatchObject({ user: "ada", isDevelopment: false, seconds: 3600 });
    expect(await chat(env.APP_URL, opened.token)).toBe("model_not_allowed");
    expect(await chat(env.APP_URL, invite)).toBe("invalid_api_key");
    expect((await session(env.APP_URL, opened.token)).status).toBe(401);
  });

  test("A link of another secret and an expired link open nothing", async () => {
    const foreign = await token("invite", "ada", "another secret of 32 characters or more");
    const expired = await sign("invite", "ada", -60, env.SESSION_SECRET);
    for (const link of [foreign, expired, "nonsense"])
      expect((await session(env.APP_URL, link)).status).toBe(401);
  });

  test("A server without its secret signs no user in, and tells only its operator", async () => {
    const closed = { ...env, SESSION_SECRET: "" };
    const request = new Request(`${env.APP_URL}/api/session`, {
      method: "POST",
      headers: { authorization: `Bearer ${await token("invite", "ada")}` },
    });
    const response = await respond(request, closed);
    expect([response.status, await response.text()]).toEqual([503, expect.not.stringContaining("SECRET")]);
    expect(console.error).toHaveBeenCalledWith(expect.stringContaining("SESSION_SECRET"), expect.anything());
  });
});

test("The proxy refuses a user's 31st request of a minute, and another user's first one passes", async () => {
  vi.stubEnv("NODE_ENV", "production");
  const start = Date.now();
  const now = vi.spyOn(Date, "now").mockReturnValue(start);
  const ada = await token("session", "busy");
  const codes = [];
  for (let requestCount = 1; requestCount <= 31; requestCount += 1) codes.push(await chat(env.APP_URL, ada));
  expect(codes.slice(-2)).toEqual(["model_not_allowed", "rate_limited"]);
  expect(await chat(env.APP_URL, await token("session", "other"))).toBe("model_not_allowed");
  now.mockReturnValue(start + 60_000);
  expect(await chat(env.APP_URL, ada)).toBe("model_not_allowed");
});

import { type Client, completeChat, isGatewayError } from "@sluice/core";
import { type Authenticate, createProxy, type ProxyEvent } from "@sluice/worker-proxy";
import { definePlugin } from "@sluice/worker-proxy/plugin";
import { afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import {
  type Issuer,
  openIssuer,
  secretToken,
} from "../../packages/worker-proxy/test/support/auth-issuer.ts";
import { writeFilesOfPage } from "../support/page-files.ts";
import { createChatRequest, GATEWAY_KEY, openNetwork } from "../support/recipe-network.ts";

/*
 * The page about signing in: `authenticate` of each service and the page's client, with tokens that have the claims of the
 * service and are signed by keys of this process.
 */

interface Service {
  readonly alg?: string;
  /** Host of the keys. */
  readonly host: string;
  readonly claims: Readonly<Record<string, unknown>>;
  /** Claims that must not pass, with the reason that the page names. */
  readonly refused: readonly (readonly [claims: object, reason: string])[];
}

const services: Readonly<Record<string, Service>> = {
  clerk: {
    host: "clerk.example.com",
    claims: {
      iss: "https://clerk.example.com",
      azp: "https://app.example.com",
      fva: [3, -1],
      sid: "sess_2hNvbWpTm0x1cQk",
      sts: "active",
      sub: "user_2hNvbXqJm4d0yRt",
      v: 2,
    },
    refused: [
      [{ azp: "https://other.example.com" }, 'unexpected "azp" claim value'],
      [{ aud: "something" }, 'unexpected "aud" claim value'],
      [{ iss: "https://other.clerk.accounts.dev" }, 'unexpected "iss" claim value'],
      [{ exp: -60 }, '"exp" claim timestamp check failed'],
    ],
  },
  auth0: {
    host: "acme.eu.auth0.com",
    claims: {
      iss: "https://acme.eu.auth0.com/",
      aud: ["https://gateway-proxy", "https://acme.eu.auth0.com/userinfo"],
      azp: "8Xk0pQ2mT7",
      scope: "openid profile",
      sub: "auth0|65f0c1d2e3",
    },
    refused: [
      [{ aud: "8Xk0pQ2mT7" }, 'unexpected "aud" claim value'],
      [{ iss: "https://acme.eu.auth0.com" }, 'unexpected "iss" claim value'],
    ],
  },
  supabase: {
    alg: "ES256",
    host: "abcdefgh.supabase.co",
    claims: {
      iss: "https://abcdefgh.supabase.co/auth/v1",
      aud: "authenticated",
      aal: "aal1",
      amr: [{ method: "password", timestamp: 1_760_000_000 }],
      app_metadata: { provider: "email" },
      email: "ada@example.com",
      is_anonymous: false,
      role: "authenticated",
      session_id: "c2d1a6f0-7d1e-4c25-9a52-1f1d34a8b0aa",
      sub: "0d6f1b6a-1f0a-4c8f-8a51-6a0b8f4e2c11",
    },
    refused: [
      [{ aud: undefined, iss: "supabase", role: "anon", sub: undefined }, 'missing required "aud" claim'],
      [{ is_anonymous: true }, "userId: gives no text of 1 to 255 characters"],
    ],
  },
  firebase: {
    host: "www.googleapis.com",
    claims: {
      iss: "https://securetoken.google.com/acme-1",
      aud: "acme-1",
      auth_time: 1_760_000_000,
      firebase: { identities: {}, sign_in_provider: "google.com" },
      sub: "Vd5xk2PqYbT1c9",
      user_id: "Vd5xk2PqYbT1c9",
    },
    refused: [
      [{ aud: "acme-2", iss: "https://securetoken.google.com/acme-2" }, 'unexpected "iss" claim value'],
      [
        { firebase: { identities: {}, sign_in_provider: "anonymous" } },
        "userId: gives no text of 1 to 255 characters",
      ],
    ],
  },
};

const events: { status: number; reason?: string; user?: string }[] = [];
beforeEach(() => {
  events.length = 0;
  vi.spyOn(console, "error").mockImplementation(() => {});
});
afterEach(() => {
  // the reason of each refusal is in the operator's log as well
  for (const [line] of vi.mocked(console.error).mock.calls)
    expect(line).toMatch(/^sluice proxy: (401 |503 authentication_unavailable)/);
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
  vi.unstubAllEnvs();
});

const files = writeFilesOfPage("docs/guides/sign-in.md");
const { createUserClient } = await files<{
  createUserClient(user: string, getToken: () => Promise<string | null>): Client;
}>("client.ts");

/** Opens a proxy with the `authenticate` of a service. What the page sends to its address reaches it. */
async function openProxy(service: string, hosts: Parameters<typeof openNetwork>[0] = {}, env: object = {}) {
  const { authenticate } = await files<{ authenticate: Authenticate<{ GATEWAY_API_KEY: string }> }>(
    `${service}.ts`,
  );
  const proxy = createProxy<{ GATEWAY_API_KEY: string }>({
    baseURL: "https://gateway.example.com",
    apiKey: ({ GATEWAY_API_KEY }) => GATEWAY_API_KEY,
    authenticate,
    origins: ["https://app.example.com"],
    models: ["delta-5.3"],
    plugins: [
      definePlugin({ onEvent: (event: ProxyEvent) => events.push(event as (typeof events)[number]) }),
    ],
  });
  const send = (request: Request) => proxy.fetch(request, { GATEWAY_API_KEY: GATEWAY_KEY, ...env });
  openNetwork({ ...hosts, "gateway-proxy.example.workers.dev": send });
  return { send };
}

const question = { model: "delta-5.3", messages: [{ role: "user", content: "Hello" }] } as const;

describe.each(Object.entries(services))("the sign-in of %s", (service, { alg, host, claims, refused }) => {
  // one for all tests: `authenticate` caches its keys
  let issuer: Issuer;
  beforeAll(async () => {
    issuer = await openIssuer(alg);
  });

  async function open() {
    await openProxy(service, { [host]: issuer.fetch });
    const token = (more: object = {}) => {
      // `exp` is seconds from now
      const { exp = 60, ...all }: Record<string, unknown> = { aud: undefined, ...claims, ...more };
      return issuer.token({ sub: all["sub"], exp: exp as number, more: all });
    };
    return { token };
  }

  test("lets its user ask, by the page's client", async () => {
    const { token } = await open();
    const { message } = await completeChat(
      createUserClient(String(claims["sub"]), () => token()),
      question,
    );
    expect(message.content).not.toBe("");
    expect(events).toMatchObject([{ status: 200, userId: claims["sub"] }]);
  });

  test.each(refused)(
    "refuses a token with %j, and the event has the reason of the page",
    async (more, reason) => {
      const { token } = await open();
      const pending = completeChat(
        createUserClient("me", () => token(more)),
        question,
      ).catch((error: unknown) => error);
      const error = await pending;
      expect(isGatewayError(error) && error.name === "APIError" && error.status).toBe(401);
      expect(events).toMatchObject([{ status: 401, reason }]);
      expect(JSON.stringify(error)).not.toContain(reason);
    },
  );

  test("refuses a page without a token", async () => {
    await open();
    await expect(
      completeChat(
        createUserClient("me", async () => null),
        question,
      ),
    ).rejects.toMatchObject({ status: 401 });
  });
});

describe("the sign-in of Auth.js", () => {
  const secret = "kX3v9Qm2Lr7Tz5Bw8Yc1Nf6Hd4Js0Pg2";

  async function open(env: object = { PROXY_TOKEN_SECRET: secret }) {
    vi.stubEnv("PROXY_TOKEN_SECRET", secret);
    const proxy = await openProxy("authjs", {}, env);
    const route = await files<{ GET: () => Promise<Response> }>("token-route.ts");
    return { ...proxy, route };
  }

  test("signs a token in the route of the app, with which the page asks", async () => {
    const { route, send } = await open();
    const getToken = async () => ((await (await route.GET()).json()) as { token: string }).token;
    await completeChat(createUserClient("ada", getToken), question);
    expect(events).toMatchObject([{ userId: "ada" }]);
    expect((await send(createChatRequest("Hello"))).status).toBe(401);
  });

  test("refuses a token of another secret", async () => {
    const { send } = await open();
    const token = await secretToken("another-secret-of-somebody-else-0123", {
      iss: "https://app.example.com",
    });
    expect((await send(createChatRequest("Hello", { authorization: `Bearer ${token}` }))).status).toBe(401);
    expect(events).toMatchObject([{ reason: "signature verification failed" }]);
  });

  test("is 503 with a short secret, and the log says so", async () => {
    const lines: string[] = [];
    vi.spyOn(console, "error").mockImplementation((line: string) => void lines.push(line));
    const { route, send } = await open({ PROXY_TOKEN_SECRET: "short" });
    const { token } = (await (await route.GET()).json()) as { token: string };
    expect((await send(createChatRequest("Hello", { authorization: `Bearer ${token}` }))).status).toBe(503);
    expect(lines.join()).toContain("jwt: secret: is shorter than 32 bytes");
  });
});

describe("the sign-in of Cloudflare Access", () => {
  const TAG = "4714c1358e65fe4b408ad6d432a5f878f08194bdb4752441fd56faefa9b2b6f2";
  const sub = "7335d417-61da-459d-899c-0a01c76a2f94";

  let issuer: Issuer;
  beforeAll(async () => {
    issuer = await openIssuer();
  });

  async function visit(aud: string | undefined) {
    const { send } = await openProxy("access", { "acme.cloudflareaccess.com": issuer.fetch });
    const iss = "https://acme.cloudflareaccess.com";
    const person = { email: "ada@example.com", type: "app", country: "DE" };
    const token = aud && (await issuer.token({ iss, aud: [aud], sub, more: person } as never));
    return send(createChatRequest("Hello", token ? { "cf-access-jwt-assertion": token } : {}));
  }

  test("lets in whom Access let in", async () => {
    expect((await visit(TAG)).status).toBe(200);
    expect(events).toMatchObject([{ userId: sub }]);
  });

  test.each([
    [undefined, "cf-access-jwt-assertion: is missing; the request bypassed Access"],
    ["another-application", 'unexpected "aud" claim value'],
  ])("refuses a request with the tag %s, with the reason of the page", async (aud, reason) => {
    expect((await visit(aud)).status).toBe(401);
    expect(events).toMatchObject([{ reason }]);
  });
});

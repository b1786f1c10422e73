import { cloudflareAccess, type JWTOptions, jwt } from "@sluice/worker-proxy/auth";
import { EncryptJWT } from "jose";
import { describe, expect, test } from "vitest";
import { openIssuer, secretToken } from "./support/auth-issuer.js";
import { expectNoPart, openAuthProxy, recordLog, rejected } from "./support/auth-proxy.js";
import { expectLog } from "./support/expected-log.js";
import { createRequest, openProxy } from "./support/in-process.js";

expectLog(": 401 ");

/* Tokens with the claims that each service documents, signed by keys of this process. */

const PAGE = "https://app.example.com";

interface Service {
  readonly alg: string;
  readonly options: Pick<JWTOptions, "issuer" | "audience" | "authorizedParties">;
  /** The claims of a user's token. */
  readonly claims: Readonly<Record<string, unknown>>;
  /** Claims that each make a token invalid. */
  readonly wrong: readonly object[];
}

const services: Readonly<Record<string, Service>> = {
  "Clerk, a session": {
    alg: "RS256",
    options: { issuer: "https://clerk.example.com", audience: false, authorizedParties: [PAGE] },
    claims: {
      azp: PAGE,
      fva: [3, -1],
      sid: "sess_2hNvbWpTm0x1cQk",
      sts: "active",
      sub: "user_2hNvbXqJm4d0yRt",
      v: 2,
      o: { id: "org_2hNvb", rol: "admin", slg: "acme" },
    },
    wrong: [{ azp: "https://other.example.com" }, { azp: undefined }, { aud: "a-service-of-mine" }],
  },
  "Auth0, an access token": {
    alg: "RS256",
    options: { issuer: "https://acme.eu.auth0.com/", audience: "https://gateway-proxy" },
    claims: {
      aud: ["https://gateway-proxy", "https://acme.eu.auth0.com/userinfo"],
      azp: "8Xk0pQ2mT7",
      scope: "openid profile",
      sub: "auth0|65f0c1d2e3",
    },
    wrong: [{ aud: "8Xk0pQ2mT7" }, { aud: "https://acme.eu.auth0.com/userinfo" }],
  },
  "Supabase, an access token": {
    alg: "ES256",
    options: { issuer: "https://abcdefgh.supabase.co/auth/v1", audience: "authenticated" },
    claims: {
      aud: "authenticated",
      aal: "aal1",
      amr: [{ method: "password", timestamp: 1_760_000_000 }],
      app_metadata: { provider: "email" },
      email: "ada@example.com",
      is_anonymous: false,
      role: "authenticated",
      session_id: "c2d1a6f0-7d1e-4c25-9a52-1f1d34a8b0aa",
      sub: "0d6f1b6a-1f0a-4c8f-8a51-6a0b8f4e2c11",
      user_metadata: {},
    },
    // the key that every page has
    wrong: [{ aud: undefined, iss: "supabase", role: "anon", sub: undefined }],
  },
  "Firebase, an id token": {
    alg: "RS256",
    options: { issuer: "https://securetoken.google.com/acme-1", audience: "acme-1" },
    claims: {
      aud: "acme-1",
      auth_time: 1_760_000_000,
      firebase: { identities: {}, sign_in_provider: "google.com" },
      sub: "Vd5xk2PqYbT1c9",
      user_id: "Vd5xk2PqYbT1c9",
    },
    wrong: [{ aud: "acme-2", iss: "https://securetoken.google.com/acme-2" }, { sub: "" }],
  },
};

describe.each(Object.entries(services))("%s", (_, { alg, options, claims, wrong }) => {
  /** Opens a proxy, and creates tokens with the service's `sub` and `iss`. A claim that is undefined is left out. */
  async function open() {
    const issuer = await openIssuer(alg);
    const jwks = new URL("/jwks.json", options.issuer);
    const authProxy = openAuthProxy(jwt({ ...options, jwks, fetch: issuer.fetch }));
    const token = (more: object) => {
      const all: Record<string, unknown> = { iss: options.issuer, aud: undefined, ...claims, ...more };
      return issuer.token({ sub: all["sub"], more: all });
    };
    return { authProxy, token };
  }

  test("lets its user in", async () => {
    const { authProxy, token } = await open();
    expect(await authProxy.sendToken(await token({}))).toEqual([200, claims["sub"]]);
  });

  test.each(wrong)("refuses a token with %j (case 109)", async (more) => {
    const { authProxy, token } = await open();
    expect(await authProxy.sendToken(await token(more))).toEqual(rejected);
  });
});

describe("Auth.js", () => {
  const secret = "kX3v9Qm2Lr7Tz5Bw8Yc1Nf6Hd4Js0Pg2";

  test("lets a user in by a token that the app signs", async () => {
    const authProxy = openAuthProxy(jwt({ secret: () => secret, issuer: PAGE, audience: "gateway-proxy" }));
    expect(await authProxy.sendToken(await secretToken(secret, { iss: PAGE }))).toEqual([200, "user-1"]);
  });

  test("encrypts its own session, which the proxy can't read: 401", async () => {
    const authProxy = openAuthProxy(jwt({ secret: () => secret, issuer: PAGE, audience: "gateway-proxy" }));
    const session = await new EncryptJWT({ name: "Ada", sub: "1", id: "1" })
      .setProtectedHeader({ alg: "dir", enc: "A256CBC-HS512", kid: "session" })
      .setExpirationTime("1h")
      .encrypt(new Uint8Array(64));
    expect(await authProxy.sendToken(session)).toEqual(rejected);
  });
});

test("Cloudflare Access lets its user in, and no service token that is not listed", async () => {
  const issuer = await openIssuer();
  const tag = "4714c1358e65fe4b408ad6d432a5f878f08194bdb4752441fd56faefa9b2b6f2";
  const team = "https://acme.cloudflareaccess.com";
  const { sendRequest } = openAuthProxy(
    cloudflareAccess({ teamDomain: "acme.cloudflareaccess.com", audience: tag, fetch: issuer.fetch }),
  );
  const person = { email: "ada@example.com", type: "app", identity_nonce: "6ei69kawdKzMIAPF", country: "DE" };
  const sub = "7335d417-61da-459d-899c-0a01c76a2f94";
  const token = await issuer.token({ iss: team, aud: [tag], sub, more: person });
  expect(await sendRequest({ "cf-access-jwt-assertion": token })).toEqual([200, sub]);
  const service = { type: "app", common_name: "e367826f93b8d71185e03fe518aff3b4.access" };
  const bot = await issuer.token({ iss: team, aud: [tag], sub: "", more: service });
  expect(await sendRequest({ "cf-access-jwt-assertion": bot })).toEqual(rejected);
});

describe("the reason of a 401", () => {
  /** The event of a request with this header, and the text of its response. */
  async function callTwice(authorization: string | undefined, options: object = {}) {
    const issuer = await openIssuer();
    const authenticate = jwt({
      jwks: "https://sign-in.example/jwks.json",
      issuer: "https://sign-in.example/",
      audience: "gateway-proxy",
      fetch: issuer.fetch,
      ...options,
    } as Parameters<typeof jwt>[0]);
    const { events, call } = openProxy({ authenticate });
    const lines = recordLog();
    const token = authorization ?? `Bearer ${await issuer.token({ aud: "somebody-else" })}`;
    const { status, error } = await call(createRequest({ headers: { authorization: token } }));
    await call(createRequest({ headers: { authorization: token } }));
    return { status, response: JSON.stringify(error), reason: events[0]?.reason, lines, token };
  }

  test.each([
    ["for another audience", undefined, 'unexpected "aud" claim value'],
    ["that is no token", "Bearer hello", "Invalid Compact JWS"],
    ["without a token", "Basic YWRhOnBhc3M=", "authorization: has no bearer token"],
  ])("%s is in the event and once in the log, and not in the response", async (_, header, reason) => {
    const { lines, response, token, ...rest } = await callTwice(header);
    expect(rest).toMatchObject({ status: 401, reason });
    expect(response).not.toContain(reason);
    // the log hides some words, which a header's name can contain
    expect(lines).toEqual([expect.stringMatching(/^sluice proxy: 401 \w+, request [\w-]+: /)]);
    expect(lines[0]).toContain(reason);
    expectNoPart(token.replace(/^\w+ /, ""), lines.join());
  });

  test("has nothing of the token", async () => {
    const { reason, lines } = await callTwice(
      `Bearer ${btoa('{"alg":"none"}')}.${btoa('{"sub":"secret-name"}')}.x`,
    );
    expect(reason).toBeTypeOf("string");
    expect(reason).not.toContain("secret-name");
    expect(lines.join()).not.toContain("secret-name");
  });
});

test("an audience of false needs authorized parties", () => {
  const options = { jwks: "https://sign-in.example/jwks.json", issuer: "https://sign-in.example/" };
  expect(() => jwt({ ...options, audience: false })).toThrow("authorizedParties: give the origins");
  expect(() => jwt({ ...options, audience: false, authorizedParties: [] })).toThrow("authorizedParties");
});

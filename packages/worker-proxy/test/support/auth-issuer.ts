import {
  CompactSign,
  type CryptoKey,
  exportJWK,
  type GenerateKeyPairResult,
  generateKeyPair,
  type JWK,
  SignJWT,
} from "jose";

export const ISSUER = "https://sign-in.example/";
export const AUDIENCE = "gateway-proxy";
export const JWKS = "https://sign-in.example/jwks.json";

interface Claims {
  readonly alg?: string;
  readonly kid?: string;
  readonly key?: CryptoKey | Uint8Array;
  readonly header?: Record<string, unknown>;
  readonly iss?: string;
  readonly aud?: string | string[];
  readonly sub?: unknown;
  /** Seconds from now. */
  readonly exp?: number | null;
  readonly nbf?: number;
  readonly more?: Record<string, unknown>;
}

export type Issuer = Awaited<ReturnType<typeof openIssuer>>;

/** A sign-in service of this process: it signs tokens, and it counts the requests for its keys. */
export async function openIssuer(alg = "RS256") {
  const keyRequests: Request[] = [];
  const pairs = [await createPair(alg, "key-1")];
  let respond: (request: Request) => Response | Promise<Response> = () => Response.json({ keys: keys() });
  const keys = (): JWK[] => pairs.map(({ jwk }) => jwk);

  return {
    /** Requests for the keys so far. */
    keyRequests,
    keys,
    fetch: async (request: Request) => {
      keyRequests.push(request);
      return respond(request);
    },
    /** Sets the response of the keys' address from now on. @default the keys */
    respondWith(next: typeof respond = () => Response.json({ keys: keys() })) {
      respond = next;
    },
    /** Adds a key, which signs all later tokens. The earlier keys stay valid. */
    async rotate() {
      pairs.push(await createPair(alg, `key-${pairs.length + 1}`));
    },
    /** A text that is signed like a token. */
    signed(text: string) {
      const { privateKey, jwk } = pairs[0] as (typeof pairs)[number];
      const header = { alg, kid: jwk.kid as string };
      return new CompactSign(new TextEncoder().encode(text)).setProtectedHeader(header).sign(privateKey);
    },
    /** A token for user-1, valid for an hour; `claims` replace its own. */
    token({ key, kid, ...claims }: Claims = {}) {
      const pair = pairs.find(({ jwk }) => jwk.kid === kid) ?? pairs.at(-1);
      const last = pair?.jwk.kid as string;
      return sign({ alg, kid: kid ?? last, key: key ?? (pair?.privateKey as CryptoKey), ...claims });
    },
  };
}

/** A token that is signed with a secret. */
export function secretToken(secret: string, claims: Claims = {}) {
  return sign({ alg: "HS256", key: new TextEncoder().encode(secret), ...claims });
}

/** Number of key pairs of an algorithm. They are taken in turn, because RSA keys take long to make; no test needs as many. */
const PAIRS = 5;
const made = new Map<string, { used: number; readonly pairs: GenerateKeyPairResult[] }>();

async function createPair(alg: string, kid: string) {
  const ring = made.get(alg) ?? { used: 0, pairs: [] };
  made.set(alg, ring);
  const at = ring.used % PAIRS;
  ring.used += 1;
  const { publicKey, privateKey } = ring.pairs[at] ?? (await generateKeyPair(alg));
  ring.pairs[at] = { publicKey, privateKey };
  return { privateKey, jwk: { ...(await exportJWK(publicKey)), kid, use: "sig" } as JWK };
}

function sign({ alg = "RS256", kid, key, header, exp = 3600, nbf, more, ...claims }: Claims) {
  const now = Math.floor(Date.now() / 1000);
  const { iss = ISSUER, aud = AUDIENCE } = claims;
  const sub = "sub" in claims ? claims.sub : "user-1";
  const payload = { iss, aud, sub, iat: now, ...(nbf !== undefined && { nbf: now + nbf }), ...more };
  const jwt = new SignJWT({ ...payload, ...(exp !== null && { exp: now + exp }) } as Record<string, unknown>);
  return jwt
    .setProtectedHeader({ alg, ...(kid && { kid }), ...header })
    .sign(key as CryptoKey, { crit: { x: true } });
}

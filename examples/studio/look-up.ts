/** What the Worker is given from outside. */
export interface Env {
  GATEWAY_URL: string;
  GATEWAY_API_KEY: string;
  /** The page's own address, and others that may call, separated by spaces. */
  ORIGINS: string;
}

const PATH = "/gamma/asset/GetAsset";
const ID = /^[A-Za-z0-9_-]{1,128}$/;
const MOST_BYTES = 1024;

/** Whether a request asks about an asset: the one path of the page's that the proxy's table does not have. */
export function isLookup({ method, url }: Request): boolean {
  return method === "POST" && new URL(url).pathname === PATH;
}

/** Asks the gateway about an asset. Nothing of the request is passed on but the id. */
export async function lookUp(request: Request, env: Env): Promise<Response> {
  const origin = request.headers.get("origin");
  if (origin !== null && !env.ORIGINS.split(" ").includes(origin)) return refusal(403, "origin_not_allowed");
  const id = await idIn(request);
  if (id === undefined) return refusal(400, "invalid_id");
  const { status, body } = await fetch(env.GATEWAY_URL + PATH, {
    method: "POST",
    headers: { authorization: `Bearer ${env.GATEWAY_API_KEY}`, "content-type": "application/json" },
    body: JSON.stringify({ Id: id }),
    redirect: "manual",
    signal: request.signal,
  });
  // the caller has no key that could be wrong, and follows nothing
  if (status === 401 || (status >= 300 && status < 400)) return refusal(502, "upstream_refused");
  return new Response(body, { status, headers: { "content-type": "application/json" } });
}

async function idIn(request: Request): Promise<string | undefined> {
  if (Number(request.headers.get("content-length") ?? Number.POSITIVE_INFINITY) > MOST_BYTES)
    return undefined;
  try {
    const { Id } = (await request.json()) as { Id?: unknown };
    return typeof Id === "string" && ID.test(Id) ? Id : undefined;
  } catch {
    return undefined;
  }
}

function refusal(status: number, code: string): Response {
  const message = `The lookup was refused: ${code.replaceAll("_", " ")}.`;
  return Response.json({ error: { message, type: "proxy_error", code } }, { status });
}

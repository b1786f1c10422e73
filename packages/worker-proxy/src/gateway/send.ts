import type { Admitted } from "../admitted.js";
import type { Route } from "../gates/path.js";
import { Refusal, unavailable } from "../refusal.js";
import type { Settings, Setup } from "../settings.js";
import { JSON_CHARACTERS, STALL_MS } from "./answer.js";
import type { Call } from "./call.js";
import { type Outgoing, passedHeadersOf, readText, refusalOf } from "./request.js";

/**
 * Returns the answer of an extension in the gateway's place, if one gives any.
 *
 * @throws {Refusal} 503 where the extension fails
 */
export async function extensionAnswer<Env>(
  { extensions, limits, meter }: Settings<Env>,
  route: Route,
  admitted: Admitted<Env>,
  call: Call,
): Promise<Response | undefined> {
  const answered = async () => {
    try {
      let answer = route.extension?.serve(admitted as Admitted<never>);
      for (const extension of extensions) answer ??= extension.send?.(admitted, meter !== undefined);
      return await answer;
    } catch (error) {
      // a refusal is the extension's answer, as it is
      if (error instanceof Refusal) throw error;
      throw unavailable("extension_unavailable", "a part of the proxy failed", "extensions failed", error);
    }
  };
  const limit = { ms: limits.headersMs, late: "upstream_timeout" } as const;
  return await call.wait(answered, "upstream_unreachable", limit);
}

/** Makes the request to the gateway: the table's path, the checked body, and headers of the proxy's own. */
export function outgoingOf<Env>(
  { path, method }: Route,
  { id, body }: Admitted<Env>,
  headers: Readonly<Record<string, string>>,
): Outgoing {
  return { method, path: id === undefined ? path : path.replace("{id}", id), body, headers };
}

/**
 * Asks about a task or an asset, or takes the answer that the same user had a moment ago.
 *
 * @throws {Refusal} the gateway's refusal, which is shared like an answer
 */
export async function poll<Env>(
  { limits, sharePoll }: Settings<Env>,
  setup: Setup,
  { path, body }: Outgoing,
  { user }: Admitted<Env>,
  call: Call,
  ask: () => Promise<Response>,
): Promise<Response> {
  const key = JSON.stringify([user.id, setup.baseURL, path, body]);
  const shared = () =>
    sharePoll(key, async () => {
      const response = await ask();
      if (!response.ok) throw await refusalOf({ response, call, isExtensions: false }, setup, limits);
      const text = await readText({ response, call }, limits.stallMs ?? STALL_MS, JSON_CHARACTERS);
      const type = response.headers.get("content-type") ?? "";
      const headers = { ...passedHeadersOf(response, setup.guarded), "content-type": type };
      return { status: response.status, headers, text };
    });
  const limit = { ms: limits.headersMs, late: "upstream_timeout" } as const;
  const { status, headers, text } = await call.wait(shared, "upstream_cut", limit);
  // a 204 has no body, not even an empty one
  return new Response(text || null, { status, headers });
}

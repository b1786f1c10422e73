import type { Admitted, Extension, RouteName } from "../admitted.js";
import type { Route } from "../gates/path.js";
import { Refusal } from "../refusal.js";
import type { Settings } from "../settings.js";
import type { Call } from "./call.js";
import { openKeyWatch } from "./keys.js";

/* Loaded where the proxy has extensions. */

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
      throw new Refusal("extension_unavailable", { problem: "extensions failed", cause: error });
    }
  };
  const limit = { ms: limits.headersMs, late: "upstream_timeout" } as const;
  return await call.wait(answered, "upstream_unreachable", limit);
}

/** Returns the headers of an answer that come from extensions: their stream's id, and their offers. */
export function extensionHeaders(
  extensions: readonly Extension<never>[],
  { headers }: Response,
  route: RouteName,
  keys: readonly string[],
): Record<string, string> {
  const stream = headers.get("x-stream-id") ?? "";
  const isStream = route === "chat" && /^[\w-]{1,128}$/.test(stream) && !openKeyWatch(keys)(stream);
  const offers = extensions.flatMap(({ offers }) => offers?.[route] ?? []);
  return {
    ...(isStream && { "x-stream-id": stream }),
    ...(offers.length > 0 && { "x-sluice-offers": offers.join(", ") }),
  };
}

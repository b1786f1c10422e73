import { matchRoute, type Routes } from "./router.js";

/**
 * Suggests the right path for a path without an endpoint. Returns an empty string if no endpoint is similar.
 *
 * @param origin origin of the gateway, for its base URLs
 * @param models ids to name in place of a list of models
 */
export function describePathHint(
  path: string,
  routes: Routes,
  origin: string,
  models: readonly string[],
): string {
  const parts = path.split("/").filter((part) => part !== "");
  const suggestion = findSimilarPath(parts, routes);
  if (suggestion !== undefined) {
    const hasOtherSlashesOnly = suggestion === `/${parts.join("/")}`;
    const bases = ` An OpenAI client needs the base URL ${origin}/v1, a Sluice client ${origin}.`;
    return `Did you mean ${suggestion}?${hasOtherSlashesOnly ? "" : bases}`;
  }
  const last = parts.at(-1);
  if (last === "models") return `The gateway has no list of models; its models are ${models.join(", ")}.`;
  const isOtherChat = last === "responses" || last === "completions";
  return isOtherChat ? "Ask by chat completions: POST /v1/chat/completions." : "";
}

/** Finds the endpoint that a path ends with, if the path has more segments before it or lacks `/v1`. */
function findSimilarPath(parts: readonly string[], routes: Routes): string | undefined {
  // the emulator's own routes, such as `/files/{name}`, would match paths of other gateways
  const gateway = Object.entries(routes).filter(([route]) => /^\/(?:v1|gamma|epsilon)\//.test(route));
  const known = Object.fromEntries(gateway);
  return parts
    .map((_, start) => `/${parts.slice(start).join("/")}`)
    .flatMap((end) => [end, `/v1${end}`])
    .find((end) => matchRoute(known, end));
}

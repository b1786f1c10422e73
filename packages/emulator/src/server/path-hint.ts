import { match, type Routes } from "./router.js";

/**
 * Says what was probably meant by a path without an endpoint; empty if nothing is near.
 *
 * @param origin origin of the gateway, for its base URLs
 * @param models ids that are named where a list of models was asked for
 */
export function hintAbout(path: string, routes: Routes, origin: string, models: readonly string[]): string {
  const parts = path.split("/").filter((part) => part !== "");
  const meant = pathWithEndpoint(parts, routes);
  if (meant !== undefined) {
    const bases = `An OpenAI client needs the base URL ${origin}/v1, a Sluice client ${origin}.`;
    return `Did you mean ${meant}?${meant === `/${parts.join("/")}` ? "" : ` ${bases}`}`;
  }
  const last = parts.at(-1);
  if (last === "models") return `The gateway has no list of models; its models are ${models.join(", ")}.`;
  const isOtherChat = last === "responses" || last === "completions";
  return isOtherChat ? "Ask by chat completions: POST /v1/chat/completions." : "";
}

/** Finds the endpoint at the end of a path: with too much before it, or without its `/v1`. */
function pathWithEndpoint(parts: readonly string[], routes: Routes): string | undefined {
  // the others are the emulator's own, and their names are words that other gateways have too
  const gateway = Object.entries(routes).filter(([route]) => /^\/(?:v1|gamma|epsilon)\//.test(route));
  const known = Object.fromEntries(gateway);
  return parts
    .map((_, start) => `/${parts.slice(start).join("/")}`)
    .flatMap((end) => [end, `/v1${end}`])
    .find((end) => match(known, end));
}

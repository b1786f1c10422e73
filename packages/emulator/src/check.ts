import type { Exchange } from "./exchange.js";
import { type Answer, badRequest } from "./http.js";

/** What a check of the core's finds. */
export interface Findings {
  readonly issues: readonly { readonly path: string; readonly message: string }[];
  readonly warnings: readonly { readonly path: string; readonly rule: string }[];
}

/** A body, or the answer that refuses it. */
export type Checked<Body> = { readonly body: Body } | { readonly refusal: Answer };

/** The parsed JSON of a request. */
export function parseBody({ request, text }: Exchange): Checked<unknown> {
  if (!/^application\/json\b/i.test(request.headers.get("content-type") ?? "")) {
    const message = "The body must be JSON, sent with `Content-Type: application/json`.";
    return { refusal: badRequest(message, "content-type") };
  }
  try {
    return { body: JSON.parse(text) };
  } catch (error) {
    const reason = error instanceof Error ? error.message : error;
    return { refusal: badRequest(`The body is not valid JSON: ${reason}`, "body") };
  }
}

/**
 * Holds a body against the rules that the client checks too, and leaves out the fields that its model is not known to
 * have: whatever they hold, they change nothing.
 *
 * @param models the models of this endpoint, by id
 */
export function checkAgainst<Body>(
  body: unknown,
  check: (body: unknown) => Findings,
  models: object,
): Checked<Body> {
  const { issues, warnings } = check(body);
  const [first] = issues;
  if (!first) {
    const unknown = warnings.filter(({ rule }) => rule.endsWith(".unknown-field")).map(({ path }) => path);
    const fields = Object.entries(body as object).filter(([name]) => !unknown.includes(name));
    return { body: Object.fromEntries(fields) as Body };
  }
  const model = (body as { model?: unknown } | null)?.model;
  if (first.path === "model" && typeof model === "string" && !Object.hasOwn(models, model)) {
    const message = `model must be one of ${Object.keys(models).join(", ")}.`;
    return { refusal: badRequest(message, "model", "model_not_found") };
  }
  const message = issues.map((issue) => `${issue.path || "body"} ${issue.message}`).join("; ");
  return { refusal: badRequest(message, first.path) };
}

/** The checked JSON of a request. */
export function checkBody<Body>(
  exchange: Exchange,
  check: (body: unknown) => Findings,
  models: object,
): Checked<Body> {
  const parsed = parseBody(exchange);
  return "refusal" in parsed ? parsed : checkAgainst<Body>(parsed.body, check, models);
}

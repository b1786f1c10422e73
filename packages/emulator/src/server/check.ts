import { describeThrown, formatSuggestion } from "@sluice/core/extend";
import type { ModelInfo } from "@sluice/core/schemas";
import type { Exchange } from "./exchange.js";
import { createBadRequest, type HandlerResponse } from "./http.js";
import { listModelIds } from "./model-ids.js";

/** A broken rule, or a field that the gateway may ignore. */
export interface Issue {
  readonly path: string;
  readonly message: string;
  readonly rule: string;
}

/** Result of a check of the core. */
export interface Findings {
  readonly issues: readonly Issue[];
  readonly warnings: readonly Issue[];
}

/** A validated body, or the response that refuses it. */
export type Checked<Body> = { readonly body: Body } | { readonly refusal: HandlerResponse };

/** Parses the JSON of a request. */
export function parseBody({ request, text }: Exchange): Checked<unknown> {
  if (!/^application\/json\b/i.test(request.headers.get("content-type") ?? "")) {
    const message = "The body must be JSON, sent with `Content-Type: application/json`.";
    return { refusal: createBadRequest(message, "content-type") };
  }
  try {
    return { body: JSON.parse(text) };
  } catch (error) {
    return { refusal: createBadRequest(`The body is not valid JSON: ${describeThrown(error)}`, "body") };
  }
}

/**
 * Validates a body with the schemas of the core (wire, 4.3). Fields that the spec does not list for the model are
 * recorded and removed (wire, 4.1).
 *
 * @param kind kind of the models of this endpoint
 */
export function validate<Body>(
  { record }: Exchange,
  body: unknown,
  check: (body: unknown) => Findings,
  kind: ModelInfo["kind"],
): Checked<Body> {
  const { issues, warnings } = checkWithKind(body, check, kind);
  const unknown = warnings.filter(({ rule }) => rule.endsWith(".unknown-field"));
  record.unknownFields = unknown.map(({ path }) => path);
  const [first] = issues;
  if (!first) {
    const fields = Object.entries(body as object).filter(([name]) => !record.unknownFields.includes(name));
    return { body: Object.fromEntries(fields) as Body };
  }
  if (first.rule === WRONG_MODEL && typeof Object(body).model === "string")
    return {
      // a message that ends with a suggestion ends with "?"
      refusal: createBadRequest(`model ${first.message}.`.replace("?.", "?"), "model", "model_not_found"),
    };
  const message = issues.map((issue) => `${issue.path || "body"} ${issue.message}`).join("; ");
  return { refusal: createBadRequest(message, first.path) };
}

const WRONG_MODEL = "model";

/** Validates a body of an endpoint, which accepts models of one kind only. */
export function checkWithKind(
  body: unknown,
  check: (body: unknown) => Findings,
  kind: ModelInfo["kind"],
): Findings {
  const { model }: { readonly model?: unknown } = Object(body);
  const known: readonly string[] = listModelIds(kind);
  if (typeof model === "string" && known.includes(model)) return check(body);
  const hint = typeof model === "string" ? formatSuggestion(model, known) : "";
  const message = `must be one of ${known.join(", ")}${hint}`;
  return { issues: [{ path: "model", message, rule: WRONG_MODEL }], warnings: [] };
}

/** Parses and validates the JSON of a request. */
export function checkBody<Body>(
  exchange: Exchange,
  check: (body: unknown) => Findings,
  kind: ModelInfo["kind"],
): Checked<Body> {
  const parsed = parseBody(exchange);
  return "refusal" in parsed ? parsed : validate<Body>(exchange, parsed.body, check, kind);
}

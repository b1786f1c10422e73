import type { ProxyPlugin } from "./api/plugin.js";
import { definePlugin } from "./define-plugin.js";

type Body = Record<string, unknown>;

const JSON_ONLY = "Answer with JSON only, without any other text.";

/**
 * Accepts forms of `response_format` that other clients send: a `json_schema`, a `schema` beside `json_object`, and
 * `json_object` for a model without it. The schema becomes a system message before the others, and `json_object`
 * stays if the model has it. The gateway does not hold the response to the schema. Without this plugin the proxy refuses
 * these forms, and the error says what to send instead.
 *
 * @example
 * ```ts
 * createProxy<Env>({ ...options, plugins: [adaptJSONSchema()] });
 * ```
 */
export function adaptJSONSchema(): ProxyPlugin {
  return definePlugin({
    adapt(body, hasField, route) {
      if (route === "chat") adapt(body, hasField);
      return undefined;
    },
  });
}

/** Does not change any other `response_format`: the check of fields refuses it. */
function adapt(body: Body, hasField: (path: string) => boolean): void {
  const { response_format: format, messages } = body as { response_format?: Body; messages?: unknown };
  const type = format?.["type"];
  if (!format || !Array.isArray(messages) || (type !== "json_schema" && type !== "json_object")) return;
  const hasMode = hasField("response_format");
  // some clients write the schema beside `json_object`
  const { schema } = type === "json_object" ? format : ((format["json_schema"] ?? {}) as Body);
  const hasSchema = typeof schema === "object" && schema !== null;
  if (!hasSchema && (type === "json_schema" || hasMode)) return;
  const fit = hasSchema ? ` The JSON must fit this JSON Schema:\n${JSON.stringify(schema)}` : "";
  body["messages"] = [{ role: "system", content: JSON_ONLY + fit }, ...messages];
  if (hasMode) body["response_format"] = { type: "json_object" };
  else delete body["response_format"];
}

import { type Field, hasField } from "./field-table.js";

type Body = Record<string, unknown>;

const JSON_ONLY = "Answer with JSON only, without any other text.";

/**
 * Writes a request for JSON in the gateway's own way: a JSON Schema becomes an instruction, and `response_format` is
 * `json_object` where the model has it, or an instruction too. What is no such request stays, and is refused later.
 */
export function adaptSchema(body: Body, table: Field): void {
  const { response_format: format, messages } = body as { response_format?: Body; messages?: unknown };
  const type = format?.["type"];
  if (!format || !Array.isArray(messages) || (type !== "json_schema" && type !== "json_object")) return;
  const hasMode = hasField(table, "response_format");
  // some clients write the schema beside `json_object`
  const { schema } = type === "json_object" ? format : ((format["json_schema"] ?? {}) as Body);
  const hasSchema = typeof schema === "object" && schema !== null;
  if (!hasSchema && (type === "json_schema" || hasMode)) return;
  const fit = hasSchema ? ` The JSON must fit this JSON Schema:\n${JSON.stringify(schema)}` : "";
  body["messages"] = [{ role: "system", content: JSON_ONLY + fit }, ...messages];
  if (hasMode) body["response_format"] = { type: "json_object" };
  else delete body["response_format"];
}

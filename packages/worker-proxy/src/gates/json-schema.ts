import { type Field, hasField } from "./field-table.js";

type Body = Record<string, unknown>;

/**
 * Writes a request for an answer by a JSON Schema in the gateway's own way: the schema becomes an instruction, and
 * `response_format` is `json_object` where the model has it. What is no such request stays, and is refused later.
 */
export function adaptSchema(body: Body, table: Field): void {
  const { response_format: format, messages } = body as { response_format?: Body; messages?: unknown };
  if (format?.["type"] !== "json_schema" || !Array.isArray(messages)) return;
  const { schema } = (format["json_schema"] ?? {}) as Body;
  if (typeof schema !== "object" || schema === null) return;
  const content = `Answer with JSON only, without any other text. The JSON must fit this JSON Schema:\n${JSON.stringify(schema)}`;
  body["messages"] = [{ role: "system", content }, ...messages];
  if (hasField(table, "response_format")) body["response_format"] = { type: "json_object" };
  else delete body["response_format"];
}

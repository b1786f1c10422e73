import type { toJsonSchema } from "@valibot/to-json-schema";
import type { StandardSchema } from "../base/standard-schema.js";
import { assertWritable } from "../base/write-json-schema.js";

/**
 * Adds a JSON Schema to a schema whose library cannot write one: for `outputSchema` of a chat, and for `inputSchema` of a
 * tool. The schema checks and types the value; the model gets the JSON Schema.
 *
 * A schema of valibot needs no second argument: its checks with a JSON Schema keyword are converted, by code that is
 * loaded with the first request. `defineTool` does the same.
 *
 * @param jsonSchema required for other libraries, such as zod 3 or `zod/mini`
 * @throws {ConfigurationError} if `jsonSchema` is missing
 * @example
 * ```ts
 * import * as v from "valibot";
 *
 * const outputSchema = withJSONSchema(v.object({ title: v.string(), steps: v.array(v.string()) }));
 * const chat = createChatStore(client, { model: "alpha-v4.1-flash", outputSchema });
 * ```
 */
export function withJSONSchema<Output>(
  schema: StandardSchema<Output>,
  jsonSchema?: Readonly<Record<string, unknown>>,
): StandardSchema<Output> {
  const { "~standard": standard } = schema;
  const isConverted = !jsonSchema && standard.vendor === "valibot" && !standard.jsonSchema;
  if (!jsonSchema && !isConverted) {
    assertWritable(schema, "withJSONSchema");
    return schema;
  }
  const input = () => (jsonSchema ? { ...jsonSchema } : convertValibot(schema as ValibotSchema));
  return { "~standard": { ...standard, jsonSchema: { input } } };
}

type ValibotSchema = Parameters<typeof toJsonSchema>[0];

/** Omits checks without a JSON Schema keyword. */
async function convertValibot(schema: ValibotSchema): Promise<Record<string, unknown>> {
  const { toJsonSchema } = await import("@valibot/to-json-schema");
  return {
    ...toJsonSchema(schema, {
      typeMode: "input",
      overrideAction: ({ errors, jsonSchema }) => (errors?.length ? jsonSchema : undefined),
    }),
  };
}

import type { toJsonSchema } from "@valibot/to-json-schema";
import { assertWritable, type StandardSchema } from "../base/standard-schema.js";
import { ConfigurationError, describeThrown } from "../vocabulary/errors.js";

/**
 * Converts a schema to the JSON Schema of its input, because a model writes the input. Omits checks without a JSON
 * Schema keyword. Loads the converter for valibot with the first schema.
 *
 * @throws {ConfigurationError} that begins with `path`, for a schema that cannot be converted
 * @example
 * ```ts
 * const parameters = await writeJSONSchema(zodSchema, "inputSchema");
 * ```
 */
export async function writeJSONSchema(
  schema: StandardSchema,
  path: string,
): Promise<Record<string, unknown>> {
  assertWritable(schema, path);
  const { jsonSchema } = schema["~standard"];
  try {
    if (jsonSchema) return jsonSchema.input({ target: "draft-2020-12" });
    const { toJsonSchema } = await import("@valibot/to-json-schema");
    return { ...toJsonSchema(schema as ValibotSchema, VALIBOT) };
  } catch (cause) {
    const problem = describeThrown(cause);
    throw new ConfigurationError(`${path}: the schema can't be written as JSON Schema: ${problem}`, {
      cause,
    });
  }
}

type ValibotSchema = Parameters<typeof toJsonSchema>[0];

const VALIBOT = {
  typeMode: "input",
  overrideAction: ({ errors, jsonSchema }) => (errors?.length ? jsonSchema : undefined),
} satisfies Parameters<typeof toJsonSchema>[1];

import { ConfigurationError, describeThrown } from "../types/errors.js";
import type { StandardSchema } from "./standard-schema.js";

/**
 * Rejects a schema without a JSON Schema.
 *
 * @throws {ConfigurationError} that begins with `path`
 */
export function assertWritable({ "~standard": { vendor, jsonSchema } }: StandardSchema, path: string): void {
  if (!jsonSchema)
    throw new ConfigurationError(
      `${path}: the schema (${vendor}) cannot write its JSON Schema; add one with withJSONSchema(schema${vendor === "valibot" ? "" : ", jsonSchema"})`,
    );
}

/**
 * Writes the JSON Schema of a schema's input, because a model writes the input.
 *
 * @throws {ConfigurationError} that begins with `path`, for a schema that cannot be converted
 */
export async function writeJSONSchema(
  schema: StandardSchema,
  path: string,
): Promise<Record<string, unknown>> {
  assertWritable(schema, path);
  try {
    return { ...(await schema["~standard"].jsonSchema?.input({ target: "draft-2020-12" })) };
  } catch (cause) {
    const problem = describeThrown(cause);
    throw new ConfigurationError(`${path}: the schema can't be written as JSON Schema: ${problem}`, {
      cause,
    });
  }
}

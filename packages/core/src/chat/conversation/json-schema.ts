import type { toJsonSchema } from "@valibot/to-json-schema";
import type { StandardSchema } from "../../base/standard-schema.js";
import { asError, ConfigurationError } from "../../errors.js";

/**
 * Refuses a schema that cannot have a JSON Schema, before anything is loaded.
 *
 * @throws {ConfigurationError} that begins with `path`
 */
export function assertWritable({ "~standard": { vendor, jsonSchema } }: StandardSchema, path: string): void {
  if (!jsonSchema && vendor !== "valibot")
    throw new ConfigurationError(
      `${path}: the schema (${vendor}) does not know its JSON Schema; give a valibot schema, or one that does`,
    );
}

/**
 * Writes a schema as the JSON Schema of its input, since a model writes the input. Checks without a keyword of JSON
 * Schema are left out. The converter for valibot is loaded for the first schema.
 *
 * @throws {ConfigurationError} that begins with `path`, for a schema that cannot be written
 */
export async function jsonSchemaOf(schema: StandardSchema, path: string): Promise<Record<string, unknown>> {
  assertWritable(schema, path);
  const { jsonSchema } = schema["~standard"];
  try {
    if (jsonSchema) return jsonSchema.input({ target: "draft-2020-12" });
    const { toJsonSchema } = await import("@valibot/to-json-schema");
    return { ...toJsonSchema(schema as ValibotSchema, VALIBOT) };
  } catch (cause) {
    const problem = asError(cause).message;
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

import type { toJsonSchema } from "@valibot/to-json-schema";
import { assertWritable, type StandardSchema } from "../../base/standard-schema.js";
import type { Client } from "../../client.js";
import { asError, ConfigurationError } from "../../errors.js";

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

/** Writes the schema for the system message; undefined, with a warning, if it has no JSON Schema. */
export async function descriptionOf(client: Client, schema: StandardSchema): Promise<string | undefined> {
  try {
    const written = JSON.stringify(await jsonSchemaOf(schema, "schema"));
    return `Answer with JSON only, without any other text. The JSON must fit this JSON Schema:\n${written}`;
  } catch (error) {
    const message = `${asError(error).message}; the prompt has to ask for the JSON`;
    client.warn({ path: "schema", message, rule: "chat.schema" });
    return undefined;
  }
}

type ValibotSchema = Parameters<typeof toJsonSchema>[0];

const VALIBOT = {
  typeMode: "input",
  overrideAction: ({ errors, jsonSchema }) => (errors?.length ? jsonSchema : undefined),
} satisfies Parameters<typeof toJsonSchema>[1];

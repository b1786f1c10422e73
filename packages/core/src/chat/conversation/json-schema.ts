import type { toJsonSchema } from "@valibot/to-json-schema";
import { assertWritable, type StandardSchema } from "../../base/standard-schema.js";
import type { Client } from "../../client.js";
import { asError, ConfigurationError } from "../../errors.js";
import { chatModels } from "../../models.js";

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

/** Parts of a request whose answer has to fit a schema. */
interface JSONParts {
  /** The schema, for the system message; undefined if it has no JSON Schema. */
  readonly instructions: string | undefined;
  /** JSON mode of the model, if it has one. */
  readonly mode: object | undefined;
}

/** Writes what a request for JSON adds. Warns if the schema has no JSON Schema. */
export async function jsonPartsOf(client: Client, model: string, schema: StandardSchema): Promise<JSONParts> {
  const known: Readonly<Record<string, { jsonMode: boolean } | undefined>> = chatModels;
  return {
    instructions: await instructionsOf(client, schema),
    mode: known[model]?.jsonMode ? { response_format: { type: "json_object" } } : undefined,
  };
}

async function instructionsOf(client: Client, schema: StandardSchema): Promise<string | undefined> {
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

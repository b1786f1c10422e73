import { jsonSchemas } from "../types/json-schemas.js";
import type { ModelId } from "./models.js";

/** JSON Schema (2020-12) of a request. Each call of {@link toJSONSchema} returns a new copy, which you may modify. */
export type RequestJSONSchema = {
  /** URI of the JSON Schema version. */
  $schema: string;
  /** Name of the request, for people and models. */
  description: string;
  /** Always an object, as tools of models require. */
  type: "object";
  /** The fields, with bounds, values, descriptions and defaults. A field that the model lacks has `not: {}`. */
  properties: { [field: string]: { [keyword: string]: unknown } };
  /** Names of the required fields. */
  required: string[];
};

/**
 * Returns the JSON Schema (2020-12) of a model's request, for agent tools, forms, or OpenAPI. It contains the
 * descriptions that editors show and the bounds that the client checks.
 *
 * It accepts and rejects the same requests as `checkRequest`, except for rules across fields and the format of
 * addresses. So also check the request: the functions that send requests do it first.
 *
 * @param model id of a chat, image, video or asset model
 * @returns the schema; undefined for an unknown model
 * @example
 * ```ts run
 * const { properties } = toJSONSchema("gamma-image-5-0-260128");
 * const size = properties["size"]; // { type: "string", enum: ["2048x2048", …], description: "…" }
 * ```
 */
export function toJSONSchema(model: ModelId): RequestJSONSchema;
export function toJSONSchema(model: string): RequestJSONSchema | undefined;
export function toJSONSchema(model: string): RequestJSONSchema | undefined {
  if (!Object.hasOwn(jsonSchemas, model)) return undefined;
  // not `structuredClone`: fields that share an object would share it in the copy too
  return JSON.parse(JSON.stringify(jsonSchemas[model])) as RequestJSONSchema;
}

import { jsonSchemas } from "../vocabulary/json-schemas.js";
import type { ModelId } from "./models.js";

/** JSON Schema (2020-12) of a request. Each call of {@link toJSONSchema} returns its own copy, which may be changed. */
export type RequestJSONSchema = {
  /** Address of the version of JSON Schema. */
  $schema: string;
  /** Name of the request, for people and models. */
  description: string;
  /** Always an object, at the top: tools of models take nothing else. */
  type: "object";
  /** The fields, with bounds, values, descriptions and defaults. A field that the model does not have has `not: {}`. */
  properties: { [field: string]: { [keyword: string]: unknown } };
  /** Names of the fields that a request must have. */
  required: string[];
};

/**
 * Returns the JSON Schema (2020-12) of a model's request: for tools of agents, forms, or OpenAPI. Descriptions are those
 * that an editor shows, and bounds those that the client checks.
 *
 * It accepts each request that `checkRequest` accepts, and refuses what that refuses, but for rules across fields and
 * the form of addresses. So check a request, too: the functions that send do it first.
 *
 * @param model id of a chat, image, video or asset model
 * @returns the schema; undefined for a model that the tables do not have
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
  // not `structuredClone`: what two fields share would be one object in the copy, too
  return JSON.parse(JSON.stringify(jsonSchemas[model])) as RequestJSONSchema;
}
